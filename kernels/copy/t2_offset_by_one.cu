// output[i] = input[i], float32
//
// A trap: start one element late, as one does after a header or in the interior of a grid. The 128
// bytes of a warp's request then begin in the middle of a sector and span five sectors, where v0's
// span four. For reads, the fifth is often found in the cache, left there by the neighbouring warp;
// for writes, two warps each send a part of the same sector.
//
// Contract: any 1 <= n <= 2^31, blocks that cover n with one element per thread, no shared memory.
//
// From: Mark Harris, "How to Access Global Memory Efficiently in CUDA C/C++ Kernels" (NVIDIA
// developer blog, 2013).
//
// Measured: H200, n = 2²⁸: 0.974× v0.
extern "C" __global__ void copy(const float* input, float* output, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i < n) output[i] = input[i];
    // The element before the first, copied by the thread next to it.
    if (i == 1) output[0] = input[0];
}
