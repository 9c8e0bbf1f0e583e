// output[i] = 2 input[i] if input[i] is even, else input[i] + 1, int32
//
// Idea: the obvious form, with if and else. Lanes of a warp whose numbers differ in parity go
// different ways; with a jump, the warp would execute both, one after the other, with the other
// lanes idle. But nvcc (13.0, for sm_90) turns sides as short as these into predicated
// instructions: the odd lanes add, store and are done, then the even ones shift and store. No jump
// remains, only a second store per warp; each of the two is made by some of the lanes.
//
// Contract: any 1 <= n <= 2^31, |input[i]| < 2^30, blocks that cover n with one element per thread,
// no shared memory.
//
// From: GPU MODE, lecture 8, "CUDA performance checklist", control divergence.
//
// Measured: H200, n = 2²⁸, stretch = 1: 851 µs ± 0.043 %.
extern "C" __global__ void parity(const int* input, int* output, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const int x = input[i];
    if (x % 2 == 0) {
        output[i] = 2 * x;
    } else {
        output[i] = x + 1;
    }
}
