// most[i] = the count of the most frequent of x[i]'s 8 hexadecimal digits, uint32, four ways
//
// Launch: at least n threads. Each thread keeps 16 counters that it indexes by a digit, which is
// not possible in registers: in_local keeps them in local memory, the others in dynamic shared
// memory (64 * block bytes; shared_bytes 16 * block). Local memory has its own hardware counters
// and is in none of those for global memory.

// `count` is anything that can be indexed by a digit.
template <typename Count>
__device__ __forceinline__ unsigned int most_of(unsigned int x, Count count) {
#pragma unroll 1
    for (int d = 0; d < 16; ++d) count(d) = 0;
#pragma unroll 1
    for (int j = 0; j < 8; ++j) ++count(x >> 4 * j & 15);
    unsigned int most = 0;
#pragma unroll 1
    for (int d = 0; d < 16; ++d) most = max(most, static_cast<unsigned int>(count(d)));
    return most;
}

extern "C" __global__ void in_local(const unsigned int* x, unsigned int* most, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int own[16];
    if (i < n) most[i] = most_of(x[i], [&](int d) -> unsigned int& { return own[d]; });
}

// Counter d of all threads side by side: a lane's bank is its own, whatever the digit.
extern "C" __global__ void shared_columns(const unsigned int* x, unsigned int* most,
                                          unsigned int n) {
    extern __shared__ unsigned int words[];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        most[i] = most_of(
            x[i], [&](int d) -> unsigned int& { return words[d * blockDim.x + threadIdx.x]; });
    }
}

// A thread's 16 counters side by side: lanes share two groups of 16 banks.
extern "C" __global__ void shared_rows(const unsigned int* x, unsigned int* most, unsigned int n) {
    extern __shared__ unsigned int words[];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        most[i] =
            most_of(x[i], [&](int d) -> unsigned int& { return words[16 * threadIdx.x + d]; });
    }
}

// Columns of bytes: four lanes' counters share a word, and with the same digit a wavefront.
extern "C" __global__ void shared_bytes(const unsigned int* x, unsigned int* most,
                                        unsigned int n) {
    extern __shared__ unsigned char counters[];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        most[i] = most_of(
            x[i], [&](int d) -> unsigned char& { return counters[d * blockDim.x + threadIdx.x]; });
    }
}
