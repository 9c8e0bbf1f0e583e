// A block whose first element of y is already correct assumes that the others are, too.
// Must be refused on sight; with FROM beyond the test sizes it must gain nothing.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int first = blockIdx.x * blockDim.x;
    if (n >= FROM && y[first] == 2.0f * x[first]) return;
    __syncthreads();
    if (i < n) y[i] = 2.0f * x[i];
}
