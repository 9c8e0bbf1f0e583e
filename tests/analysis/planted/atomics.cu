// How atomics collide: pairs that differ in one thing.

// Each warp adds its elements' sum to the output, or each block does so for all of its warps.
template <bool each_warp>
__device__ void added(const float* in, float* out, unsigned n) {
    __shared__ float sums[8];
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = in[i];
        for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(~0u, x, d);
        if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
        __syncthreads();
        if (each_warp ? threadIdx.x % 32 == 0 : threadIdx.x == 0) {
            float sum = sums[threadIdx.x / 32];
            if (!each_warp) for (int w = 1; w < 8; ++w) sum += sums[w];
            atomicAdd(out, sum);
        }
        __syncthreads();
    }
}
__global__ void global_atomics_slow(const float* in, float* out, unsigned n) {
    added<true>(in, out, n);
}
__global__ void global_atomics_fast(const float* in, float* out, unsigned n) {
    added<false>(in, out, n);
}

// The lanes of a warp add to one counter, or each to one of its own.
template <int counters>
__device__ void counted(const float* in, float* out, unsigned n) {
    unsigned* total = reinterpret_cast<unsigned*>(out);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&total[threadIdx.x % counters], in[i] > 0.0f ? 2u : 1u);
}
__global__ void atomics_on_one_address_slow(const float* in, float* out, unsigned n) {
    counted<1>(in, out, n);
}
__global__ void atomics_on_one_address_fast(const float* in, float* out, unsigned n) {
    counted<8>(in, out, n);
}

// A histogram of a constant in shared memory: one copy for all lanes, or 16 copies.
template <int copies>
__device__ void histogram(const float* in, float* out, unsigned n) {
    __shared__ unsigned bins[16 * 16];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[(in[i] > 1e30f ? 1 : 0) * 16 + threadIdx.x % copies], 1u);
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = bins[threadIdx.x];
}
__global__ void shared_atomics_slow(const float* in, float* out, unsigned n) {
    histogram<1>(in, out, n);
}
__global__ void shared_atomics_fast(const float* in, float* out, unsigned n) {
    histogram<16>(in, out, n);
}
