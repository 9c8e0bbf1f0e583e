// The sum over the 32 lanes of a warp.
#pragma once

// Every lane of a full warp calls this; lane 0 gets the sum of all lanes' `value`, the other lanes
// get meaningless partial sums. Each step folds the upper half of the remaining values onto the
// lower half, register to register: no shared memory and no barrier, because a shuffle synchronises
// the lanes named in its mask.
__device__ __forceinline__ float warp_sum(float value) {
    constexpr unsigned int all_lanes = 0xffffffffu;
#pragma unroll
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(all_lanes, value, offset);
    }
    return value;
}
