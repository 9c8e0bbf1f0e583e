// Five stages in four buffers: the next tile is copied into the buffer that others still read.
// LAUNCH k<<<2, 64>>>(float[1024], float[128])
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[4][64];
    unsigned t = threadIdx.x;
    float sum = 0;
    in += blockIdx.x * 512;
    for (int n = 0; n < 3; n++) {
        __pipeline_memcpy_async(&s[n][t], &in[n * 64 + t], 4);
        __pipeline_commit();
    }
    for (int n = 0; n < 8; n++) {
        if (n + 3 < 8) __pipeline_memcpy_async(&s[(n + 3) & 3][t], &in[(n + 3) * 64 + t], 4);  // FAULT: race
        __pipeline_commit();
        __pipeline_wait_prior(3);
        __syncthreads();
        sum += s[n & 3][63 - t];  // OTHER
    }
    out[blockIdx.x * 64 + t] = sum;
}
