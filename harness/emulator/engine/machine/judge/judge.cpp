// The judge: runs a launch exactly, basic block by basic block, and reports faults.
//
// In each step, all lanes of a chunk that are ready at the lowest-numbered basic block execute its operations
// together. Since basic blocks are numbered so that each comes after everything that leads to it, diverged lanes
// meet again. What a thread block does never depends on which others share its chunk (except through memory), so
// counts do not depend on the chunk's size.

#include <chrono>
#include <tuple>

#include "judge/ordering/barriers.h"
#include "judge/ordering/schedule.h"
#include "execution.h"

namespace machine {
namespace {

using Clock = std::chrono::steady_clock;

class Judge {
   public:
    Judge(const Launch& launch, const Judged& judged, const Counts& counts)
        : launch_(launch), judged_(judged),
          blocks_(launch_, counts, most_blocks(launch, judged)), geometry_(blocks_.geometry),
          clusters_(launch_, geometry_), races_(judged_, geometry_, clusters_), masks_(geometry_),
          uninitialised_(launch_, judged_, geometry_),
          accesses_(launch_, judged_, blocks_, races_, uninitialised_),
          execution_(launch_, judged_, blocks_, races_, masks_, uninitialised_, accesses_,
                     clusters_),
          progress_(launch_, geometry_, blocks_.warps),
          barriers_(launch_, geometry_, blocks_.warps), schedule_(judged_.schedule) {
        for (int n = 0; n < launch_.buffer_count; n++) {  // marked as saved, since nothing is undone
            saved_.push_back(std::vector<u8>((launch_.buffers[n].size >> Undo::PAGE_SHIFT) + 1, 1));
            launch_.buffers[n].saved = saved_.back().data();
        }
        clusters_.told = [this](int first_block, i64 released) {
            races_.cluster_met(first_block, released);
        };
        barriers_.checked = launch_.checks;
        barriers_.arrives = [this](int block, int warp) {
            return races_.ordering.arrival(block, warp, races_.log.now());
        };
        barriers_.told = [this](int block, bool whole, const Mask& waited,
                                const std::vector<Ordering::Arrival>& others) {
            meet_at_barrier(block, whole, waited, others);
        };
    }

    Verdict run(double seconds) {
        const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                 std::chrono::duration<double>(seconds));
        Verdict verdict{};
        try {
            for (int steps = 0; verdict.outcome == DONE; steps++) {
                if (!in_chunk_ && !begin_chunk()) {
                    races_.end();
                    break;
                }
                if (steps % STEPS_A_LOOK == STEPS_A_LOOK - 1 && Clock::now() > deadline)
                    verdict.outcome = PAUSED;
                else
                    step(verdict);
            }
        } catch (const Accusation& found) {
            verdict.outcome = SUSPECT;
            verdict.reason = found.what, verdict.site = found.site;
            locate(verdict, found.lane);
            if (found.first_block >= 0)
                verdict.block = geometry_.in_grid(found.first_block + geometry_.block_of(found.lane));
            details = found.what == LOOP_STUCK ? accesses_.waited_for(found.lane) : found.details;
        }
        verdict.ticks = blocks_.c.clock;
        return verdict;
    }

    std::vector<i64> details;  // of the verdict
    std::vector<i64> waits() const { return accesses_.waits(); }
    std::vector<i64> let_pass() const {
        std::vector<i64> out;
        for (const auto& [sites, count] : races_.let_pass)
            out.insert(out.end(), {CHANGES_NOTHING, sites.first, sites.second, count});
        for (const auto& [sites, count] : races_.volatile_flags)
            out.insert(out.end(), {VOLATILE_FLAG, sites.first, sites.second, count});
        return out;
    }
    std::pair<const u8*, i64> seen(int lane, i64 address) { return blocks_.seen(lane, address); }

   private:
    static constexpr int STEPS_A_LOOK = 16;

    static int most_blocks(const Launch& launch, const Judged& judged) {
        const u64 blocks = u64(launch.grid[0]) * launch.grid[1] * launch.grid[2];
        return static_cast<int>(std::min<u64>(blocks, judged.chunk_blocks));
    }

    bool begin_chunk() {
        const u64 blocks = u64(launch_.grid[0]) * launch_.grid[1] * launch_.grid[2];
        if (next_ >= blocks) return false;
        const u64 count = std::min<u64>(judged_.chunk_blocks, blocks - next_);
        blocks_.start(next_, static_cast<int>(count));
        races_.start(next_);
        masks_.start();
        uninitialised_.start();
        accesses_.start();
        execution_.start();
        progress_.start();
        barriers_.start();
        clusters_.start();
        schedule_.start();
        next_ += count;
        exited_.assign(geometry_.all_warps(), 0);
        ready_.clear();
        Mask& first = ready_[0];
        for (int w = 0; w < geometry_.all_warps(); w++) first.push_back(geometry_.lanes_of(w));
        in_chunk_ = true;
        return true;
    }

    void locate(Verdict& verdict, int lane) const {
        verdict.block = geometry_.in_grid(blocks_.first_block + geometry_.block_of(lane));
        verdict.thread = geometry_.thread_of(lane);
        verdict.block_number = at_;
    }

    void step(Verdict& verdict) {
        if (ready_.empty()) {
            if (clusters_.release(exited_, ready_, races_.log.now())) return;
            if (barriers_.anybody() && barriers_.release(!progress_.anybody(), exited_, ready_))
                return;
            if (!progress_.wake(ready_)) in_chunk_ = false;
            return;
        }
        Mask mask = next();
        progress_.take(at_, mask, exited_);
        const Selection lanes = selected(mask);
        if (lanes.empty()) return;
        const Block& block = launch_.blocks[at_];
        count(lanes);
        if (blocks_.c.clock > launch_.budget) {
            verdict.outcome = OVER_BUDGET;
            locate(verdict, geometry_.first_of(lanes));
            return;
        }
        if (!progress_.joining().empty()) return step_together(lanes);
        execution_.execute(block, lanes);
        leave(block, lanes);
    }

    // Lanes meet others that have waited at other basic blocks.
    void step_together(const Selection& lanes) {
        std::vector<Attendance> all{{at_, lanes}};
        for (const auto& [number, others] : progress_.joining()) {
            at_ = number;
            all.push_back({number, selected(others)});
            count(all.back().lanes);
        }
        at_ = all[0].block;
        execution_.execute_together(all);
        for (const Attendance& each : all) {
            at_ = each.block;
            leave(launch_.blocks[at_], each.lanes);
        }
    }

    // Counts an execution of the basic block.
    void count(const Selection& lanes) {
        Counts& counts = blocks_.c.counts;
        for (const Party& party : lanes) {
            counts.block_warps[at_]++;
            counts.block_lanes[at_] += __builtin_popcount(party.lanes);
            blocks_.c.clock += static_cast<i64>(launch_.blocks[at_].charge) * LANES;
        }
    }

    // The lanes that run next. Sets `at_` to their basic block.
    Mask next() {
        Mask mask;
        if (schedule_.usual()) {
            at_ = ready_.begin()->first;
            mask = std::move(ready_.begin()->second);
            ready_.erase(ready_.begin());
        } else {
            std::tie(at_, mask) = schedule_.next(ready_);
        }
        return mask;
    }

    // The lanes that are ready at a basic block.
    Mask& bound_for(int target) {
        Mask& there = ready_[target];
        there.resize(geometry_.all_warps());
        return there;
    }

    static void go(const Selection& lanes, Mask& there) {
        for (const Party& party : lanes) there[party.warp] |= party.lanes;
    }

    void leave(const Block& block, const Selection& lanes) {
        Counts& counts = blocks_.c.counts;
        switch (block.ending) {
            case JUMP:
                uninitialised_.settle();
                go(lanes, bound_for(block.target));
                return;
            case BRANCH: {
                uninitialised_.use_row(lanes, block.predicate, block.site);
                uninitialised_.settle();
                Mask *taken = nullptr, *other = nullptr;
                for (const Party& party : lanes) {
                    const i32* holds = row<i32>(party.warp, block.predicate);
                    u32 on = lanes_set(holds);
                    if (!block.taken_if) on = ~on;
                    on &= party.lanes;
                    const u32 off = party.lanes & ~on;
                    counts.taken_lanes[at_] += __builtin_popcount(on);
                    counts.diverged_warps[at_] += on && off;
                    if (on && !taken) taken = &bound_for(block.target);
                    if (off && !other) other = &bound_for(block.otherwise);
                    if (on) (*taken)[party.warp] |= on;
                    if (off) (*other)[party.warp] |= off;
                }
                return;
            }
            case SWITCH: switch_to(block, lanes); return;
            case BARRIER:
                if (block.of_cluster) {
                    uninitialised_.settle();
                    if (launch_.checks) races_.after_locks(lanes, true);
                    for (const Party& party : lanes) clusters_.wait(at_, party);
                    return;
                }
                for (const i32 row : {block.number, block.count, block.predicate})
                    if (row >= 0) uninitialised_.use_row(lanes, row, block.site);
                uninitialised_.settle();
                for (const Party& party : lanes) {
                    if (block.of_program) look_for_barrier(block, party);
                    if (block.result >= 0)
                        uninitialised_.forget(party.warp, block.result, party.lanes);
                    barriers_.arrive(at_, party, ready_);
                }
                return;
            case TRAP: throw Accusation{TRAPPED, block.site, geometry_.first_of(lanes), {at_}};
            default:  // EXIT
                uninitialised_.settle();
                for (const Party& party : lanes) exited_[party.warp] |= party.lanes;
                for (const Party& party : lanes) execution_.leave(party.warp / geometry_.warps);
                if (launch_.checks && geometry_.cluster > 1)
                    for (const Party& party : lanes) accesses_.leave(party.warp / geometry_.warps);
        }
    }

    // Checks that the barrier that each lane names exists, and that a number of threads is a multiple of a warp.
    void look_for_barrier(const Block& block, const Party& party) const {
        const u8* registers = blocks_.warps[party.warp].registers;
        const u32* ids = reinterpret_cast<const u32*>(registers + block.number);
        const u32* counts = reinterpret_cast<const u32*>(registers + block.count);
        each_lane(party.lanes, [&](int i) {
            const u32 count = block.count < 0 ? 0 : counts[i];
            if (ids[i] < BLOCK_BARRIERS && count % LANES == 0) return;
            throw Accusation{NO_SUCH_BARRIER, block.site, geometry_.lane(party.warp, i), {ids[i], count}};
        });
    }

    void switch_to(const Block& block, const Selection& lanes) {
        uninitialised_.use_row(lanes, block.predicate, block.site);
        if (block.pointer >= 0) uninitialised_.use_row(lanes, block.pointer, block.site);
        uninitialised_.settle();
        const i32* const targets = launch_.switch_targets + block.first_target;
        each_of(lanes, [&](int w, int i) {
            const u32 index = row<u32>(w, block.predicate)[i];
            if (index < static_cast<u32>(block.targets)) return;
            std::vector<i64> about{index, block.targets, block.pointer >= 0};
            if (block.pointer >= 0) about.push_back(row<i64>(w, block.pointer)[i]);
            throw Accusation{NO_TARGET, block.site, geometry_.lane(w, i), std::move(about)};
        });
        for (const Party& party : lanes) {
            i32 first = -1;
            bool parts = false;
            each_lane(party.lanes, [&](int i) {
                const i32 target = targets[row<u32>(party.warp, block.predicate)[i]];
                parts |= first >= 0 && target != first;
                first = target;
                bound_for(target)[party.warp] |= u32(1) << i;
            });
            blocks_.c.counts.diverged_warps[at_] += parts;
        }
    }

    template <class T>
    const T* row(int warp, i32 offset) const {
        return reinterpret_cast<const T*>(blocks_.warps[warp].registers + offset);
    }

    // A complete barrier releases threads of a block.
    void meet_at_barrier(int block, bool whole, const Mask& waited, const std::vector<Ordering::Arrival>& others) {
        if (whole) {
            races_.ordering.whole_block(block, races_.log.now());
            clusters_.whole_block(block);
        } else {
            std::vector<int> who;
            for (int w = 0; w < geometry_.warps; w++)
                if (waited[block * geometry_.warps + w]) who.push_back(w);
            races_.some_warps(block, who, others);
        }
        Mask here(waited.size());
        for (int w = block * geometry_.warps; w < (block + 1) * geometry_.warps; w++)
            here[w] = waited[w];
        races_.after_locks(selected(here), true);
        masks_.barrier(here);
    }

    Launch launch_;
    Judged judged_;
    std::vector<std::vector<u8>> saved_;
    Blocks blocks_;
    Geometry& geometry_;
    ClusterBarriers clusters_;
    Races races_;
    WarpMasks masks_;
    Uninitialised uninitialised_;
    Accesses accesses_;
    Mask& exited_ = blocks_.exited;
    Execution execution_;
    ForwardProgress progress_;
    Barriers barriers_;
    Schedule schedule_;
    Ready ready_;
    u64 next_ = 0;  // the next chunk's first thread block
    bool in_chunk_ = false;
    i32 at_ = 0;  // the basic block that is executed
};

}  // namespace
}  // namespace machine

extern "C" {

void* judge_begin(const machine::Launch* launch, const machine::Judged* judged,
                  machine::i64* counts) {
    return new machine::Judge(*launch, *judged, machine::counts_from(counts, *launch));
}

void judge_run(void* judge, double seconds, machine::Verdict* verdict) {
    *verdict = static_cast<machine::Judge*>(judge)->run(seconds);
}

int judge_details(void* judge, machine::i64* out, int most) {
    const auto& details = static_cast<machine::Judge*>(judge)->details;
    std::copy_n(details.begin(), std::min<size_t>(most, details.size()), out);
    return static_cast<int>(details.size());
}

int judge_let_pass(void* judge, machine::i64* out, int most) {
    const auto found = static_cast<machine::Judge*>(judge)->let_pass();
    std::copy_n(found.begin(), std::min<size_t>(most, found.size()), out);
    return static_cast<int>(found.size());
}

int judge_waits(void* judge, machine::i64* out, int most) {
    const auto found = static_cast<machine::Judge*>(judge)->waits();
    std::copy_n(found.begin(), std::min<size_t>(most, found.size()), out);
    return static_cast<int>(found.size());
}

int judge_peek(void* judge, int lane, machine::i64 address, void* out, int most) {
    const auto [from, size] = static_cast<machine::Judge*>(judge)->seen(lane, address);
    const int count = static_cast<int>(std::min<machine::i64>(size, most));
    if (count > 0) std::memcpy(out, from, count);
    return count;
}

void judge_end(void* judge) { delete static_cast<machine::Judge*>(judge); }
}
