// The scheduler: decides which thread block runs next, which of its warps, and which part of that warp.

#include <chrono>
#include <list>
#include <memory>

#include "block_barriers.h"
#include "divergence.h"
#include "entries.h"
#include "races/judge.h"
#include "verdicts.h"
#include "waits.h"

namespace sass {
namespace {

constexpr int LOOK_AT_CLOCK = 1 << 16;

struct Resident : Block {
    BlockBarriers barriers;
    std::shared_ptr<Cluster> own;
};

class Machine {
   public:
    Machine(const Launch& launch, const Counts& counts) : launch_(launch) {
        for (const Entry& entry : entries()) handlers_.push_back(launch.kinds ? followed : entry.handler);
        context_.launch = &launch_;
        context_.counts = counts;
        context_.constants = launch.constants;
        patterns_.resize(launch.instruction_count);
        context_.patterns = patterns_.data();
        if (launch.kinds) judge_ = std::make_unique<Judge>(launch_);
        context_.judge = judge_.get();
        total_ = static_cast<i64>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
        cluster_ = machine::blocks_of_cluster(launch);
    }

    void run(double seconds, Verdict& verdict) {
        using Clock = std::chrono::steady_clock;
        const auto until = Clock::now() + std::chrono::duration<double>(seconds);
        verdict = Verdict{};
        try {
            do {
                if (!go_on()) return;
            } while (Clock::now() < until);
            verdict.outcome = PAUSED;
        } catch (const machine::Accusation& found) {
            accused(found, judge_.get(), context_, verdict);
        } catch (const Fault& fault) {
            // A value that nothing has written may be why.
            if (judge_ && judge_->unwritten.found)
                accused(*judge_->unwritten.found, judge_.get(), context_, verdict);
            else
                faulted(fault, context_, verdict);
        }
    }

    int peek(i64 address, u8* out, int most) const { return sass::peek(context_, address, out, most); }
    const std::vector<i64>& details() const { return context_.details; }

   private:
    // Runs one slice of work. Blocks start one after another; one that does not end within its
    // slice may be waiting for another, so the two then take turns.
    bool go_on() {
        if (resident_.empty() || (launch_.slice && waited_ && started_ < total_ && may_begin())) {
            if (started_ == total_) {
                if (judge_) judge_->over();
                return false;
            }
            const auto shared = std::make_shared<Cluster>();
            for (i64 rank = 0; rank < cluster_; rank++) begin(started_++, shared);
            waited_ = false;
            current_ = std::prev(resident_.end(), cluster_);
        }
        Resident& block = **current_;
        left_ = launch_.slice ? launch_.slice : LOOK_AT_CLOCK;
        work(block);
        if (block.alive == 0) {
            if (judge_) judge_->end(block);
            has_left(block);
            spare_ = std::move(*current_);
            current_ = resident_.erase(current_);
            if (current_ == resident_.end()) current_ = resident_.begin();
        } else if (launch_.slice || cluster_ > 1) {
            waited_ = true;
            if (++current_ == resident_.end()) current_ = resident_.begin();
        }
        return true;
    }

    bool may_begin() const { return !judge_ || judge_->may_begin(started_, false); }

    // `number` counts cluster by cluster.
    void begin(i64 number, const std::shared_ptr<Cluster>& cluster) {
        if (judge_) judge_->begin(number);
        std::unique_ptr<Resident> made = spare_ ? std::move(spare_) : std::make_unique<Resident>();
        Resident& block = *made;
        const machine::BlockPlace place(launch_, static_cast<u64>(number));
        block.number = place.in_grid(launch_);
        std::memcpy(block.index, place.at, sizeof block.index);
        block.own = cluster, block.cluster = cluster.get();
        block.rank = place.rank, block.first = number - place.rank;
        cluster->blocks.push_back(&block);
        block.phases.clear();
        block.pool = 0;
        block.looked = false;
        block.idle = false;
        const int threads = static_cast<int>(launch_.block[0] * launch_.block[1] * launch_.block[2]);
        const int warps = (threads + LANES - 1) / LANES;
        const size_t words = static_cast<size_t>(launch_.registers) * LANES;
        block.rows.assign(words * warps, 0);
        block.shared.assign(launch_.shared_bytes, 0);
        block.local.assign(static_cast<size_t>(launch_.local_bytes) * LANES * warps, 0);
        block.warps.resize(warps);
        block.alive = threads;
        cluster->alive += threads;
        block.next_warp = 0;
        block.barriers.judge = judge_.get();
        block.barriers.start();
        for (int w = 0; w < warps; w++) {
            Warp& warp = block.warps[w];
            const int lanes = std::min(LANES, threads - w * LANES);
            warp.rows = block.rows.data() + words * w;
            warp.number = w;
            warp.threads = lanes == LANES ? EVERYBODY : (1u << lanes) - 1;
            warp.exited = 0;
            warp.turn = 0;
            std::memset(warp.again, 0, sizeof warp.again);
            std::memset(warp.predicate, 0, sizeof warp.predicate);
            std::memset(warp.barrier, 0, sizeof warp.barrier);
            std::memset(warp.barrier_result, 0, sizeof warp.barrier_result);
            warp.predicate[ALWAYS] = warp.predicate[PREDICATES - 1] = EVERYBODY;
            warp.copies.clear();
            warp.arrived = 0;
            warp.registers = launch_.own_registers;
            warp.products = 0;
            if (judge_) judge_->unwritten.forget(warp);
            std::memset(warp.committed, 0, sizeof warp.committed);
            warp.parts.clear();
            warp.parts.push_back(Part{warp.threads, 0, READY});
        }
        resident_.push_back(std::move(made));
    }

    // Runs warps one after another, each until it waits or its turn is over.
    void work(Resident& block) {
        context_.block = &block;
        const int warps = static_cast<int>(block.warps.size());
        int idle = 0;
        while (block.alive && left_ > 0 && !block.idle) {
            Warp& warp = block.warps[block.next_warp];
            block.next_warp = (block.next_warp + 1) % warps;
            if (run_warp(block, warp)) {
                idle = 0;
            } else if (++idle > warps) {
                stuck(block);
                idle = 0;
            }
        }
    }

    // No lane of a block can continue. Convergence barriers only save time and must not block lanes for ever: the lanes
    // that they wait for may themselves be waiting for lanes at the barrier.
    void stuck(Resident& block) {
        bool any = false;
        for (Warp& warp : block.warps) any |= parts_.open_all(warp);
        if (any) return;
        block.idle = true;
        Cluster& cluster = *block.cluster;
        for (const Block* other : cluster.blocks)
            if (other && !other->idle) return;
        if (!gives_up(context_, cluster)) hang(context_, cluster);
    }

    bool run_warp(Resident& block, Warp& warp) {
        bool moved = false;
        context_.warp = &warp;
        context_.rows = warp.rows;
        int turns = 0;
        while (left_ > 0) {
            int at = -1;
            const int count = static_cast<int>(warp.parts.size());
            for (int k = 0; k < count && at < 0; k++)
                if (warp.parts[(warp.turn + k) % count].state == READY) at = (warp.turn + k) % count;
            if (at < 0) break;
            warp.turn = at;
            moved = true;
            run_part(block, warp, at);
            // A part that has used up its turn may be waiting for another part, or for another warp.
            if (used_up_) {
                if (!warp.parts.empty()) warp.turn = (warp.turn + 1) % static_cast<int>(warp.parts.size());
                if (++turns >= static_cast<int>(warp.parts.size())) break;
            }
        }
        return moved;
    }

    void run_part(Resident& block, Warp& warp, int index) {
        Context& c = context_;
        Part* part = &warp.parts[index];
        part->yielded = false;
        u32 active = part->lanes;
        i32 at = part->at;
        int turn = launch_.turn;
        used_up_ = false;
        // A part goes on to the end of its basic block, because uniform registers belong to the warp: code in which
        // lanes may have diverged sets them again in each basic block that uses them.
        bool begins = true;
        for (;;) {
            if (begins && (turn <= 0 || left_ <= 0)) {
                part->at = at;
                used_up_ = true;
                return;
            }
            const i32 from = at;
            const u32 on = run_plain(warp, active, at);
            const Instruction& n = launch_.instructions[at];
            left_ -= at - from + 1, turn -= at - from + 1;
            if (judge_ && warp.follows) judge_->unwritten.branch(c, n);
            part->at = at;
            begins = ends_block(n.control);
            if (!control(block, warp, index, n, on)) return;
            part = &warp.parts[index];
            active = part->lanes;
            at = part->at;
        }
    }

    // Executes instructions up to the next one that may send lanes elsewhere or make them wait. That one is counted but
    // not executed: `at` moves to it. Returns the lanes whose guard is true there.
    u32 run_plain(const Warp& warp, const u32 active, i32& at) {
        Context& c = context_;
        const int lanes = __builtin_popcount(active);
        c.active = active;
        for (;; at++) {
            if (at < 0 || at >= launch_.instruction_count) {
                c.at = at < 0 ? 0 : launch_.instruction_count - 1;
                throw Fault{LEFT_CODE, __builtin_ctz(active), 0};
            }
            const Instruction& n = launch_.instructions[at];
            c.at = at;
            const u32 guard = warp.predicate[n.guard] ^ -static_cast<u32>(n.guard_inverted);
            const u32 on = active & guard;
            c.counts.warps[at]++;
            c.counts.threads[at] += lanes;
            c.counts.on[at] += __builtin_popcount(on);
            if ((c.spent += lanes) > launch_.budget) throw Fault{OVER_BUDGET, __builtin_ctz(active), 0};
            c.guarded = on;
            if (n.control != PLAIN) {
                c.act(on);
                return on;
            }
            c.act(n.uniform ? (guard & active ? EVERYBODY : 0) : on);
            if (c.on) handlers_[n.handler](c, n);
        }
    }

    static bool ends_block(i32 control) {
        switch (control) {
            case BRANCH: case BRANCH_DIV: case BRANCH_OF_ANY: case BRANCH_INDEXED: case EXIT: case CALL: case RETURN:
            case WAIT_BARRIER: case WARP_SYNC: case YIELD: return true;
            default: return false;
        }
    }

    // Returns whether the part continues, in which case its `at` says where.
    bool control(Resident& block, Warp& warp, int index, const Instruction& n, u32 on) {
        Part& part = warp.parts[index];
        const i32 next = part.at + 1;
        switch (n.control) {
            case EXIT: {
                on = context_.both_predicates(n, on);
                if (on) leave(block, warp, part, on);
                if (on == part.lanes) {
                    warp.parts.erase(warp.parts.begin() + index);
                    parts_.met_by_exit(warp);
                    block.barriers.release_all(block);
                    return false;
                }
                part.lanes &= ~on;
                part.at = next;
                if (on) {
                    parts_.met_by_exit(warp);
                    block.barriers.release_all(block);
                    return false;
                }
                return true;
            }
            case BLOCK_BARRIER:
                part.at = next;
                if (!on) return true;
                if (judge_ && on != part.lanes && n.source_count < 2)
                    throw Fault{BARRIER_OF_SOME, __builtin_ctz(on), 0};
                block.barriers.arrive(block, *context_.warp, part, context_, n);
                return n.flags & BlockBarriers::ARRIVES;
            case YIELD: return yield(warp, index, next);
            case BRANCH_OF_ANY:
                part.at = context_.both_predicates(n, on) ? n.target : next;
                context_.counts.branches[context_.at]++;
                return true;
            case PHASE_TEST: {
                if (!on) {
                    part.at = next;
                    return true;
                }
                const Tested found = tested(context_, block, warp, part, n);
                return found == Tested::ENDED || (found == Tested::NOT_YET && yield(warp, index, next));
            }
            case PRODUCTS_WAIT:
                if (on && !products_done(context_, block, warp, n.immediate)) {
                    part.state = AT_PRODUCTS;
                    return false;
                }
                part.at = next;
                return true;
            case CLUSTER_WAIT:
                if (!has_met_in_cluster(context_, block, warp, part)) return false;
                part.at = next;
                return true;
            case TAKE_REGISTERS:
                if (!takes_registers(block, warp, n)) {
                    part.state = AT_POOL;
                    return false;
                }
                part.at = next;
                return true;
            default: return parts_.control(warp, index, n, on);
        }
    }

    bool yield(Warp& warp, int index, i32 next) {
        warp.parts[index].at = next;
        warp.parts[index].yielded = true;
        parts_.met(warp);
        warp.turn = index;
        used_up_ = true;
        return false;
    }

    // After a block has left, the waiting lanes of the others may be all that remain, so these are tried again.
    static void has_left(Block& block) {
        block.cluster->blocks[block.rank] = nullptr;
        for (Block* const other : block.cluster->blocks)
            if (other) other->idle = false;
    }

    void leave(Resident& block, Warp& warp, const Part& part, u32 lanes) {
        parts_.exited(warp, part, lanes);
        warp.exited |= lanes;
        block.alive -= __builtin_popcount(lanes);
        leave_cluster(block, warp, lanes, judge_.get());
        look_at_products(context_, block);
    }

    Launch launch_;
    Context context_{};
    Parts parts_{launch_, context_};
    std::vector<Handler> handlers_;
    std::vector<machine::Pattern> patterns_;
    std::list<std::unique_ptr<Resident>> resident_;
    std::list<std::unique_ptr<Resident>>::iterator current_ = resident_.end();
    std::unique_ptr<Resident> spare_;
    std::unique_ptr<Judge> judge_;
    i64 total_ = 0, started_ = 0, left_ = 0, cluster_ = 1;
    bool waited_ = false, used_up_ = false;
};

}  // namespace
}  // namespace sass

extern "C" {

int sass_definition(int number, const char** name) {
    const auto& all = sass::entries();
    if (number < 0 || number >= static_cast<int>(all.size())) return 0;
    *name = all[number].name;
    return 1;
}

void* sass_begin(const sass::Launch* launch, const sass::Counts* counts) {
    return new sass::Machine(*launch, *counts);
}

void sass_run(void* machine, double seconds, sass::Verdict* verdict) {
    static_cast<sass::Machine*>(machine)->run(seconds, *verdict);
}

int sass_details(void* machine, sass::i64* out, int most) {
    const auto& all = static_cast<sass::Machine*>(machine)->details();
    for (int n = 0; n < most && n < static_cast<int>(all.size()); n++) out[n] = all[n];
    return static_cast<int>(all.size());
}

int sass_peek(void* machine, sass::i64 address, void* out, int most) {
    return static_cast<sass::Machine*>(machine)->peek(address, static_cast<sass::u8*>(out), most);
}

void sass_end(void* machine) { delete static_cast<sass::Machine*>(machine); }
}
