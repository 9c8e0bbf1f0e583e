// counts[b] = the number of the n values that are b, 0 <= b < 256, uint32, three ways
//
// Launch: zero with one block of 256, then one of the others with any grid and any block.
// With `distinct` = 256 the values are spread over all bins; with 1 all lanes hit the same word,
// which is served lane by lane.

constexpr unsigned int BINS = 256;

extern "C" __global__ void zero(unsigned int* counts) { counts[threadIdx.x] = 0; }

// One reduction (RED) in global memory for each value.
extern "C" __global__ void global_atomics(const unsigned int* values, unsigned int* counts,
                                          unsigned int n) {
    unsigned int step = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        atomicAdd(&counts[values[i]], 1);
    }
}

// One histogram per block in shared memory, added to the whole one last. Adding the constant 1 with
// an unused result is ATOMS.POPC.INC in machine code, which costs what a store costs.
extern "C" __global__ void shared_atomics(const unsigned int* values, unsigned int* counts,
                                          unsigned int n) {
    __shared__ unsigned int own[BINS];
    for (unsigned int b = threadIdx.x; b < BINS; b += blockDim.x) own[b] = 0;
    __syncthreads();
    unsigned int step = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        atomicAdd(&own[values[i]], 1);
    }
    __syncthreads();
    for (unsigned int b = threadIdx.x; b < BINS; b += blockDim.x) atomicAdd(&counts[b], own[b]);
}

// The same with float counters, exact for these small whole numbers in any order. PTX has one
// instruction for it; machine code has no float add on shared memory and loops over a load and a
// compare-and-swap, as often as lanes collide. Its wavefronts are a model.
extern "C" __global__ void shared_float_atomics(const unsigned int* values, unsigned int* counts,
                                                unsigned int n) {
    __shared__ float own[BINS];
    for (unsigned int b = threadIdx.x; b < BINS; b += blockDim.x) own[b] = 0.0f;
    __syncthreads();
    unsigned int step = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        atomicAdd(&own[values[i]], 1.0f);
    }
    __syncthreads();
    for (unsigned int b = threadIdx.x; b < BINS; b += blockDim.x) {
        atomicAdd(&counts[b], static_cast<unsigned int>(own[b]));
    }
}
