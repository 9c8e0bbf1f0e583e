// Instructions that a multiprocessor counts once more, because it issues them again, besides each one that a part
// of a warp executes.
//
// Nsight Compute's counts for each instruction, which it collects in a separate pass, do not include these;
// `smsp__inst_executed.sum` and related counters do. The rules were derived from, and are tested against, H200
// readings of kernels whose warps diverge in many ways (tests/fidelity/divergence).

#pragma once

#include <algorithm>

#include "sass.h"

namespace sass {

class Replays {
   public:
    Replays(const Launch& launch, const Counts& counts) : launch_(launch), counts_(counts) {}

    void again(i32 at, u32 lanes) const {
        counts_.warps_again[at]++;
        counts_.threads_again[at] += __builtin_popcount(lanes);
    }

    // A branch has divided lanes of the warp: this part runs first, and the rest is deferred.
    //
    // While lanes wait at a convergence barrier to which a branch sent them directly, all lanes still missing there
    // count once more, at the last branch that divides the lanes that continued. Lanes that the branches between the
    // first and the last also send there wait without a BSYNC of their own.
    void parted(Warp& warp, Part& first, u32 rest, i32 from) const {
        const i32 to = straight_to(first.at);
        first.straight = to != NO_BARRIER;
        for (int number = 0; number < BARRIERS; number++) {
            Again& barrier = warp.again[number];
            const u32 here = barrier.straight ? waiting(warp, number) : 0;
            if (here && !(barrier.others & rest)) continue;
            if (here) {
                if (barrier.divided) not_late(barrier, barrier.late);
                if (barrier.sent) counts_.warps_again[barrier.sent]--;
                barrier.late = warp.barrier[number][__builtin_ctz(here)] & ~here & ~warp.exited;
                barrier.at = from;
                counts_.threads_again[from] += __builtin_popcount(barrier.late);
            } else {
                barrier.straight = number == to;
            }
            barrier.divided = here;
            barrier.sent = here && number == to ? first.at : 0;
            if (number == to) barrier.others = rest;
        }
    }

    // A part begins to wait at a convergence barrier. If it was not sent there directly, the lanes
    // that were sent there directly lose their special treatment.
    void waits(Warp& warp, Part& part) const {
        Again& barrier = warp.again[part.number];
        if (!part.straight) {
            barrier.straight = false;
            barrier.sent = 0;
        }
        part.straight = false;
        part.first = !(waiting(warp, part.number) & part.wanted);
    }

    // Lanes leave a convergence barrier together: all are then treated like those that arrived first.
    void opens(Warp& warp, u32 first, u32 lanes) const {
        for (Again& each : warp.again)
            each.others = each.others & first ? each.others | lanes : each.others & ~lanes;
    }

    // Called before lanes of a part leave a convergence barrier for good, or leave the kernel. Lanes that wait at that
    // barrier (for the kernel, at any barrier) notice it, as do the lanes that stay in the part; others do not.
    void left(Warp& warp, const Part& part, u32 lanes, int number, bool kernel) const {
        if (!lanes) return;
        Again& barrier = warp.again[number];
        not_late(barrier, lanes);
        u32 aware = part.lanes;
        for (const Part& other : warp.parts)
            if (other.state == AT_BARRIER && (kernel || other.number == number)) aware |= other.lanes;
        const u32 unaware = warp.barrier[number][__builtin_ctz(lanes)] & ~aware & ~warp.exited;
        (kernel ? barrier.unaware_of_exit : barrier.unaware) |= unaware;
    }

    // All remaining lanes have arrived at a convergence barrier. It is issued once more if none of them had noticed
    // that others left.
    void complete(Warp& warp, u32 lanes, int number, i32 at) const {
        Again& barrier = warp.again[number];
        const bool of_exit = !(lanes & ~barrier.unaware_of_exit);
        if (of_exit || !(lanes & ~barrier.unaware)) again(at, lanes);
        forget(barrier, lanes);
        if (of_exit)
            for (Again& each : warp.again) each.unaware_of_exit &= ~lanes;
    }

    // A barrier is set again for these lanes.
    void begins(Warp& warp, u32 lanes, int number) const { forget(warp.again[number], lanes); }

    // A branch to addresses in a table, with one part for each address, in the order of their
    // lowest lanes. The first part that has at most half of the lanes branches off, and the other
    // parts branch again. The parts are put into the order in which they branch off.
    void indexed(Part* ways, int count, i32 from) const {
        for (; count > 1; ways++, count--) {
            Part* leaves = ways;
            const int all = __builtin_popcount(together(ways, count));
            while (2 * __builtin_popcount(leaves->lanes) > all) leaves++;
            std::rotate(ways, leaves, leaves + 1);
            again(from, together(ways + 1, count - 1));
        }
    }

   private:
    // The convergence barrier, if the instruction at `at` is an unguarded wait at one.
    i32 straight_to(i32 at) const {
        if (at < 0 || at >= launch_.instruction_count) return NO_BARRIER;
        const Instruction& n = launch_.instructions[at];
        return n.control == WAIT_BARRIER && n.guard == ALWAYS ? n.barrier : NO_BARRIER;
    }

    static u32 waiting(const Warp& warp, int number) {
        u32 here = 0;
        for (const Part& part : warp.parts)
            if (part.state == AT_BARRIER && part.number == number) here |= part.lanes;
        return here;
    }

    static u32 together(const Part* parts, int count) {
        u32 lanes = 0;
        for (int k = 0; k < count; k++) lanes |= parts[k].lanes;
        return lanes;
    }

    static void forget(Again& barrier, u32 lanes) {
        barrier.late &= ~lanes;
        barrier.unaware &= ~lanes;
        barrier.unaware_of_exit &= ~lanes;
    }

    void not_late(Again& barrier, u32 lanes) const {
        counts_.threads_again[barrier.at] -= __builtin_popcount(barrier.late & lanes);
        barrier.late &= ~lanes;
    }

    const Launch& launch_;
    const Counts& counts_;
};

}  // namespace sass
