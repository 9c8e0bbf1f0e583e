// Leaves a mark 4 KiB past its output, for the next launch.
// Must be refused on sight; with FROM beyond the test sizes it must fail its check.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
    if (n >= FROM && i == 0) y[n + 1024] = 1.0f;
}
