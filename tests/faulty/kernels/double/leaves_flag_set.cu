// The flag that must be zero after the launch is not.
extern "C" __global__ void run(const float* x, float* y, unsigned int n, unsigned int* flag) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
    if (i == 0) *flag = 1;
}
