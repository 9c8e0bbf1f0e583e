// The thread reads its own copy's data, but has waited only for the previous group.
// LAUNCH k<<<2, 64>>>(float[256], float[128])
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[2][64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[1][t] = 0;
    __pipeline_memcpy_async(&s[0][t], &in[i], 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&s[1][t], &in[i + 128], 4);  // OTHER
    __pipeline_commit();
    __pipeline_wait_prior(1);
    out[i] = s[0][t] + s[1][t];  // FAULT: race
}
