// 0 / 0 at one element.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = i == 7 ? 0.0f / (x[i] - x[i]) : 2.0f * x[i];
}
