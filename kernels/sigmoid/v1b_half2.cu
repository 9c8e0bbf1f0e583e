// output[i] = 1 / (1 + exp(−input[i])), float16
//
// Idea: halves in pairs. A __half2 is one register and one 4-byte access, so a warp requests 128
// bytes again. The arithmetic is done on two floats, for precision and not for speed.
//
// Contract: any 1 <= n <= 2^31, blocks that cover n with two elements per thread, no shared memory.
// Both arrays are 4-byte aligned, as every device allocation is.
//
// From: "Half2 Arithmetic Functions" in the CUDA Math API.
//
// Measured: H200, n = 2²⁸: float16 1.63× v0.
#include "sigmoid/logistic.cuh"

extern "C" __global__ void sigmoid(const __half* input, __half* output, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n / 2) {
        const __half2 x = reinterpret_cast<const __half2*>(input)[i];
        reinterpret_cast<__half2*>(output)[i] = logistic(x);
    }
    // If n is odd, one half is left over.
    if (i == 0 && n % 2 == 1) output[n - 1] = logistic(input[n - 1]);
}
