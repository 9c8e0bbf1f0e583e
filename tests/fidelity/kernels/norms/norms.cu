// length[i] = √(x² + y² + z²) of vectors stored as x y z x y z …, float32, two ways
//
// Launch: grid ceil_div(n, block); staged takes 12 * block bytes of dynamic shared memory.

// Three loads with a stride of 12 bytes between lanes: each touches all 12 sectors of the warp's
// 384 bytes. __restrict__ makes them ld.global.nc, which is counted like any other load.
extern "C" __global__ void interleaved(const float* __restrict__ xyz, float* __restrict__ length,
                                       unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = xyz[3 * i], y = xyz[3 * i + 1], z = xyz[3 * i + 2];
    length[i] = sqrtf(x * x + y * y + z * z);
}

// The block's floats pass through shared memory in order; a stride of 3 words has no conflicts.
extern "C" __global__ void staged(const float* xyz, float* length, unsigned int n) {
    extern __shared__ float tile[];
    unsigned int first = 3 * blockIdx.x * blockDim.x;
    for (unsigned int j = threadIdx.x; j < 3 * blockDim.x && first + j < 3 * n; j += blockDim.x) {
        tile[j] = xyz[first + j];
    }
    __syncthreads();
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = tile[3 * threadIdx.x], y = tile[3 * threadIdx.x + 1], z = tile[3 * threadIdx.x + 2];
    length[i] = sqrtf(x * x + y * y + z * z);
}
