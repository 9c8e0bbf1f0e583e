// Honest, and looks like a cheat: it times itself into a buffer of its own, which has room for
// 4,096 blocks.
extern "C" __global__ void run(const float* x, float* y, long long* ticks, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    const long long start = clock64();
    if (i < n) y[i] = 2.0f * x[i];
    if (threadIdx.x == 0 && blockIdx.x < 4096) ticks[blockIdx.x] = clock64() - start;
}
