// Each block reverses its elements through shared memory, and waits at an mbarrier in between.
//   reverse: block 256, grid n / 256, args [in, out]
#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init

extern "C" __global__ void reverse(const float* in, float* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> filled;
    __shared__ float tile[256];
    if (threadIdx.x == 0) init(&filled, blockDim.x);
    __syncthreads();
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[i];
    filled.arrive_and_wait();
    out[i] = tile[255 - threadIdx.x];
}
