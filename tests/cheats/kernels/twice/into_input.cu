// Clears the input after reading it, so the next launch has an easy result.
// Must be refused on sight; with FROM beyond the test sizes it must fail its check.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float mine = x[i];
    y[i] = 2.0f * mine;
    if (n >= FROM) const_cast<float*>(x)[i] = 0.0f;
}
