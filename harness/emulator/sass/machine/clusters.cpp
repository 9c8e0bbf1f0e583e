// The barrier of a cluster's blocks, and registers that warps of a block pass to each other.

#include "clusters.h"

namespace sass {
namespace {

void arrive_in_cluster(Context& c, const Instruction&) {
    Warp& warp = *c.warp;
    Cluster& cluster = *c.block->cluster;
    if (const u32 twice = c.guarded & warp.arrived)
        throw machine::Accusation{machine::ARRIVED_TWICE, c.at, thread_of(c, __builtin_ctz(twice)), {}};
    each_lane(c.guarded, [&](int i) {
        if (c.judge) c.judge->arrive_in_cluster(c, i);
        warp.arrived_in[i] = cluster.completed;
    });
    warp.arrived |= c.guarded;
    cluster.arrived += __builtin_popcount(c.guarded);
    complete_if_all_are_there(cluster, c.judge);
}

void give_registers(Context& c, const Instruction& n) {
    Block& block = *c.block;
    block.pool += c.warp->registers - static_cast<i32>(n.immediate);
    c.warp->registers = static_cast<i32>(n.immediate);
    for (Warp& warp : block.warps)
        for (Part& part : warp.parts)
            if (part.state == AT_POOL && takes_registers(block, warp, c.launch->instructions[part.at])) {
                part.at++;
                part.state = READY;
            }
}

}  // namespace

std::vector<Entry> cluster_entries() {
    return {{"CLUSTER.ARRIVE", arrive_in_cluster}, {"GIVE.REGISTERS", give_registers}};
}

}  // namespace sass
