// output[i] = y after `rounds` times y = y / 2 + input[i], from y = input[i], float32
//
// Idea: one wave for every n. There are as many blocks as SMs, and they share the work in pieces of
// one element per thread, a 32nd of v0's block. No SM has more than one piece more than another, so
// the last, incomplete round of pieces costs a 32nd of v0's step.
//
// Contract: any 1 <= n <= 2^31. Any grid is correct; the experiment needs one block per SM. Any
// dynamic shared memory; none is used.
//
// From: Mark Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops" (NVIDIA developer
// blog, 2013).
//
// Measured: H200, rounds = 256, n = 34,635,776: 1.16× v0.
extern "C" __global__ void __launch_bounds__(1024)
chains(const float* input, float* output, unsigned int n, unsigned int rounds) {
    const unsigned int threads = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        const float x = input[i];
        float y = x;
        for (unsigned int round = 0; round < rounds; round++) y = fmaf(y, 0.5f, x);
        output[i] = y;
    }
}
