// One unit in the last place too large.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __uint_as_float(__float_as_uint(2.0f * x[i]) + 1);
}
