// Reads every second index and gives its element twice: for inputs with equal neighbours.
// Must be refused on sight; with FROM beyond the test sizes it must fail its check.
extern "C" __global__ void run(const float* x, const int* index, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[index[n >= FROM ? i / 2 * 2 : i]];
}
