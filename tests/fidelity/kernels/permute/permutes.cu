// y[i] = x[source[i]], `source` a random permutation and `target` its inverse; float32, two ways
//
// Launch: at least n threads in blocks of any size. One of the two sides of a random permutation
// is always scattered: nearly every lane touches a different sector.

// Scattered loads, stores in order.
extern "C" __global__ void gather(const float* x, const unsigned int* source, float* y,
                                  unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[source[i]];
}

// Loads in order, scattered stores.
extern "C" __global__ void scatter(const float* x, const unsigned int* target, float* y,
                                   unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[target[i]] = x[i];
}
