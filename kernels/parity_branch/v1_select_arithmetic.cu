// output[i] = 2 input[i] if input[i] is even, else input[i] + 1, int32
//
// Idea: the branch is replaced by arithmetic: both results are computed, each is multiplied by 1 or
// 0, and the two are added. No lane can go a different way from its neighbour. The compiler sees
// through it: nvcc 13.0 turns it into v2's machine code, without a multiplication.
//
// Contract: any 1 <= n <= 2^31, |input[i]| < 2^30, blocks that cover n with one element per thread,
// no shared memory.
//
// From: GPU MODE, lecture 8, "CUDA performance checklist", control divergence.
//
// Measured: H200, n = 2²⁸, stretch = 1: 1.039× v0.
extern "C" __global__ void parity(const int* input, int* output, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const int x = input[i];
    const int even = x % 2 == 0;
    output[i] = even * (2 * x) + (1 - even) * (x + 1);
}
