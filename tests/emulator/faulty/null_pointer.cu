// An optional output, written without asking whether it is there.
// LAUNCH k<<<1, 32>>>(float[32], null)
extern "C" __global__ void k(const float* in, float* out) {
    out[threadIdx.x] = 2 * in[threadIdx.x];  // FAULT: out of bounds
}
