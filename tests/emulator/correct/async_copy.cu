// An asynchronous copy: each thread waits for its own, and then the block meets at a barrier.
// LAUNCH k<<<2, 64>>>(float[128], float[128])
// CHECK (a[1] == was[0].reshape(2, 64)[:, ::-1].reshape(-1)).all()
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    __pipeline_memcpy_async(&s[t], &in[i], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[i] = s[63 - t];
}
