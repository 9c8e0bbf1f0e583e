// output[i] = 2 input[i] if input[i] is even, else input[i] + 1, int32
//
// Idea: a conditional expression: both results are computed and one is selected. It means the same
// as v0's if and else, but with one store, which all lanes of a warp then make together.
//
// Contract: any 1 <= n <= 2^31, |input[i]| < 2^30, blocks that cover n with one element per thread,
// no shared memory.
//
// From: "Branching and Divergence" in the CUDA C++ Best Practices Guide.
//
// Measured: H200, n = 2²⁸, stretch = 1: 1.040× v0.
extern "C" __global__ void parity(const int* input, int* output, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const int x = input[i];
    output[i] = x % 2 == 0 ? 2 * x : x + 1;
}
