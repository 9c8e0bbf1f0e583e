// Reads and writes of global memory: pairs that differ in one thing.

// Each thread sums elements of its own row, or of its own column.
__global__ void uncoalesced_load_slow(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (unsigned k = 0; k < n / threads; ++k) sum += in[t * (n / threads) + k];
    out[t] = sum;
}
__global__ void uncoalesced_load_fast(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (unsigned k = 0; k < n / threads; ++k) sum += in[k * threads + t];
    out[t] = sum;
}

// Each thread fills a row of its own, or a column.
__global__ void uncoalesced_store_slow(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float x = in[t];
    for (unsigned k = 0; k < n / threads; ++k) out[t * (n / threads) + k] = x;
}
__global__ void uncoalesced_store_fast(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float x = in[t];
    for (unsigned k = 0; k < n / threads; ++k) out[k * threads + t] = x;
}

// Every warp's 128 bytes begin one element after a sector's edge, or on it.
template <int offset>
__device__ void shifted(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (unsigned i = t; i < n; i += gridDim.x * blockDim.x) sum += in[i + offset];
    out[t] = sum;
}
__global__ void misaligned_load_slow(const float* in, float* out, unsigned n) {
    shifted<1>(in, out, n);
}
__global__ void misaligned_load_fast(const float* in, float* out, unsigned n) {
    shifted<0>(in, out, n);
}

// Each of four blocks reads every element, or a quarter of them.
template <bool everything>
__device__ void partial(const float* in, float* out, unsigned n) {
    unsigned part = everything ? n : n / 4;
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < part; i += blockDim.x)
        sum += in[(blockIdx.x % 4 * part + i) % n];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void redundant_loads_slow(const float* in, float* out, unsigned n) {
    partial<true>(in, out, n);
}
__global__ void redundant_loads_fast(const float* in, float* out, unsigned n) {
    partial<false>(in, out, n);
}

// The same elements by loads of 4 bytes, or of 16.
__global__ void wider_loads_slow(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (unsigned i = t; i < n; i += 4 * threads)
        sum += in[i] + in[i + threads] + in[i + 2 * threads] + in[i + 3 * threads];
    out[t] = sum;
}
__global__ void wider_loads_fast(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (unsigned i = t; i < n / 4; i += threads) {
        float4 x = reinterpret_cast<const float4*>(in)[i];
        sum += x.x + x.y + x.z + x.w;
    }
    out[t] = sum;
}

// Each element is used twice, with all others in between, or at once: the same accesses, and one
// more trip to the device's memory where the cache is smaller than the data.
template <bool at_once>
__device__ void twice(const float* in, float* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const volatile float* x = in;
    float sum = 0.0f;
    for (unsigned k = 0; k < 2 * (n / threads); ++k)
        sum += x[(at_once ? k / 2 : k % (n / threads)) * threads + t];
    out[t] = sum;
}
__global__ void memory_traffic_slow(const float* in, float* out, unsigned n) {
    twice<false>(in, out, n);
}
__global__ void memory_traffic_fast(const float* in, float* out, unsigned n) {
    twice<true>(in, out, n);
}
