// Addresses in the shared memory of other blocks of a thread block cluster, and arrivals at its barrier.
//
// The window of a block's shared memory has 2^24 addresses. For a thread, its own block's memory is in the first
// window, and the memory of the block with rank r, which may be its own, in window r + 1. An address that `mapa`
// returned therefore has the same meaning in every block of the cluster.

#include "registers.h"
#include "rows.h"

namespace machine {
namespace {

constexpr int WINDOW_SHIFT = 24;
constexpr u32 MOST_RANK = 0xFE;

// The window that contains an address, or is so close to it that the address was computed from one
// in that window.
template <class T>
u32 window_of(T address) {
    return static_cast<u32>((address + (T(1) << (WINDOW_SHIFT - 1))) >> WINDOW_SHIFT & 0xFF);
}

// A rank that does not exist in the cluster yields an address without memory.
template <class T>
void map_rank(Context& c, const Op& op) {
    const bool alone = blocks_of_cluster(*c.launch) == 1;
    map<T, T, u32>(c, op, [alone](T address, u32 rank) {
        const T window = alone && !rank ? 0 : T(std::min(rank, MOST_RANK)) + 1;
        return address + ((window - window_of(address)) << WINDOW_SHIFT);
    });
}

template <class T>
void rank_of(Context& c, const Op& op) {
    const u32 own = static_cast<u32>(c.block % blocks_of_cluster(*c.launch));
    map<u32, T>(c, op, [own](T address) {
        const u32 window = window_of(address);
        return window ? window - 1 : own;
    });
}

void arrive(Context& c, const Op&) { in_order(c); }

}  // namespace

std::vector<Entry> cluster_entries() {
    return {
        {"mapa/u32", map_rank<u32>}, {"mapa/u64", map_rank<u64>},
        {"getctarank/u32", rank_of<u32>}, {"getctarank/u64", rank_of<u64>},
        {"cluster_arrive", arrive, ARRIVES_IN_CLUSTER},
    };
}

}  // namespace machine
