// The four kernels that group the rows by target: order[ends[t] - counts[t] .. ends[t]) are target
// t's, for v2 and v3.
#pragma once

extern "C" __global__ void clear(int* counts, int* total, unsigned int targets) {
    const unsigned int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < targets) counts[t] = 0;
    if (t == 0) *total = 0;
}

extern "C" __global__ void count(const int* index, int* counts, unsigned int rows) {
    const unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) atomicAdd(&counts[index[r]], 1);
}

// ends[t] becomes the beginning of t's stretch; `place` moves it to the stretch's end.
extern "C" __global__ void reserve(const int* counts, int* ends, int* total,
                                   unsigned int targets) {
    const unsigned int t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int lane = threadIdx.x % 32;
    const int wanted = t < targets ? counts[t] : 0;

    int upto = wanted;  // of the lanes up to this one
#pragma unroll
    for (unsigned int below = 1; below < 32; below *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, upto, below);
        if (lane >= below) upto += other;
    }
    int first = 0;
    if (lane == 31) first = atomicAdd(total, upto);
    first = __shfl_sync(0xffffffffu, first, 31);
    if (t < targets) ends[t] = first + upto - wanted;
}

extern "C" __global__ void place(const int* index, int* ends, int* order, unsigned int rows) {
    const unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) order[atomicAdd(&ends[index[r]], 1)] = r;
}
