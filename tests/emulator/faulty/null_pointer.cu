// An optional output, written without a test for null.
// LAUNCH k<<<1, 32>>>(float[32], null)
extern "C" __global__ void k(const float* in, float* out) {
    out[threadIdx.x] = 2 * in[threadIdx.x];  // FAULT: out of bounds
}
