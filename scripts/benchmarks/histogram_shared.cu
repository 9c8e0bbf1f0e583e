// bins[v] += 1 for every byte v: counted in shared memory with atomics, then added to the whole.
//   histogram: grid any, block 256, args [values, bins, n]
extern "C" __global__ void histogram(const unsigned char* values, unsigned int* bins,
                                     unsigned int n) {
    __shared__ unsigned int counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
        atomicAdd(&counts[values[i]], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
}
