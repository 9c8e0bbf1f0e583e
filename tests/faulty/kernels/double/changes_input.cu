// Writes its result to the input as well.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2.0f * x[i];
        const_cast<float*>(x)[i] = y[i];
    }
}
