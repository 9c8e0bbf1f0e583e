// The scheduler: which lanes of which warp go on, where they part and where they meet.
//
// Lanes that part go their ways one part after the other; each instruction counts once per part.
// Parts meet where a convergence barrier or WARPSYNC says so, and nowhere else, also not when they
// come to the same address. That is how an H200 counts.

#include <chrono>
#include <list>
#include <memory>

#include "rows_of.h"

namespace sass {
namespace {

constexpr int TURN = 4096;          // instructions of one part before another goes on
constexpr int LOOK_AT_CLOCK = 1 << 16;

std::vector<Entry> all_entries() {
    std::vector<Entry> all;
    for (const auto& some : {integer_entries(), float_entries(), half_entries(), conversion_entries(),
                             memory_entries(), warp_entries(), matrix_entries()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

const std::vector<Entry>& entries() {
    static const std::vector<Entry> all = all_entries();
    return all;
}

struct Arrivals {
    int threads = 0;
};

struct Resident : Block {
    Arrivals arrived[16];
    u64 votes[16], voted_all[16];
    int alive = 0;
};

class Machine {
   public:
    Machine(const Launch& launch, const Counts& counts) : launch_(launch) {
        for (const Entry& entry : entries()) handlers_.push_back(entry.handler);
        context_.launch = &launch_;
        context_.counts = counts;
        context_.constants = launch.constants;
        patterns_.resize(launch.instruction_count);
        context_.patterns = patterns_.data();
        total_ = static_cast<i64>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
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
        } catch (const Fault& fault) {
            verdict.outcome = FAULTY;
            verdict.fault = fault.kind;
            verdict.instruction = context_.at;
            verdict.block = context_.block ? context_.block->number : 0;
            verdict.thread = (context_.warp ? context_.warp->number * LANES : 0) + fault.lane;
            verdict.address = fault.address;
        }
    }

   private:
    // A while of work. Blocks start one after another; one that does not end within its slice
    // may be waiting for another, and from then on they take turns.
    bool go_on() {
        if (resident_.empty() || (launch_.slice && waited_ && started_ < total_)) {
            if (started_ == total_) return false;
            begin(started_++);
            waited_ = false;
            current_ = std::prev(resident_.end());
        }
        Resident& block = **current_;
        left_ = launch_.slice ? launch_.slice : LOOK_AT_CLOCK;
        work(block);
        if (block.alive == 0) {
            spare_ = std::move(*current_);
            current_ = resident_.erase(current_);
            if (current_ == resident_.end()) current_ = resident_.begin();
        } else if (launch_.slice) {
            waited_ = true;
            if (++current_ == resident_.end()) current_ = resident_.begin();
        }
        return true;
    }

    void begin(i64 number) {
        std::unique_ptr<Resident> made = spare_ ? std::move(spare_) : std::make_unique<Resident>();
        Resident& block = *made;
        block.number = number;
        block.index[0] = static_cast<u32>(number % launch_.grid[0]);
        block.index[1] = static_cast<u32>(number / launch_.grid[0] % launch_.grid[1]);
        block.index[2] = static_cast<u32>(number / launch_.grid[0] / launch_.grid[1]);
        const int threads = static_cast<int>(launch_.block[0] * launch_.block[1] * launch_.block[2]);
        const int warps = (threads + LANES - 1) / LANES;
        const size_t words = static_cast<size_t>(launch_.registers) * LANES;
        block.rows.assign(words * warps, 0);
        block.shared.assign(launch_.shared_bytes, 0);
        block.local.assign(static_cast<size_t>(launch_.local_bytes) * LANES * warps, 0);
        block.warps.resize(warps);
        block.alive = threads;
        block.next_warp = 0;
        for (int k = 0; k < 16; k++) {
            block.arrived[k] = Arrivals{};
            block.votes[k] = 0, block.voted_all[k] = 1;
            block.barrier_results[k] = 0;
        }
        for (int w = 0; w < warps; w++) {
            Warp& warp = block.warps[w];
            const int lanes = std::min(LANES, threads - w * LANES);
            warp.rows = block.rows.data() + words * w;
            warp.number = w;
            warp.threads = lanes == LANES ? EVERYBODY : (1u << lanes) - 1;
            warp.exited = 0;
            warp.turn = 0;
            std::memset(warp.predicate, 0, sizeof warp.predicate);
            std::memset(warp.barrier, 0, sizeof warp.barrier);
            warp.predicate[ALWAYS] = warp.predicate[PREDICATES - 1] = EVERYBODY;
            warp.parts.clear();
            warp.parts.push_back(Part{warp.threads, 0, READY, 0, 0, false, 0});
        }
        resident_.push_back(std::move(made));
    }

    // Warps one after another, each until it waits or has had its turn.
    void work(Resident& block) {
        context_.block = &block;
        const int warps = static_cast<int>(block.warps.size());
        int idle = 0;
        while (block.alive && left_ > 0) {
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

    // Nobody can go on. Convergence barriers are there to save time and hold nobody up for ever: the
    // lanes for which they wait may be waiting for those that wait there.
    void stuck(Resident& block) {
        bool any = false;
        for (Warp& warp : block.warps)
            for (Part& part : warp.parts)
                if (part.state == AT_BARRIER) {
                    open(warp, part, part.lanes);
                    any = true;
                }
        if (any) return;
        for (Warp& warp : block.warps)
            for (const Part& part : warp.parts) {
                context_.warp = &warp;
                context_.at = part.at;
                throw Fault{DEADLOCK, __builtin_ctz(part.lanes), 0};
            }
        throw Fault{DEADLOCK, 0, 0};
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
            // A part that had its turn may wait for another, or for another warp.
            if (used_up_) {
                if (!warp.parts.empty()) warp.turn = (warp.turn + 1) % static_cast<int>(warp.parts.size());
                if (++turns >= static_cast<int>(warp.parts.size())) break;
            }
        }
        return moved;
    }

    void run_part(Resident& block, Warp& warp, int index) {
        Context& c = context_;
        const Instruction* const all = launch_.instructions;
        Part* part = &warp.parts[index];
        part->yielded = false;
        u32 active = part->lanes;
        i32 at = part->at;
        int turn = TURN;
        used_up_ = false;
        for (;;) {
            if (turn-- <= 0 || left_ <= 0) {
                part->at = at;
                used_up_ = true;
                return;
            }
            if (at < 0 || at >= launch_.instruction_count) {
                c.at = at < 0 ? 0 : launch_.instruction_count - 1;
                throw Fault{LEFT_CODE, __builtin_ctz(active), 0};
            }
            const Instruction& n = all[at];
            c.at = at;
            c.active = active;
            const u32 guard = warp.predicate[n.guard] ^ -static_cast<u32>(n.guard_inverted);
            const u32 on = active & guard;
            const int lanes = __builtin_popcount(active);
            c.counts.warps[at]++;
            c.counts.threads[at] += lanes;
            c.counts.on[at] += __builtin_popcount(on);
            left_--;
            if ((spent_ += lanes) > launch_.budget) throw Fault{OVER_BUDGET, __builtin_ctz(active), 0};
            if (n.control == PLAIN) {
                c.act(n.uniform ? (guard & active ? EVERYBODY : 0) : on);
                if (c.on) handlers_[n.handler](c, n);
                at++;
                continue;
            }
            c.act(on);
            part->at = at;
            if (!control(block, warp, index, n, on)) return;
            part = &warp.parts[index];
            active = part->lanes;
            at = part->at;
        }
    }

    // Returns whether the part goes on; `at` of the part is then where.
    bool control(Resident& block, Warp& warp, int index, const Instruction& n, u32 on) {
        Context& c = context_;
        Part& part = warp.parts[index];
        const i32 next = part.at + 1;
        switch (n.control) {
            case BRANCH: {
                // A second predicate beside the guard belongs to it: off means not predicated on.
                const u32 taken = on & c.predicate(n, 0);
                c.counts.on[part.at] -= __builtin_popcount(on & ~taken);
                return parted(warp, index, taken, n.target, next);
            }
            case BRANCH_DIV: {
                c.counts.on[part.at] += __builtin_popcount(part.lanes & ~on);  // on, whatever its guard
                const u32 wanted = c.source(n.source[0])[__builtin_ctz(part.lanes)];
                part.at = on && (wanted & ~part.lanes & ~warp.exited) ? n.target : next;
                return true;
            }
            case CALL:
                return parted(warp, index, on, n.target, next);
            case RETURN:
            case BRANCH_INDEXED: {
                return returned(warp, index, n, on, next);
            }
            case EXIT: {
                if (on) leave(block, warp, on);
                if (on == part.lanes) {
                    warp.parts.erase(warp.parts.begin() + index);
                    met(warp);
                    everywhere(block);
                    return false;
                }
                part.lanes &= ~on;
                part.at = next;
                if (on) {
                    met(warp);
                    everywhere(block);
                    return false;
                }
                return true;
            }
            case SET_BARRIER:
                each_lane(on, [&](int i) { warp.barrier[n.barrier][i] = part.lanes; });
                part.at = next;
                return true;
            case BREAK_BARRIER:
                for (u32& held : warp.barrier[n.barrier]) held &= ~on;
                for (Part& other : warp.parts)
                    if (other.state == AT_BARRIER && other.number == n.barrier) other.wanted &= ~on;
                part.at = next;
                met(warp);
                return false;
            case WAIT_BARRIER:
                if (!on) {
                    part.at = next;
                    return true;
                }
                part.wanted = warp.barrier[n.barrier][__builtin_ctz(part.lanes)];
                part.number = n.barrier;
                return wait(warp, index, AT_BARRIER, next);
            case WARP_SYNC:
                if (!on) {
                    part.at = next;
                    return true;
                }
                part.wanted = n.source_count ? c.source(n.source[0])[__builtin_ctz(part.lanes)]
                                             : warp.threads;
                return wait(warp, index, AT_SYNC, next);
            case WARP_SYNC_EXCLUSIVE:
                if (!on) {
                    part.at = next;
                    return true;
                }
                return exclusively(warp, index, c.source(n.source[0]), next);
            case COLLECTIVE:
                part.wanted = n.source_count ? c.source(n.source[0])[__builtin_ctz(part.lanes)]
                                             : warp.threads;
                each_lane(part.lanes, [&](int i) { warp.collective_target[i] = n.target; });
                return wait(warp, index, AT_SYNC, next);
            case END_COLLECTIVE:
                apart(warp, index, [&](int i) { return warp.collective_target[i]; });
                return true;
            case BLOCK_BARRIER:
                return at_block_barrier(block, warp, index, n, on, next);
            default:  // YIELD
                part.at = next;
                part.yielded = true;
                met(warp);
                warp.turn = index;
                used_up_ = true;
                return false;
        }
    }

    bool parted(Warp& warp, int index, u32 taken, i32 target, i32 next) {
        Part& part = warp.parts[index];
        const i32 from = part.at;
        if (!taken || taken == part.lanes) {
            part.at = taken ? target : next;
            return true;
        }
        context_.counts.divergent[from]++;
        const u32 others = part.lanes & ~taken;
        part.lanes = others;
        part.at = next;
        warp.parts.push_back(Part{taken, target, READY, 0, 0, false, 0});
        return true;
    }

    // Each lane goes on where `target` says; those that go to the same place stay together.
    template <class Target> void apart(Warp& warp, int index, Target target) {
        u32 left = warp.parts[index].lanes;
        for (bool first = true; left; first = false) {
            const i32 at = static_cast<i32>(target(__builtin_ctz(left)));
            u32 same = 0;
            each_lane(left, [&](int i) {
                same |= static_cast<u32>(static_cast<i32>(target(i)) == at) << i;
            });
            if (first)
                warp.parts[index].lanes = same, warp.parts[index].at = at;
            else
                warp.parts.push_back(Part{same, at, READY, 0, 0, false, 0});
            left &= ~same;
        }
    }

    // Lanes with the same mask go on together, apart from those that have another.
    bool exclusively(Warp& warp, int index, const u32* masks, i32 next) {
        const i32 here = warp.parts[index].at;
        apart(warp, index, [&](int i) { return masks[i]; });
        for (Part& part : warp.parts) {
            if (part.state != READY || !(part.lanes & context_.active)) continue;
            part.wanted = masks[__builtin_ctz(part.lanes)];
            const bool complete = !(part.wanted & ~part.lanes & ~warp.exited);
            part.at = complete ? next : here;
            part.state = complete ? READY : AT_SYNC;
        }
        met(warp);
        return false;
    }

    // To the addresses that lanes have in a register, each where it leads.
    bool returned(Warp& warp, int index, const Instruction& n, u32 on, i32 next) {
        const u32* low = context_.source(n.source[0]);
        Part part = warp.parts[index];
        u32 left = on;
        bool first = true;
        const u32 staying = part.lanes & ~on;
        if (staying) {
            warp.parts[index].lanes = staying;
            warp.parts[index].at = next;
            first = false;
        }
        while (left) {
            const i64 address = static_cast<i32>(low[__builtin_ctz(left)]) + n.immediate;
            u32 same = 0;
            each_lane(left, [&](int i) {
                same |= static_cast<u32>(static_cast<i32>(low[i]) + n.immediate == address) << i;
            });
            if (address & 15 || address < 0 || address >> 4 >= launch_.instruction_count)
                throw Fault{BAD_TARGET, __builtin_ctz(left), address};
            const i32 at = static_cast<i32>(address >> 4);
            if (first) {
                warp.parts[index].lanes = same, warp.parts[index].at = at;
                first = false;
            } else {
                warp.parts.push_back(Part{same, at, READY, 0, 0, false, 0});
                context_.counts.divergent[part.at] = context_.counts.divergent[part.at] + (same == left);
            }
            left &= ~same;
        }
        return true;
    }

    // The part waits for others. From a convergence barrier they go on behind it; a WARPSYNC that
    // had to wait is issued, and counted, once more by all of them together.
    bool wait(Warp& warp, int index, State state, i32 next) {
        Part& part = warp.parts[index];
        if (!(part.wanted & ~part.lanes & ~warp.exited)) {
            part.at = next;
            return true;
        }
        part.state = state;
        if (state == AT_BARRIER) part.at = next;
        met(warp);
        return false;
    }

    // These lanes go on from a convergence barrier; who comes to it later does not wait for them.
    void open(Warp& warp, Part& part, u32 lanes) {
        for (u32& held : warp.barrier[part.number]) held &= ~lanes;
        for (Part& other : warp.parts)
            if (other.state == AT_BARRIER && other.number == part.number) other.wanted &= ~lanes;
        part.state = READY;
    }

    // Parts that wait for the same lanes, all of which are there, become one. A convergence barrier
    // does not wait for lanes that have yielded: those may be waiting for one of its own.
    void met(Warp& warp) {
        u32 yielded = 0;
        for (const Part& part : warp.parts)
            if (part.state == READY && part.yielded) yielded |= part.lanes;
        for (size_t k = 0; k < warp.parts.size(); k++) {
            Part& part = warp.parts[k];
            if (part.state != AT_BARRIER && part.state != AT_SYNC) continue;
            const u32 wanted = part.wanted & ~warp.exited;
            const auto is_there = [&](const Part& other) {
                if (other.state != part.state) return false;
                if (other.at == part.at) return true;
                return part.state == AT_SYNC && (other.wanted & ~warp.exited) == wanted;
            };
            u32 here = 0;
            bool at_one_place = true;
            for (const Part& other : warp.parts)
                if (is_there(other)) here |= other.lanes, at_one_place &= other.at == part.at;
            if (wanted & ~here & ~(part.state == AT_BARRIER ? yielded : 0)) continue;
            if (!at_one_place) {
                pass(warp, static_cast<int>(k), wanted);
                continue;
            }
            const State state = part.state;
            const i32 at = part.at;
            for (size_t m = warp.parts.size(); m-- > k + 1;) {
                const Part& other = warp.parts[m];
                if (other.state == state && other.at == at && !(other.lanes & ~wanted)) {
                    warp.parts[k].lanes |= other.lanes;
                    warp.parts.erase(warp.parts.begin() + static_cast<long>(m));
                }
            }
            if (state == AT_BARRIER && wanted & ~here)
                open(warp, warp.parts[k], warp.parts[k].lanes);
            else
                warp.parts[k].state = READY;
        }
        warp.turn = 0;
    }

    // Lanes that waited for each other at several places: each part goes on from its own, but what is
    // done collectively is done by all of them together, at one of them.
    void pass(Warp& warp, int index, u32 wanted) {
        const auto control = [&](const Part& part) { return launch_.instructions[part.at].control; };
        const bool together = control(warp.parts[index]) == COLLECTIVE;
        for (size_t m = warp.parts.size(); m-- > static_cast<size_t>(index) + 1;) {
            Part& other = warp.parts[m];
            if (other.state != AT_SYNC || (other.wanted & ~warp.exited) != wanted) continue;
            if (together && control(other) == COLLECTIVE) {
                warp.parts[index].lanes |= other.lanes;
                warp.parts.erase(warp.parts.begin() + static_cast<long>(m));
            } else {
                other.state = READY, other.at++;
            }
        }
        warp.parts[index].state = READY, warp.parts[index].at++;
    }

    void leave(Resident& block, Warp& warp, u32 lanes) {
        warp.exited |= lanes;
        block.alive -= __builtin_popcount(lanes);
    }

    // Operands: source 0 the barrier's number, source 1 how many threads, if it says so.
    bool at_block_barrier(Resident& block, Warp& warp, int index, const Instruction& n, u32 on, i32 next) {
        Context& c = context_;
        Part& part = warp.parts[index];
        if (!on) {
            part.at = next;
            return true;
        }
        const int lane = __builtin_ctz(part.lanes);
        const int number = static_cast<int>(c.source(n.source[0])[lane] & 15);
        const int expected = n.source_count > 1 ? static_cast<int>(c.source(n.source[1])[lane]) : 0;
        if (n.flags) {
            const u32 yes = c.predicate(n, 0) & on;
            block.votes[number] += static_cast<u64>(__builtin_popcount(yes));
            block.voted_all[number] &= yes == on;
        }
        reduction_[number] = n.flags >> 1;
        part.at = next;
        block.arrived[number].threads += expected ? LANES : __builtin_popcount(part.lanes);
        part.state = AT_BLOCK_BARRIER;
        part.number = number;
        part.expected = expected;
        released(block, number);
        return false;
    }

    void everywhere(Resident& block) {
        for (int number = 0; number < 16; number++)
            if (block.arrived[number].threads) released(block, number);
    }

    void released(Resident& block, int number) {
        int expected = 0;
        for (const Warp& warp : block.warps)
            for (const Part& part : warp.parts)
                if (part.state == AT_BLOCK_BARRIER && part.number == number) {
                    expected = part.expected;
                    break;
                }
        const int needed = expected ? expected : block.alive;
        if (block.arrived[number].threads < needed) return;
        enum { POPC, AND, OR };
        const int kind = reduction_[number];
        block.barrier_results[number] = kind == AND ? block.voted_all[number] : block.votes[number];
        block.votes[number] = 0, block.voted_all[number] = 1;
        block.arrived[number].threads = 0;
        for (Warp& warp : block.warps)
            for (Part& part : warp.parts)
                if (part.state == AT_BLOCK_BARRIER && part.number == number) part.state = READY;
    }

    Launch launch_;
    Context context_{};
    std::vector<Handler> handlers_;
    std::vector<machine::Pattern> patterns_;
    std::list<std::unique_ptr<Resident>> resident_;
    std::list<std::unique_ptr<Resident>>::iterator current_ = resident_.end();
    std::unique_ptr<Resident> spare_;
    i64 total_ = 0, started_ = 0, spent_ = 0, left_ = 0;
    int reduction_[16] = {};
    bool waited_ = false, used_up_ = false;
};

}  // namespace
}  // namespace sass

extern "C" {

// The names of the definitions by number; 0 behind the last.
int sass_definition(int number, const char** name) {
    const auto& all = sass::entries();
    if (number < 0 || number >= static_cast<int>(all.size())) return 0;
    *name = all[number].name;
    return 1;
}

// The sizes of what Python lays out, so that it can check them.
int sass_size(int which) {
    const size_t sizes[] = {sizeof(sass::Source), sizeof(sass::Instruction), sizeof(sass::Buffer),
                            sizeof(sass::Launch), sizeof(sass::Counts), sizeof(sass::Verdict)};
    return static_cast<int>(sizes[which]);
}

void* sass_begin(const sass::Launch* launch, const sass::Counts* counts) {
    return new sass::Machine(*launch, *counts);
}

void sass_run(void* machine, double seconds, sass::Verdict* verdict) {
    static_cast<sass::Machine*>(machine)->run(seconds, *verdict);
}

void sass_end(void* machine) { delete static_cast<sass::Machine*>(machine); }
}
