// The barrier of a cluster's blocks, and registers that warps of a block pass to each other.

#pragma once

#include "memory/addresses.h"
#include "memory/mbarriers.h"

namespace sass {

// A phase is over when every thread that is still in the kernel has arrived.
inline void complete_if_all_are_there(Cluster& cluster, Judge* judge) {
    if (!cluster.arrived || cluster.arrived < cluster.alive) return;
    cluster.arrived = 0;
    if (judge) judge->cluster_complete(cluster);
    cluster.completed++;
    for (Block* const block : cluster.blocks) {
        if (!block) continue;
        for (Warp& warp : block->warps)
            for (Part& part : warp.parts) {
                if (part.state != AT_CLUSTER_BARRIER) continue;
                if (judge) judge->waited_in_cluster(*block, warp, part.lanes);
                warp.arrived &= ~part.lanes;
                part.at++;
                part.state = READY;
                block->idle = false;
            }
    }
}

// A group of lanes reaches the wait. Returns true if it does not have to wait.
inline bool has_met_in_cluster(const Context& c, Block& block, Warp& warp, Part& part) {
    if (const u32 absent = part.lanes & ~warp.arrived)
        throw machine::Accusation{machine::NOT_ARRIVED, c.at, thread_of(c, __builtin_ctz(absent)), {}};
    u32 early = 0;
    each_lane(part.lanes, [&](int i) {
        if (warp.arrived_in[i] == block.cluster->completed) early |= 1u << i;
    });
    if (early) {
        part.state = AT_CLUSTER_BARRIER;
        return false;
    }
    if (c.judge) c.judge->waited_in_cluster(block, warp, part.lanes);
    warp.arrived &= ~part.lanes;
    return true;
}

// Lanes leave the kernel.
inline void leave_cluster(Block& block, Warp& warp, u32 lanes, Judge* judge) {
    if (judge) judge->left(block, warp, lanes);
    Cluster& cluster = *block.cluster;
    each_lane(lanes & warp.arrived, [&](int i) {
        if (warp.arrived_in[i] == cluster.completed) cluster.arrived--;
    });
    warp.arrived &= ~lanes;
    cluster.alive -= __builtin_popcount(lanes);
    complete_if_all_are_there(cluster, judge);
}

// A warp takes registers if its block's warps have released enough. Its predicate then says that it succeeded.
inline bool takes_registers(Block& block, Warp& warp, const Instruction& n) {
    const i32 more = static_cast<i32>(n.immediate) - warp.registers;
    if (more > block.pool) return false;
    block.pool -= more;
    warp.registers += more;
    set_lanes(warp, n.result_predicate[0], EVERYBODY, EVERYBODY);
    return true;
}

}  // namespace sass
