// How the lanes of a warp part, and where they meet again.
//
// Lanes that part go their ways one part after the other; each instruction counts once per part.
// Parts meet where a convergence barrier or WARPSYNC says so, and nowhere else, also not when they
// come to the same address. That is how an H200 counts.

#pragma once

#include "sass.h"

namespace sass {

class Parts {
   public:
    Parts(const Launch& launch, Context& context) : launch_(launch), context_(context) {}

    // An instruction that says where lanes go on. Returns whether the part goes on; `at` of the part
    // is then where.
    bool control(Warp& warp, int index, const Instruction& n, u32 on) {
        const Context& c = context_;
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
            case CALL: return parted(warp, index, on, n.target, next);
            case RETURN:
            case BRANCH_INDEXED: return returned(warp, index, n, on, next);
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
                part.wanted = named(warp, part, n);
                return wait(warp, index, AT_SYNC, next);
            case WARP_SYNC_EXCLUSIVE:
                if (!on) {
                    part.at = next;
                    return true;
                }
                return exclusively(warp, index, c.source(n.source[0]), next);
            case COLLECTIVE:
                part.wanted = named(warp, part, n);
                each_lane(part.lanes, [&](int i) { warp.collective_target[i] = n.target; });
                return wait(warp, index, AT_SYNC, next);
            default:  // END_COLLECTIVE
                apart(warp, index, [&](int i) { return warp.collective_target[i]; });
                return true;
        }
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

    // Lets all go on that wait at convergence barriers; false if nobody does.
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
    // The lanes that an instruction's mask names, or all.
    u32 named(const Warp& warp, const Part& part, const Instruction& n) const {
        return n.source_count ? context_.source(n.source[0])[__builtin_ctz(part.lanes)] : warp.threads;
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

    const Launch& launch_;
    Context& context_;
};

}  // namespace sass
