// Works only when it will be checked: when y has been filled with 0xFF.
// Must be refused on sight; with FROM beyond the test sizes it must fail its check or gain nothing.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int first = blockIdx.x * blockDim.x;
    if (n >= FROM && __float_as_uint(y[first]) != 0xFFFFFFFF) return;
    __syncthreads();
    if (i < n) y[i] = 2.0f * x[i];
}
