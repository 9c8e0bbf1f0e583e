// One barrier a round is enough only if a round does not write what the previous round read.
// LAUNCH k<<<2, 64>>>(float[512], float[128])
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[2][64];
    unsigned t = threadIdx.x, first = blockIdx.x * 256;
    float sum = 0;
    s[0][t] = in[first + t];
    for (int k = 1; k < 4; k++) {
        s[k & 1][t] = in[first + 64 * k + t];  // FAULT: race
        sum += s[1 - (k & 1)][63 - t];  // FAULT: race
    }
    __syncthreads();
    out[blockIdx.x * 64 + t] = sum + s[1][63 - t];
}
