// Kernels right before and right after a timed launch, outside its events: they put the inputs into
// the launch's state, and check whether its results still change after its end.

// A number of an input, or of a result; `bytes` is 1, 2, 4 or 8, and `at` is a multiple of it.
struct Place {
    void* at;
    unsigned long long bytes;
};

// Writes each position's value in one of two states: values[state][position]. grid and block any.
extern "C" __global__ void set_state(const Place* places, const unsigned long long* values,
                                     unsigned int state, unsigned int count) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned long long value = values[1ull * state * count + i];
    void* const at = places[i].at;
    switch (places[i].bytes) {
        case 1: *static_cast<unsigned char*>(at) = static_cast<unsigned char>(value); break;
        case 2: *static_cast<unsigned short*>(at) = static_cast<unsigned short>(value); break;
        case 4: *static_cast<unsigned int*>(at) = static_cast<unsigned int>(value); break;
        default: *static_cast<unsigned long long*>(at) = value;
    }
}

__device__ __forceinline__ unsigned long long value_at(const Place place) {
    // volatile: values that another stream writes in the meantime are read from memory.
    switch (place.bytes) {
        case 1: return *static_cast<const volatile unsigned char*>(place.at);
        case 2: return *static_cast<const volatile unsigned short*>(place.at);
        case 4: return *static_cast<const volatile unsigned int*>(place.at);
        default: return *static_cast<const volatile unsigned long long*>(place.at);
    }
}

// Stores the contents of some positions of the results. It is enqueued right after a launch's end,
// and takes a single block: unfinished work has no time to catch up. grid 1, block any.
extern "C" __global__ void keep_sample(const Place* places, unsigned long long* kept,
                                       unsigned int count) {
    for (unsigned int i = threadIdx.x; i < count; i += blockDim.x) kept[i] = value_at(places[i]);
}

// Counts in *changed the positions that differ from the stored contents, when the device is idle.
// *changed is zero before the launch. grid 1, block any.
extern "C" __global__ void compare_sample(const Place* places, const unsigned long long* kept,
                                          unsigned int count, unsigned int* changed) {
    for (unsigned int i = threadIdx.x; i < count; i += blockDim.x) {
        if (kept[i] != value_at(places[i])) atomicAdd(changed, 1u);
    }
}
