// Uses of shared memory: pairs that differ in one thing.

// A column of a 32 × 32 tile is read: without the padding all 32 lanes use one bank.
template <int pitch>
__device__ void column(const float* in, float* out, unsigned n) {
    __shared__ float tile[32 * pitch];
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        tile[threadIdx.x / 32 * pitch + threadIdx.x % 32] = in[i];
        __syncthreads();
        sum += tile[threadIdx.x % 32 * pitch + threadIdx.x / 32];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void bank_conflict_slow(const float* in, float* out, unsigned n) {
    column<32>(in, out, n);
}
__global__ void bank_conflict_fast(const float* in, float* out, unsigned n) {
    column<33>(in, out, n);
}

// A value is fetched from shared memory in every iteration of a loop, or once into a register.
__global__ void shared_accesses_slow(const float* in, float* out, unsigned n) {
    __shared__ float s[256];
    volatile float* v = s;
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) sum += in[i] * v[threadIdx.x];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void shared_accesses_fast(const float* in, float* out, unsigned n) {
    __shared__ float s[256];
    volatile float* v = s;
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float sum = 0.0f, x = v[threadIdx.x];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) sum += in[i] * x;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Neighbours exchange a value through shared memory, with unneeded barriers, or without.
template <int needless>
__device__ void exchanged(const float* in, float* out, unsigned n) {
    __shared__ float s[256];
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        s[threadIdx.x] = in[i];
        __syncthreads();
        sum += s[threadIdx.x ^ 1];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < needless; ++k) __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void extra_barrier_slow(const float* in, float* out, unsigned n) {
    exchanged<3>(in, out, n);
}
__global__ void extra_barrier_fast(const float* in, float* out, unsigned n) {
    exchanged<0>(in, out, n);
}
