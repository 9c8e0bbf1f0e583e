// largest[g] = the largest of the values with key g, 0 <= g < 64, int32, two ways
//
// Launch: smallest with one block of 64, then one of the others with any grid and block.
// A group without values keeps INT_MIN.
#include <climits>

constexpr unsigned int GROUPS = 64;

extern "C" __global__ void smallest(int* largest) { largest[threadIdx.x] = INT_MIN; }

// One reduction in global memory for each value; lanes with the same key are served in turn.
extern "C" __global__ void global_max(const unsigned int* key, const int* value, int* largest,
                                      unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMax(&largest[key[i]], value[i]);
}

// The block's maxima in shared memory first, then 64 reductions per block.
extern "C" __global__ void shared_max(const unsigned int* key, const int* value, int* largest,
                                      unsigned int n) {
    __shared__ int own[GROUPS];
    for (unsigned int g = threadIdx.x; g < GROUPS; g += blockDim.x) own[g] = INT_MIN;
    __syncthreads();
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMax(&own[key[i]], value[i]);
    __syncthreads();
    for (unsigned int g = threadIdx.x; g < GROUPS; g += blockDim.x) {
        atomicMax(&largest[g], own[g]);
    }
}
