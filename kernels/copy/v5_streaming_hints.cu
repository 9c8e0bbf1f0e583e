// output[i] = input[i], float32
//
// Idea: mark all data as used only once. A copy touches each byte once, and the data that v4 leaves
// in the L2 cache only evicts data that may still be needed. __ldcs() and __stcs() mark the lines
// as the first to be evicted.
//
// Contract: any 1 <= n <= 2^31, no shared memory. Any grid is correct. input and output are 16-byte
// aligned, as every device allocation is.
//
// From: "Load Functions Using Cache Hints" in the CUDA C++ Programming Guide; the rest is v4.
//
// Measured: H200, n = 2²⁸: 0.945× v4.
extern "C" __global__ void copy(const float* input, float* output, unsigned int n) {
    const float4* input4 = reinterpret_cast<const float4*>(input);
    float4* output4 = reinterpret_cast<float4*>(output);
    const unsigned int count4 = n / 4;
    const unsigned int tile = 4 * blockDim.x;

    for (unsigned int first = blockIdx.x * tile + threadIdx.x; first < count4;
         first += gridDim.x * tile) {
        float4 value[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const unsigned int i = first + k * blockDim.x;
            if (i < count4) value[k] = __ldcs(&input4[i]);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const unsigned int i = first + k * blockDim.x;
            if (i < count4) __stcs(&output4[i], value[k]);
        }
    }
    // Up to three floats are left over that do not fill a float4.
    const unsigned int tail = 4 * count4 + threadIdx.x;
    if (blockIdx.x == 0 && tail < n) output[tail] = input[tail];
}
