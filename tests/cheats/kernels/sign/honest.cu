// Honest: the baseline.
extern "C" __global__ void run(const int* x, int* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (x[i] > 0) - (x[i] < 0);
}
