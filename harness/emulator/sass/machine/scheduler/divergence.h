// How the lanes of a warp diverge, and where they reconverge.
//
// Diverged lanes run in groups called parts, one after the other; each instruction counts once per
// part. Parts reconverge only at a convergence barrier or WARPSYNC, not merely because they reach
// the same address. When a branch divides a warp, the larger part runs first. This agrees with an
// H200's counts.

#pragma once

#include "replays.h"
#include "rows_of.h"

namespace sass {

enum : i32 { IF_CONVERGED = 1 };  // for BRA.CONV, the inverse of BRA.DIV
enum : i32 { IF_UNANIMOUS = 1 };  // for BRA.U, which is taken by all lanes or none

class Parts {
   public:
    Parts(const Launch& launch, Context& context) : launch_(launch), context_(context) {}

    // Executes an instruction that determines where lanes continue. Returns whether the part continues, in which
    // case its `at` says where.
    bool control(Warp& warp, int index, const Instruction& n, u32 on) {
        const Context& c = context_;
        Part& part = warp.parts[index];
        const i32 next = part.at + 1;
        switch (n.control) {
            case BRANCH: {
                u32 taken = c.both_predicates(n, on);
                if (n.flags == IF_UNANIMOUS && taken != part.lanes) taken = 0;
                return parted(warp, index, taken, n.target, next);
            }
            case BRANCH_DIV: {
                c.counts.branches[part.at]++;
                c.counts.on[part.at] += __builtin_popcount(part.lanes & ~on);  // counted as on, whatever its guard
                // ~URZ before sm_90; on sm_75 there is no operand, which also means all lanes.
                const u32 wanted = n.source_count ? operand(c, n, 0)[__builtin_ctz(part.lanes)] : EVERYBODY;
                // A guard excludes lanes whose mask differs from the first lane's; in that case all
                // lanes branch.
                const bool divided = wanted & ~on & ~warp.exited;
                part.at = on && divided != (n.flags == IF_CONVERGED) ? n.target : next;
                return true;
            }
            case CALL: return parted(warp, index, on, n.target, next);
            case RETURN:
            case BRANCH_INDEXED: return returned(warp, index, n, on, next);
            case SET_BARRIER:
                each_lane(on, [&](int i) { warp.barrier[n.barrier][i] = part.lanes; });
                replays_.begins(warp, on, n.barrier);
                part.at = next;
                return true;
            case BREAK_BARRIER:
                on = c.both_predicates(n, on);
                replays_.left(warp, part, on, n.barrier, false);
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
                part.wanted = named(warp, part, n);
                return wait(warp, index, AT_SYNC, next);
            case WARP_SYNC_EXCLUSIVE:
                if (!on) {
                    part.at = next;
                    return true;
                }
                return exclusively(warp, index, c.source(n.source[0]), next);
            case COLLECTIVE:
                each_lane(part.lanes, [&](int i) { warp.collective_target[i] = n.target; });
                if (masks_differ(part, n)) return exclusively(warp, index, c.source(n.source[0]), next);
                part.wanted = named(warp, part, n);
                return wait(warp, index, AT_SYNC, next);
            default:  // END_COLLECTIVE
                apart(warp, index, [&](int i) { return warp.collective_target[i]; });
                return true;
        }
    }

    // Called before lanes of a part leave the kernel.
    void exited(Warp& warp, const Part& part, u32 lanes) {
        if (warp.parts.size() == 1) return;
        for (int number = 0; number < BARRIERS; number++) replays_.left(warp, part, lanes, number, true);
    }

    void met_by_exit(Warp& warp) { met(warp, true); }

    // Merges parts that wait for the same lanes once all of these have arrived. A convergence barrier does not wait
    // for lanes that have yielded, as they may be waiting for lanes that wait at the barrier.
    void met(Warp& warp, bool by_exit = false) {
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
            u32 first = part.first ? part.lanes : 0;
            for (size_t m = warp.parts.size(); m-- > k + 1;) {
                const Part& other = warp.parts[m];
                if (other.state == state && other.at == at && !(other.lanes & ~wanted)) {
                    warp.parts[k].lanes |= other.lanes;
                    if (other.first) first = other.lanes;
                    warp.parts.erase(warp.parts.begin() + static_cast<long>(m));
                }
            }
            if (state == AT_BARRIER) replays_.opens(warp, first, warp.parts[k].lanes);
            if (state == AT_BARRIER && wanted & ~here)
                open(warp, warp.parts[k], warp.parts[k].lanes);
            else
                go_on(warp, warp.parts[k], by_exit);
        }
        warp.turn = 0;
    }

    // Releases all parts that wait at convergence barriers. Returns false if there are none.
    bool open_all(Warp& warp) {
        bool any = false;
        for (Part& part : warp.parts)
            if (part.state == AT_BARRIER) {
                open(warp, part, part.lanes);
                any = true;
            }
        return any;
    }

   private:
    // The lanes that an instruction's mask names, or all lanes. Lanes that a block's last warp does not have are
    // excluded.
    u32 named(const Warp& warp, const Part& part, const Instruction& n) const {
        if (!n.source_count) return warp.threads;
        return context_.source(n.source[0])[__builtin_ctz(part.lanes)] & warp.threads;
    }

    bool masks_differ(const Part& part, const Instruction& n) const {
        if (!n.source_count) return false;
        const u32* masks = context_.source(n.source[0]);
        const u32 first = masks[__builtin_ctz(part.lanes)];
        return part.lanes & lanes_where([&](int i) { return masks[i] != first; });
    }

    // All awaited lanes have arrived. At a convergence barrier their `at` has already advanced; a WARPSYNC is issued
    // once more for all of them, unless the wait ended because the last ones left the kernel.
    void go_on(Warp& warp, Part& part, bool by_exit) {
        if (part.state == AT_BARRIER) {
            replays_.complete(warp, part.lanes, part.number, part.at - 1);
        } else {
            if (!by_exit) replays_.again(part.at, part.lanes);
            part.at++;
        }
        part.state = READY;
    }

    // Defers a part. It runs when the current part cannot continue, before those that were deferred earlier.
    static void put_off(Warp& warp, int index, const Part& later) {
        warp.parts.insert(warp.parts.begin() + index + 1, later);
    }

    bool parted(Warp& warp, int index, u32 taken, i32 target, i32 next) {
        Part& part = warp.parts[index];
        const i32 from = part.at;
        context_.counts.branches[from]++;
        if (!taken || taken == part.lanes) {
            part.at = taken ? target : next;
            return true;
        }
        context_.counts.divergent[from]++;
        Part later{taken, target, READY};
        part.lanes &= ~taken;
        part.at = next;
        if (__builtin_popcount(taken) >= __builtin_popcount(part.lanes)) {
            std::swap(part.lanes, later.lanes);
            std::swap(part.at, later.at);
        }
        replays_.parted(warp, part, later.lanes, from);
        put_off(warp, index, later);
        return true;
    }

    // Each lane continues at its `target`; lanes with the same target stay together.
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
                put_off(warp, index, Part{same, at, READY});
            left &= ~same;
        }
    }

    // Lanes with the same mask continue together, separately from those with a different mask.
    bool exclusively(Warp& warp, int index, const u32* masks, i32 next) {
        const i32 here = warp.parts[index].at;
        apart(warp, index, [&](int i) { return masks[i]; });
        for (Part& part : warp.parts) {
            if (part.state != READY || !(part.lanes & context_.active)) continue;
            part.wanted = masks[__builtin_ctz(part.lanes)] & warp.threads;
            const bool complete = !(part.wanted & ~part.lanes & ~warp.exited);
            part.at = complete ? next : here;
            part.state = complete ? READY : AT_SYNC;
        }
        met(warp);
        return false;
    }

    // Each lane continues at the address that it has in a register.
    bool returned(Warp& warp, int index, const Instruction& n, u32 on, i32 next) {
        const u32* low = context_.source(n.source[0]);
        Part& part = warp.parts[index];
        const i32 from = part.at;
        Part ways[LANES + 1];
        int count = 0;
        if (part.lanes & ~on) ways[count++] = Part{part.lanes & ~on, next, READY};
        Part* const to = ways + count;
        for (u32 left = on; left;) {
            const i64 address = static_cast<i32>(low[__builtin_ctz(left)]) + n.immediate;
            u32 same = 0;
            each_lane(left, [&](int i) {
                same |= static_cast<u32>(static_cast<i32>(low[i]) + n.immediate == address) << i;
            });
            if (n.control == RETURN && n.flags & THROUGH_POINTER) check_called(low[__builtin_ctz(left)], address, left);
            if (address & 15 || address < 0 || address >> 4 >= launch_.instruction_count)
                throw Fault{BAD_TARGET, __builtin_ctz(left), address};
            ways[count++] = Part{same, static_cast<i32>(address >> 4), READY};
            left &= ~same;
        }
        const int several = static_cast<int>(ways + count - to) - 1;
        if (n.control == RETURN) {
            context_.counts.branches[from]++;
            context_.counts.divergent[from] += several > 0;
        } else {
            context_.counts.branches[from] += std::max(1, several);
            context_.counts.divergent[from] += std::max(0, several);
            replays_.indexed(to, several + 1, from);
            std::reverse(to, ways + count);  // lanes that have already branched off come last
            if (several > 0) replays_.parted(warp, *ways, on & ~ways->lanes, from);
        }
        part = ways[0];
        for (int k = count; --k > 0;) put_off(warp, index, ways[k]);
        return true;
    }

    // Checks that a function begins where a pointer leads. Pointers are offsets in a table in bank 2, in which the null
    // pointer has an odd number; without functions there is no table.
    void check_called(u32 value, i64 address, u32 lanes) const {
        constexpr int TABLE = 2;
        const bool is_inside = address >= 0 && address >> 4 < launch_.instruction_count && !(address & 15);
        if (is_inside && launch_.instructions[address >> 4].begins_function) return;
        const bool is_null = launch_.bank_sizes[TABLE] ? value == 1 : value == 0;
        const int lane = context_.warp->number * LANES + __builtin_ctz(lanes);
        throw machine::Accusation{machine::NO_TARGET, context_.at, lane, {0, 0, is_null ? 1 : 2}};
    }

    // The part waits for other lanes, unless all have arrived.
    bool wait(Warp& warp, int index, State state, i32 next) {
        Part& part = warp.parts[index];
        if (!(part.wanted & ~part.lanes & ~warp.exited)) {
            if (state == AT_BARRIER) replays_.complete(warp, part.lanes, part.number, part.at);
            part.straight = false;
            part.at = next;
            return true;
        }
        if (state == AT_BARRIER) replays_.waits(warp, part);
        part.state = state;
        if (state == AT_BARRIER) part.at = next;
        met(warp);
        return false;
    }

    // These lanes leave a convergence barrier; lanes that arrive there later do not wait for them.
    void open(Warp& warp, Part& part, u32 lanes) {
        for (u32& held : warp.barrier[part.number]) held &= ~lanes;
        for (Part& other : warp.parts)
            if (other.state == AT_BARRIER && other.number == part.number) other.wanted &= ~lanes;
        part.state = READY;
    }

    // Lanes that wait for each other at different kinds of votes and shuffles do not meet.
    void check_kinds(const Warp& warp, const Part& part, u32 wanted) const {
        const i32 own = launch_.meetings[part.at];
        for (const Part& other : warp.parts) {
            if (own < 0 || other.state != AT_SYNC || (other.wanted & ~warp.exited) != wanted) continue;
            const i32 there = launch_.meetings[other.at];
            if (there < 0 || there == own) continue;
            const int lane = warp.number * LANES + __builtin_ctz(part.lanes);
            throw machine::Accusation{machine::LANE_ELSEWHERE, part.at, lane, {__builtin_ctz(other.lanes), other.at}};
        }
    }

    // Lanes have waited for each other at several addresses. Each part continues from its own address, but a
    // collective operation is done by all of them together, at one address.
    void pass(Warp& warp, int index, u32 wanted) {
        const auto control = [&](const Part& part) { return launch_.instructions[part.at].control; };
        if (context_.judge) check_kinds(warp, warp.parts[index], wanted);
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

    const Launch& launch_;
    Context& context_;
    Replays replays_{launch_, context_.counts};
};

}  // namespace sass
