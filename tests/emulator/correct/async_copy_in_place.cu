// Copied elements are overwritten, by other threads, after their copy has been waited for.
// LAUNCH k<<<2, 64>>>(float[128])
// CHECK (a[0].reshape(2, 64) == was[0].reshape(2, 64)[:, ::-1] + 1).all()
#include <cuda_pipeline.h>
extern "C" __global__ void k(float* x) {
    __shared__ float s[64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    __pipeline_memcpy_async(&s[63 - t], &x[blockIdx.x * 64 + 63 - t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    x[i] = s[63 - t] + 1;
}
