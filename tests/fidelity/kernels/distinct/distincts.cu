// table[k] = k if k is among the keys, else 0, 1 <= k < 1024, uint32, four ways
//
// Launch: empty with one block of 1024, then one of the others with at least n threads. The same
// number remains in any order: neither results nor counts depend on it. A compare-and-swap or
// exchange whose result is not read has no reduction form (RED) in machine code, unlike an addition
// or a maximum: it is counted under op_atom.

constexpr unsigned int SLOTS = 1024;

extern "C" __global__ void empty(unsigned int* table) { table[threadIdx.x] = 0; }

// Compare-and-swap with an unused result.
extern "C" __global__ void global_cas(const unsigned int* key, unsigned int* table,
                                      unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicCAS(&table[key[i]], 0, key[i]);
}

// Compare-and-swap whose result is checked: a slot with a different key would be a fault.
extern "C" __global__ void global_cas_checked(const unsigned int* key, unsigned int* table,
                                              unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int own = key[i];  // read once, whoever comes first
    unsigned int was = atomicCAS(&table[own], 0, own);
    if (was != 0 && was != own) table[0] = 1;
}

// An exchange.
extern "C" __global__ void global_exchange(const unsigned int* key, unsigned int* table,
                                           unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicExch(&table[key[i]], key[i]);
}

// One table per block in shared memory, merged by maxima.
extern "C" __global__ void shared_cas(const unsigned int* key, unsigned int* table,
                                      unsigned int n) {
    __shared__ unsigned int own[SLOTS];
    for (unsigned int k = threadIdx.x; k < SLOTS; k += blockDim.x) own[k] = 0;
    __syncthreads();
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicCAS(&own[key[i]], 0, key[i]);
    __syncthreads();
    for (unsigned int k = threadIdx.x; k < SLOTS; k += blockDim.x) {
        if (own[k]) atomicMax(&table[k], own[k]);
    }
}
