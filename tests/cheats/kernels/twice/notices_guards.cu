// Looks after the end of y for guard bytes, and does its work only if there are any.
// Must be refused on sight; with FROM beyond the test sizes it must fail its check or gain nothing.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= FROM && ((volatile unsigned int*)y)[n] == 0) return;
    if (i < n) y[i] = 2.0f * x[i];
}
