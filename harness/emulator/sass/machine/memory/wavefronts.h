// The cost of a warp's shared load or store, which is served in pieces, each for some of the lanes.
//
// 32-bit accesses are one piece. 64-bit accesses are one piece if every active lane i has the same
// address as lane i ^ 1, or every one has the same address as lane i ^ 2, where an inactive lane
// counts as equal; otherwise the two half-warps are two pieces. For 128-bit accesses, the same
// applies to each half-warp separately: the halves are never joined. Stores are never joined, nor
// are loads if that saves no wavefront. A piece takes as many wavefronts as its fullest bank has
// distinct words, ideally one.

#pragma once

#include "sass.h"

namespace sass {

inline machine::Wavefronts wavefronts_of(const machine::Access& access, bool is_load) {
    if (access.width <= 4 || access.in_a_row) return machine::shared_wavefronts(access, is_load);
    const int longest = access.width == 8 ? LANES : LANES / 2;
    machine::Wavefronts cost{0, 0};
    for (int first = 0; first < LANES; first += longest) {
        const u32 whole = (longest == LANES ? EVERYBODY : (1u << longest) - 1) << first;
        const u32 half = ((1u << longest / 2) - 1) << first, other = whole & ~half;
        int apart = 0, pieces = 0;
        for (const u32 lanes : {access.active & half, access.active & other}) {
            apart += machine::fullest_bank(access, lanes);
            pieces += lanes != 0;
        }
        const bool may_join = is_load && pieces == 2 && machine::agree(access, whole);
        const int joined = may_join ? machine::fullest_bank(access, access.active & whole) : apart;
        cost.spent += joined < apart ? joined : apart;
        cost.ideal += joined < apart ? 1 : pieces;
    }
    return cost;
}

}  // namespace sass
