// The lanes of a warp that are ready, by basic block.

#pragma once

#include "machine.h"

namespace machine {

inline void add(Warp& warp, Pending more) {
    for (int n = 0; n < warp.pending_count; n++)
        if (warp.pending[n].block == more.block) {
            warp.pending[n].lanes |= more.lanes;
            return;
        }
    warp.pending[warp.pending_count++] = more;
}

inline int lowest_of(const Warp& warp) {
    int best = 0;
    for (int n = 1; n < warp.pending_count; n++)
        if (warp.pending[n].block < warp.pending[best].block) best = n;
    return best;
}

inline Pending take(Warp& warp, int n) {
    const Pending taken = warp.pending[n];
    warp.pending[n] = warp.pending[--warp.pending_count];
    return taken;
}

inline Pending lowest(Warp& warp) { return take(warp, lowest_of(warp)); }

// The lanes that take a branch, of those that run it; counts them.
inline u32 branches(const Context& c, const Counts& counts, const Block& block, i32 at, u32 lanes) {
    u32 on = lanes_set(c.row<i32>(block.predicate));
    if (!block.taken_if) on = ~on;
    on &= lanes;
    counts.taken_lanes[at] += __builtin_popcount(on);
    return on;
}

// Sends each lane to the target that its index names. Returns whether the lanes diverge.
inline bool switch_to(const Context& c, const Block& block, u32 lanes, Warp& warp) {
    const u32* index = c.row<u32>(block.predicate);
    const i32* const targets = c.launch->switch_targets + block.first_target;
    i32 first = -1;
    bool parts = false;
    each_lane(lanes, [&](int i) {
        if (index[i] >= static_cast<u32>(block.targets)) throw Suspicion{BAD_SWITCH, 0, i};
        const i32 target = targets[index[i]];
        parts |= first >= 0 && target != first;
        first = target;
        add(warp, {target, u32(1) << i});
    });
    return parts;
}

inline void wait_at_barrier(Warp& warp, i32 at, u32 lanes) {
    if (warp.waiting && warp.waiting_at != at) throw Suspicion{BARRIERS, 0, 0};
    warp.waiting |= lanes;
    warp.waiting_at = at;
}

}  // namespace machine
