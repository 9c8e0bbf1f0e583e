// The executed instructions and the number of resident warps: pairs that differ in one thing.

// A thread's lane, or its warp, decides which of two long formulas it computes.
template <int of>
__device__ void chosen(const float* in, float* out, unsigned n) {
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = in[i];
        if (threadIdx.x / of % 2) {
            for (int k = 0; k < 12; ++k) x = sqrtf(x * x + 1.0f);
        } else {
            for (int k = 0; k < 12; ++k) x = __fdividef(1.0f, x * x + 2.0f);
        }
        sum += x;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void divergence_slow(const float* in, float* out, unsigned n) { chosen<1>(in, out, n); }
__global__ void divergence_fast(const float* in, float* out, unsigned n) { chosen<32>(in, out, n); }

// A polynomial of degree 24 for each element, or of degree 8.
template <int degree>
__device__ void polynomial(const float* in, float* out, unsigned n) {
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = in[i], y = 1.0f;
#pragma unroll
        for (int k = 0; k < degree; ++k) y = y * x + k;
        sum += y;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void more_instructions_slow(const float* in, float* out, unsigned n) {
    polynomial<24>(in, out, n);
}
__global__ void more_instructions_fast(const float* in, float* out, unsigned n) {
    polynomial<8>(in, out, n);
}

// 96 sums in registers, with as many registers as they need, or with room for a third of them.
template <int sums>
__device__ __forceinline__ void kept(const float* in, float* out, unsigned n) {
    float sum[sums];
#pragma unroll
    for (int k = 0; k < sums; ++k) sum[k] = in[threadIdx.x + k];
    for (unsigned i = threadIdx.x; i + sums < n; i += sums * blockDim.x)
#pragma unroll
        for (int k = 0; k < sums; ++k) sum[k] = sum[k] * in[i + k] + sum[(k + 7) % sums];
    float total = 0.0f;
#pragma unroll
    for (int k = 0; k < sums; ++k) total += sum[k] * k;
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
__global__ void __launch_bounds__(256, 7) spilled_registers_slow(
    const float* in, float* out, unsigned n) {
    kept<96>(in, out, n);
}
__global__ void __launch_bounds__(256, 1) spilled_registers_fast(
    const float* in, float* out, unsigned n) {
    kept<96>(in, out, n);
}

// The same work with 48 KiB of shared memory per block, mostly unused, or with 1 KiB.
template <int bytes>
__device__ void staged(const float* in, float* out, unsigned n) {
    __shared__ volatile float s[bytes / 4];
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        s[threadIdx.x] = in[i];
        sum += s[threadIdx.x] * 2.0f;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void occupancy_slow(const float* in, float* out, unsigned n) {
    staged<48 * 1024>(in, out, n);
}
__global__ void occupancy_fast(const float* in, float* out, unsigned n) {
    staged<1024>(in, out, n);
}

// A grid-stride loop: only the launch's grid differs.
__global__ void grid_size(const float* in, float* out, unsigned n) {
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// An almost empty launch that could be saved.
__global__ void launch(const float*, float* out, unsigned) { out[0] = 0.0f; }
