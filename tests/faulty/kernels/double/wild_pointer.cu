// Writes far outside every buffer.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i + (1ull << 40)] = 2.0f * x[i];
}
