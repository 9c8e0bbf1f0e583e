// The contents of a warp's registers before it starts: constants and special registers.

#pragma once

#include <algorithm>

#include "machine.h"

namespace machine {

inline const char* const SPECIALS[] = {
    "tid.x",           "tid.y",       "tid.z",   "ctaid.x",     "ctaid.y",     "ctaid.z",
    "ntid.x",          "ntid.y",      "ntid.z",  "nctaid.x",    "nctaid.y",    "nctaid.z",
    "laneid",          "warpid",      "nwarpid", "lanemask_eq", "lanemask_lt", "lanemask_le",
    "lanemask_gt",     "lanemask_ge", "smid",    "nsmid",       "gridid",      "dynamic_smem_size",
    "total_smem_size",
    "clusterid.x", "clusterid.y", "clusterid.z", "cluster_ctaid.x", "cluster_ctaid.y", "cluster_ctaid.z",
    "cluster_ctarank", "nclusterid.x", "nclusterid.y", "nclusterid.z", "cluster_nctaid.x",
    "cluster_nctaid.y", "cluster_nctaid.z", "cluster_nctarank", "is_explicit_cluster",
};
constexpr int SPECIAL_COUNT = sizeof SPECIALS / sizeof *SPECIALS;
constexpr int BLOCK_INDEX = 3;  // the first of those that differ from block to block
constexpr int BLOCK_INDICES = 3;
constexpr int CLUSTER_INDEX = 25;  // the first of those for a block's cluster and its place in it
constexpr int CLUSTER_INDICES = 7;

// A template, because launches of PTX and of machine code both have a grid and a cluster.
template <class L>
u32 blocks_of_cluster(const L& launch) {
    return launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
}

// The position of a thread block. Blocks are numbered cluster by cluster and, within a cluster, by rank; without
// clusters, they are numbered in grid order.
struct BlockPlace {
    u32 at[3], cluster[3], inside[3], rank;

    template <class L>
    BlockPlace(const L& launch, u64 number) {
        const u32 blocks = blocks_of_cluster(launch);
        rank = static_cast<u32>(number % blocks);
        u64 which = number / blocks;
        u32 rest = rank;
        for (int axis = 0; axis < 3; axis++) {
            const u32 extent = launch.cluster[axis], clusters = launch.grid[axis] / extent;
            cluster[axis] = axis < 2 ? static_cast<u32>(which % clusters) : static_cast<u32>(which);
            inside[axis] = rest % extent;
            at[axis] = cluster[axis] * extent + inside[axis];
            which /= clusters, rest /= extent;
        }
    }

    // The block's number in grid order, which messages use.
    template <class L>
    i64 in_grid(const L& launch) const {
        return at[0] + static_cast<i64>(launch.grid[0]) * (at[1] + static_cast<i64>(launch.grid[1]) * at[2]);
    }
};

// The positions of a warp's threads in their block.
struct Places {
    u32 first, x[LANES], y[LANES], z[LANES];

    // One division for all threads, because one for each would take longer than a small launch.
    Places(const Launch& launch, u32 warp) : first(warp * LANES) {
        const u32 nx = launch.block[0], ny = launch.block[1];
        u32 at_x = first % nx, at_y = first / nx % ny, at_z = first / nx / ny;
        for (int i = 0; i < LANES; i++) {
            x[i] = at_x, y[i] = at_y, z[i] = at_z;
            if (++at_x < nx) continue;
            at_x = 0;
            if (++at_y < ny) continue;
            at_y = 0, at_z++;
        }
    }
};

inline void fill_special(const Launch& launch, int number, const Places& places, u32 threads, u32* row) {
    const auto lanes = [&](auto value) {
        for (u32 i = 0; i < LANES; i++) row[i] = value(i);
    };
    const auto all = [&](u32 value) { std::fill(row, row + LANES, value); };
    const auto bit = [](u32 lane) { return u32(1) << lane; };
    switch (number) {
        case 0: return lanes([&](u32 i) { return places.x[i]; });
        case 1: return lanes([&](u32 i) { return places.y[i]; });
        case 2: return lanes([&](u32 i) { return places.z[i]; });
        case 6:
        case 7:
        case 8: return all(launch.block[number - 6]);
        case 9:
        case 10:
        case 11: return all(launch.grid[number - 9]);
        case 12: return lanes([&](u32 i) { return i; });
        case 13: return all(places.first / LANES);
        case 14: return all((threads + LANES - 1) / LANES);
        case 15: return lanes(bit);
        case 16: return lanes([&](u32 i) { return bit(i) - 1; });
        case 17: return lanes([&](u32 i) { return bit(i) | (bit(i) - 1); });
        case 18: return lanes([&](u32 i) { return ~(bit(i) | (bit(i) - 1)); });
        case 19: return lanes([&](u32 i) { return ~(bit(i) - 1); });
        case 21: return all(1);
        case 23: return all(std::max(launch.shared_bytes - launch.shared_static, 0));
        case 24: return all(launch.shared_bytes);
        case 32:
        case 33:
        case 34: return all(launch.grid[number - 32] / launch.cluster[number - 32]);
        case 35:
        case 36:
        case 37: return all(launch.cluster[number - 35]);
        case 38: return all(blocks_of_cluster(launch));
        case 39: return all(blocks_of_cluster(launch) > 1 ? EVERYBODY : 0);
        default: return all(0);
    }
}

// Fills the registers that stay the same from block to block.
inline void fill(const Launch& launch, Warp& warp, u32 threads) {
    for (int n = 0; n < launch.constant_count; n++) {
        const u64 value = reinterpret_cast<const u64*>(launch.constants)[n];
        const i32 offset = launch.constant_offsets[n];
        if (offset & 1) {  // marked as a row of 8-byte lanes
            u64* row = reinterpret_cast<u64*>(warp.registers + (offset & ~1));
            std::fill(row, row + LANES, value);
        } else {
            u32* row = reinterpret_cast<u32*>(warp.registers + offset);
            std::fill(row, row + LANES, static_cast<u32>(value));
        }
    }
    const Places places(launch, warp.number);
    for (int n = 0; n < SPECIAL_COUNT; n++)
        if (launch.special_offsets[n] >= 0)
            fill_special(launch, n, places, threads,
                         reinterpret_cast<u32*>(warp.registers + launch.special_offsets[n]));
}

inline void begin_block_of_cluster(const Launch& launch, Warp& warp, const BlockPlace& place) {
    std::memset(warp.registers, 0, launch.zeroed_bytes);
    const auto put = [&](int number, u32 value) {
        const i32 offset = launch.special_offsets[number];
        if (offset < 0) return;
        u32* row = reinterpret_cast<u32*>(warp.registers + offset);
        std::fill(row, row + LANES, value);
    };
    for (int axis = 0; axis < 3; axis++) {
        put(BLOCK_INDEX + axis, place.at[axis]);
        put(CLUSTER_INDEX + axis, place.cluster[axis]);
        put(CLUSTER_INDEX + 3 + axis, place.inside[axis]);
    }
    put(CLUSTER_INDEX + 6, place.rank);
}

// Fills the registers that differ from block to block.
inline void begin_block(const Launch& launch, Warp& warp, u64 block) {
    if (launch.in_clusters) {
        begin_block_of_cluster(launch, warp, BlockPlace(launch, block));
        return;
    }
    const u64 nx = launch.grid[0], ny = launch.grid[1];
    const u32 index[] = {static_cast<u32>(block % nx), static_cast<u32>(block / nx % ny),
                         static_cast<u32>(block / (nx * ny))};
    std::memset(warp.registers, 0, launch.zeroed_bytes);
    for (int axis = 0; axis < BLOCK_INDICES; axis++) {
        const i32 offset = launch.special_offsets[BLOCK_INDEX + axis];
        if (offset < 0) continue;
        u32* row = reinterpret_cast<u32*>(warp.registers + offset);
        std::fill(row, row + LANES, index[axis]);
    }
}

}  // namespace machine
