// Honest: the baseline.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float before = x[i > 0 ? i - 1 : 0], after = x[i + 1 < n ? i + 1 : i];
    y[i] = 0.25f * before + 0.5f * x[i] + 0.25f * after;
}
