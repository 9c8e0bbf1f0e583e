// The barrier waits for the threads, not for their copies.
// LAUNCH k<<<2, 64>>>(float[128], float[128])
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    __pipeline_memcpy_async(&s[t], &in[i], 4);
    __pipeline_commit();
    __syncthreads();
    out[i] = s[63 - t];  // FAULT: race
}
