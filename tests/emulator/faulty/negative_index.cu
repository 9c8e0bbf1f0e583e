// A difference of unsigned numbers would have wrapped; as signed it is negative.
// LAUNCH k<<<1, 32>>>(float[32], float[32])
extern "C" __global__ void k(const float* in, float* out) {
    int t = threadIdx.x;
    out[t] = in[t - 1];  // FAULT: out of bounds
}
