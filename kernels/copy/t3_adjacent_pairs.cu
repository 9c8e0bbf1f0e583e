// output[i] = input[i], float32
//
// A trap: two elements per thread to save threads; because the two are neighbours, this looks like
// v1_float2. But these are two accesses of 4 bytes and not one of 8: in each of them the lanes are
// 8 bytes apart, so a request of 128 bytes covers eight sectors and uses half of each. The second
// access finds its halves in the L1 cache if they are still there; a store has no such help.
//
// Contract: any 1 <= n <= 2^31, blocks that cover n with two elements per thread, no shared memory.
//
// Compare with v1, which joins the pair, and with v3, in which the lanes access neighbours.
//
// From: a mistake that tutorials on thread coarsening make.
//
// Measured: H200, n = 2²⁸: 1.12× v0.
extern "C" __global__ void copy(const float* input, float* output, unsigned int n) {
    const unsigned int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) output[i] = input[i];
    if (i + 1 < n) output[i + 1] = input[i + 1];
}
