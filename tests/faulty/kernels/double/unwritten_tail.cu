// The last element is left out.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) y[i] = 2.0f * x[i];
}
