// Honest, and looks like a cheat: it leaves most of x unread, as it may.
extern "C" __global__ void run(const float* x, const int* index, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[index[i]];
}
