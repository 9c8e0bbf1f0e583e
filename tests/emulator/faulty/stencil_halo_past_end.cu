// The last thread's right neighbour lies past the array.
// LAUNCH k<<<2, 64>>>(float[128], float[128], 128)
extern "C" __global__ void k(const float* in, float* out, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i > 0 && i < n) out[i] = in[i - 1] + in[i + 1];  // FAULT: out of bounds
}
