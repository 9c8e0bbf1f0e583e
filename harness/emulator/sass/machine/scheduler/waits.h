// Lanes that wait for the end of an mbarrier's phase, and what happens if it never ends.

#pragma once

#include "clusters.h"
#include "products_wait.h"

namespace sass {

constexpr int IN_VAIN = 16;  // failed tests of mbarriers after which lanes count as hung

enum class Tested { ENDED, NOT_YET, WAITS };

// Lanes test whether phases have ended. If the instruction waits and no phase has ended, they stay there, and are not
// counted again when they continue.
inline Tested tested(const Context& c, Block& block, Warp& warp, Part& part, const Instruction& n) {
    const u32 on = c.guarded;
    const Access access = addressed(c, n);
    const u32* const phase = c.source(n.source[2]);
    each_lane(on, [&](int i) {
        const MbarrierPlace place = mbarrier_at(c, access.address[i], i, false);
        if (!place.is_set_up()) throw Fault{NO_MBARRIER, i, access.address[i]};
        warp.tested[i] = place.at, warp.phase[i] = phase[i] >> 31;
    });
    const u32 ended = ended_lanes(block, warp, on);
    if (!ended && n.flags & WAITS) {
        part.wanted = on;
        part.state = AT_MBARRIER;
        return Tested::WAITS;
    }
    if (c.judge) c.judge->tested(block, warp, ended, part.at);
    set_lanes(warp, n.result_predicate[0], on, ended);
    part.at++;
    return ended ? Tested::ENDED : Tested::NOT_YET;
}

// Called when every lane of a cluster is waiting. Lanes that wait for an mbarrier's phase are told
// that it has not ended, as on a GPU when `try_wait` times out. Returns false once this has been
// repeated too often without progress.
inline bool gives_up(const Context& c, Cluster& cluster) {
    if (cluster.ended != cluster.ended_then) cluster.given_up = 0;
    cluster.ended_then = cluster.ended;
    if (cluster.given_up++ == IN_VAIN) return false;
    bool any = false;
    for (Block* const block : cluster.blocks) {
        if (!block) continue;
        for (Warp& warp : block->warps)
            for (Part& part : warp.parts)
                if (part.state == AT_MBARRIER) {
                    go_on_from_mbarrier(c, *block, warp, part, 0);
                    any = true;
                }
    }
    return any;
}

// Reports what is missing for the end of the phase that lanes wait for.
[[noreturn]] inline void hang_at_mbarrier(const Context& c, Block& block, const Warp& warp, const Part& part) {
    const int lane = __builtin_ctz(part.wanted);
    const u32 at = warp.tested[lane];
    const machine::Mbarrier state = MbarrierWord::read(MbarrierPlace{&block, at}.word());
    const PhaseBytes& told = block.phases[at];
    throw machine::Accusation{machine::LOOP_STUCK, part.at, thread_of(c, lane),
                              {i64(at) - c.launch->shared_start, state.pending, state.expected, told.expected,
                               told.came, told.expecting, told.coming, told.ended}};
}

// No lane of a cluster can continue: reports what the lanes wait for, preferably an mbarrier.
[[noreturn]] inline void hang(Context& c, const Cluster& cluster) {
    const Part* first = nullptr;
    for (Block* const block : cluster.blocks) {
        if (!block) continue;
        for (Warp& warp : block->warps)
            for (const Part& part : warp.parts) {
                if (first && part.state != AT_MBARRIER) continue;
                c.block = block, c.warp = &warp;
                c.at = part.at;
                if (part.state == AT_MBARRIER) hang_at_mbarrier(c, *block, warp, part);
                first = &part;
            }
    }
    const int lane = first ? __builtin_ctz(first->lanes) : 0;
    if (first && first->state == AT_POOL) throw Fault{POOL_EMPTY, lane, c.block->pool};
    throw Fault{DEADLOCK, lane, 0};
}

}  // namespace sass
