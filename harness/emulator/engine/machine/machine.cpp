// Runs thread blocks one after another, warp by warp, and a warp's lanes as hardware would.
//
// Of a warp's lanes that can go on, those at the lowest basic block go next; blocks are numbered
// so that lanes that have parted meet again. A barrier holds a warp until all the block's warps
// are there. Blocks are shared out to as many workers as there are jobs.

#include "machine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "checks.h"
#include "registers.h"
#include "undo.h"

namespace machine {

const std::vector<Entry>& entries() {
    static const std::vector<Entry> all = [] {
        std::vector<Entry> out;
        for (const auto& table :
             {computing_entries(), rounding_entries(), conversion_entries(), half_entries(),
              fp8_entries(), video_entries(), warp_entries(), matrix_entries(), memory_entries(), copy_entries(),
              system_entries()})
            out.insert(out.end(), table.begin(), table.end());
        return out;
    }();
    return all;
}

namespace {

using Clock = std::chrono::steady_clock;

// Memory that starts out as zero and costs nothing until it is touched.
struct Free {
    void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using Zeros = std::unique_ptr<T[], Free>;
template <class T>
Zeros<T> zeros(size_t count) {
    return Zeros<T>(static_cast<T*>(std::calloc(count ? count : 1, sizeof(T))));
}

struct Shared {  // by the workers of a launch
    explicit Shared(const Launch& of)
        : launch(of), blocks(u64(of.grid[0]) * of.grid[1] * of.grid[2]) {}

    const Launch& launch;
    const u64 blocks;
    Undo undo;
    std::atomic<u64> next{0};
    std::atomic<bool> stop{false};
    std::atomic<i64> ticks{0};
};

class Worker {
   public:
    Worker(Shared& shared, const Counts& counts) : shared_(shared), launch_(shared.launch) {
        const u32 threads = launch_.block[0] * launch_.block[1] * launch_.block[2];
        const int warps = (threads + LANES - 1) / LANES;
        const size_t stride = (launch_.register_bytes + 63) / 64 * 64;
        registers_ = zeros<u8>(stride * warps + 64);
        u8* base =
            registers_.get() + (64 - reinterpret_cast<uintptr_t>(registers_.get()) % 64) % 64;
        shared_memory_ = zeros<u8>(launch_.shared_bytes + 16);
        const size_t words = launch_.shared_bytes / launch_.shared_grain + 1;
        local_ = zeros<u8>(static_cast<size_t>(launch_.local_bytes) * threads + 16);
        if (launch_.checks) {
            shared_written_ = zeros<u64>(words);
            shared_read_ = zeros<u64>(words);
            const size_t row =
                (launch_.local_bytes + launch_.local_grain - 1) / launch_.local_grain;
            local_written_ = zeros<u32>(row * threads);
        }
        c_ = Context{};
        c_.launch = &launch_;
        c_.counts = counts;
        c_.shared = shared_memory_.get();
        c_.shared_written = shared_written_.get();
        c_.shared_read = shared_read_.get();
        c_.local = local_.get();
        c_.local_written = local_written_.get();
        c_.checks = launch_.checks ? &checks_ : nullptr;
        c_.undo = &shared_.undo;
        c_.patterns = patterns_.data();
        warps_.resize(warps);
        for (int w = 0; w < warps; w++) {
            Warp& warp = warps_[w];
            warp.registers = base + stride * w;
            warp.number = w;
            const u32 lanes = std::min<u32>(threads - w * LANES, LANES);
            warp.threads = lanes == LANES ? EVERYBODY : (u32(1) << lanes) - 1;
            fill(launch_, warp, threads);
        }
    }

    // Runs blocks until there are no more, the time is up, or something is found.
    Outcome run(Clock::time_point deadline) {
        deadline_ = deadline;
        try {
            while (!shared_.stop) {
                if (!in_block_) {
                    block_ = shared_.next++;
                    if (block_ >= shared_.blocks) return DONE;
                    begin_block();
                    in_block_ = true;
                }
                if (!run_block()) return outcome_;
                in_block_ = false;
            }
            return DONE;
        } catch (const Suspicion& found) {
            verdict = {SUSPECT,
                       found.reason,
                       found.site,
                       current_,
                       static_cast<i64>(block_),
                       c_.warp ? c_.thread(found.lane) : 0,
                       0,
                       ticks_};
            shared_.stop = true;
            return SUSPECT;
        }
    }

    Verdict verdict{};

   private:
    void begin_block() {
        c_.block = block_;
        if (c_.checks) {
            checks_.begin_block(block_);
        } else {  // what nothing has written is not to look right by accident
            std::memset(c_.shared, 0xFF, launch_.shared_bytes);
            if (launch_.local_bytes) {
                const u32 threads = launch_.block[0] * launch_.block[1] * launch_.block[2];
                std::memset(c_.local, 0xFF, static_cast<size_t>(launch_.local_bytes) * threads);
            }
        }
        for (Warp& warp : warps_) {
            machine::begin_block(launch_, warp, block_);
            warp.exited = warp.waiting = 0;
            warp.synced = checks_.now();
            warp.pending_count = 1;
            warp.pending[0] = {0, warp.threads};
            warp.copies.clear();
            std::memset(warp.committed, 0, sizeof warp.committed);
        }
        at_ = 0;
    }

    // False if it stopped before the block's end.
    bool run_block() {
        for (;;) {
            for (; at_ < warps_.size(); at_++)
                if (!run_warp(warps_[at_])) return false;
            const bool waits =
                std::any_of(warps_.begin(), warps_.end(), [](const Warp& w) { return w.waiting; });
            if (!waits) return true;
            release();
            at_ = 0;
        }
    }

    // All warps have stopped: everybody must be at one barrier.
    void release() {
        i32 at = -1;
        u32 gone = 0;
        for (const Warp& warp : warps_) {
            gone |= warp.exited;
            if (!warp.waiting) continue;
            if (at >= 0 && at != warp.waiting_at) throw Suspicion{BARRIERS, 0, 0};
            at = warp.waiting_at;
        }
        if (gone) throw Suspicion{BARRIERS, 0, 0};
        const Block& barrier = launch_.blocks[at];
        if (barrier.reduction != NO_REDUCTION) reduce(barrier);
        if (c_.checks) checks_.barrier();
        for (Warp& warp : warps_) {
            if (!warp.waiting) continue;
            warp.pending[warp.pending_count++] = {barrier.target, warp.waiting};
            warp.waiting = 0;
        }
    }

    void reduce(const Block& barrier) {
        u32 count = 0, arrived = 0;
        for (const Warp& warp : warps_) {
            const i32* holds = reinterpret_cast<const i32*>(warp.registers + barrier.predicate);
            count += __builtin_popcount(lanes_set(holds) & warp.waiting);
            arrived += __builtin_popcount(warp.waiting);
        }
        if (barrier.result < 0) return;
        const u32 answer =
            barrier.reduction == POPC
                ? count
                : 0 - static_cast<u32>(barrier.reduction == AND ? count == arrived : count > 0);
        for (Warp& warp : warps_) {
            u32* row = reinterpret_cast<u32*>(warp.registers + barrier.result);
            each_lane(warp.waiting, [&](int i) { row[i] = answer; });
        }
    }

    // Until all lanes wait or have left; false if it stopped before that.
    bool run_warp(Warp& warp) {
        if (!warp.pending_count) return true;
        c_.warp = &warp;
        c_.registers = warp.registers;
        const Handler* const handlers = handlers_.data();
        Counts& counts = c_.counts;
        Pending now = lowest(warp);
        for (;;) {
            const Block& block = launch_.blocks[now.block];
            current_ = now.block;
            if (--patience_ <= 0 && !may_go_on()) {
                warp.pending[warp.pending_count++] = now;
                return false;
            }
            c_.activate(now.lanes);
            counts.block_warps[now.block]++;
            counts.block_lanes[now.block] += __builtin_popcount(now.lanes);
            ticks_ += static_cast<i64>(block.charge) * LANES;
            for (i32 n = block.first; n < block.last; n++) {
                const Op& op = launch_.ops[n];
                handlers[op.handler](c_, op);
            }
            switch (block.ending) {
                case JUMP: now.block = block.target; break;
                case BRANCH: {
                    u32 on = lanes_set(c_.row<i32>(block.predicate));
                    if (!block.taken_if) on = ~on;
                    on &= now.lanes;
                    const u32 off = now.lanes & ~on;
                    counts.taken_lanes[now.block] += __builtin_popcount(on);
                    if (!off) {
                        now.block = block.target;
                    } else if (!on) {
                        now.block = block.otherwise;
                    } else {
                        counts.diverged_warps[now.block]++;
                        add(warp, {block.target, on});
                        now = {block.otherwise, off};
                    }
                    break;
                }
                case SWITCH: {
                    const u32* index = c_.row<u32>(block.predicate);
                    const i32* const targets = launch_.switch_targets + block.first_target;
                    i32 first = -1;
                    bool parts = false;
                    each_lane(now.lanes, [&](int i) {
                        if (index[i] >= static_cast<u32>(block.targets))
                            throw Suspicion{BAD_SWITCH, 0, i};
                        const i32 target = targets[index[i]];
                        parts |= first >= 0 && target != first;
                        first = target;
                        add(warp, {target, u32(1) << i});
                    });
                    counts.diverged_warps[now.block] += parts;
                    now = lowest(warp);
                    continue;
                }
                case BARRIER:
                    if (warp.waiting && warp.waiting_at != now.block)
                        throw Suspicion{BARRIERS, 0, 0};
                    warp.waiting |= now.lanes;
                    warp.waiting_at = now.block;
                    if (!warp.pending_count) return true;
                    now = lowest(warp);
                    continue;
                case TRAP: throw Suspicion{LEFT_TO_THE_JUDGE, 0, __builtin_ctz(now.lanes)};
                default:  // EXIT
                    warp.exited |= now.lanes;
                    if (!warp.pending_count) return true;
                    now = lowest(warp);
                    continue;
            }
            if (warp.pending_count) {
                add(warp, now);
                now = lowest(warp);
            }
        }
    }

    static void add(Warp& warp, Pending more) {
        for (int n = 0; n < warp.pending_count; n++)
            if (warp.pending[n].block == more.block) {
                warp.pending[n].lanes |= more.lanes;
                return;
            }
        warp.pending[warp.pending_count++] = more;
    }

    static Pending lowest(Warp& warp) {
        int best = 0;
        for (int n = 1; n < warp.pending_count; n++)
            if (warp.pending[n].block < warp.pending[best].block) best = n;
        const Pending found = warp.pending[best];
        warp.pending[best] = warp.pending[--warp.pending_count];
        return found;
    }

    // Looks up now and then; false to stop here.
    bool may_go_on() {
        patience_ = PATIENCE;
        const i64 spent = shared_.ticks += ticks_ - told_;
        told_ = ticks_;
        if (spent > launch_.budget) {
            verdict = {OVER_BUDGET,
                       NO_REASON,
                       0,
                       current_,
                       static_cast<i64>(block_),
                       c_.thread(__builtin_ctz(c_.active)),
                       0,
                       spent};
            shared_.stop = true;
            outcome_ = OVER_BUDGET;
            return false;
        }
        outcome_ = shared_.stop ? DONE : PAUSED;
        return outcome_ == PAUSED && Clock::now() < deadline_;
    }

    static constexpr int PATIENCE = 4096;

    static std::vector<Handler> only_handlers() {
        std::vector<Handler> out;
        for (const Entry& entry : entries()) out.push_back(entry.handler);
        return out;
    }

    Shared& shared_;
    const Launch& launch_;
    Context c_;
    Checks checks_;
    std::vector<Warp> warps_;
    std::vector<Pattern> patterns_ = std::vector<Pattern>(launch_.op_count);
    std::vector<Handler> handlers_ = only_handlers();
    Zeros<u8> registers_, shared_memory_, local_;
    Zeros<u64> shared_written_, shared_read_;
    Zeros<u32> local_written_;
    u64 block_ = 0;
    size_t at_ = 0;  // the warp whose turn it is
    bool in_block_ = false;
    i32 current_ = 0;
    i64 ticks_ = 0, told_ = 0;
    int patience_ = PATIENCE;
    Outcome outcome_ = PAUSED;
    Clock::time_point deadline_;
};

class Run {
   public:
    Run(const Launch& launch, const Counts* counts) : launch_(launch), shared_(launch_) {
        for (int n = 0; n < launch_.buffer_count; n++) {
            Buffer& buffer = launch_.buffers[n];
            saved_.push_back(zeros<u8>((buffer.size >> Undo::PAGE_SHIFT) + 1));
            buffer.saved = saved_.back().get();
            if (!launch_.checks || !buffer.watched) continue;
            for (u64** stamps : {&buffer.written, &buffer.read}) {
                stamps_.push_back(zeros<u64>(buffer.size / launch_.global_grain + 1));
                *stamps = stamps_.back().get();
            }
        }
        for (int job = 0; job < launch_.jobs; job++)
            workers_.push_back(std::make_unique<Worker>(shared_, counts[job]));
    }

    Verdict run(double seconds) {
        const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                 std::chrono::duration<double>(seconds));
        std::vector<Outcome> outcomes(workers_.size());
        std::vector<std::thread> threads;
        for (size_t n = 1; n < workers_.size(); n++)
            threads.emplace_back([&, n] { outcomes[n] = workers_[n]->run(deadline); });
        outcomes[0] = workers_[0]->run(deadline);
        for (std::thread& thread : threads) thread.join();
        for (const Outcome wanted : {SUSPECT, OVER_BUDGET})
            for (size_t n = 0; n < workers_.size(); n++)
                if (outcomes[n] == wanted) return workers_[n]->verdict;
        Verdict verdict{};
        const bool paused = std::count(outcomes.begin(), outcomes.end(), PAUSED) > 0;
        verdict.outcome = paused ? PAUSED : DONE;
        return verdict;
    }

    void restore() { shared_.undo.restore(); }

   private:
    Launch launch_;
    Shared shared_;
    std::vector<Zeros<u8>> saved_;
    std::vector<Zeros<u64>> stamps_;
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace
}  // namespace machine

extern "C" {

int machine_operation(int number, const char** name) {
    const auto& all = machine::entries();
    if (number < 0 || number >= static_cast<int>(all.size())) return 0;
    *name = all[number].name;
    return 1;
}

int machine_special(int number, const char** name) {
    if (number < 0 || number >= machine::SPECIAL_COUNT) return 0;
    *name = machine::SPECIALS[number];
    return 1;
}

// `counts` has one entry for each job. What they point to must outlive the run.
void* machine_begin(const machine::Launch* launch, const machine::Counts* counts) {
    return new machine::Run(*launch, counts);
}

void machine_run(void* run, double seconds, machine::Verdict* verdict) {
    *verdict = static_cast<machine::Run*>(run)->run(seconds);
}

// Buffers as they were before the launch.
void machine_restore(void* run) { static_cast<machine::Run*>(run)->restore(); }

void machine_end(void* run) { delete static_cast<machine::Run*>(run); }
}
