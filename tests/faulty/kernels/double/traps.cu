// Gives up on purpose.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 3) __trap();
    if (i < n) y[i] = 2.0f * x[i];
}
