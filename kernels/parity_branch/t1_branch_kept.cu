// output[i] = 2 input[i] if input[i] is even, else input[i] + 1, int32
//
// A trap: each side is a call of a function that the compiler must not inline. Now it is a branch,
// and a warp with both kinds of lanes executes both calls, one after the other. This is how v0
// looks to someone who has not seen its machine code; the compiler keeps a branch only if a side
// has a call, or more than one instruction.
//
// Contract: any 1 <= n <= 2^31, |input[i]| < 2^30, blocks that cover n with one element per thread,
// no shared memory.
//
// From: "Control Flow Instructions" in the CUDA C++ Programming Guide.
//
// Measured: H200, n = 2²⁸, stretch = 1: 0.929× v0.
__device__ __noinline__ int doubled(int x) {
    return 2 * x;
}

__device__ __noinline__ int incremented(int x) {
    return x + 1;
}

extern "C" __global__ void parity(const int* input, int* output, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const int x = input[i];
    if (x % 2 == 0) {
        output[i] = doubled(x);
    } else {
        output[i] = incremented(x);
    }
}
