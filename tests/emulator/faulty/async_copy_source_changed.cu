// The source changes after a barrier, but the copy may not have read it yet.
// LAUNCH k<<<2, 64>>>(float[128], float[128])
#include <cuda_pipeline.h>
extern "C" __global__ void k(float* x, float* out) {
    __shared__ float s[64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    __pipeline_memcpy_async(&s[t], &x[i], 4);  // OTHER
    __pipeline_commit();
    __syncthreads();
    x[blockIdx.x * 64 + 63 - t] = 1;  // FAULT: race
    __pipeline_wait_prior(0);
    __syncthreads();
    out[i] = s[63 - t];
}
