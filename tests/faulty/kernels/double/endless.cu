// `step >= 1` where `step >>= 1` was meant: the loop never ends.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned int step = 8; step > 0; step >= 1) {
        if (i < n) ((volatile float*)y)[i] = 2.0f * x[i];
    }
}
