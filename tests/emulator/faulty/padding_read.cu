// Rows are padded by one word, and the sum runs over the padding.
// LAUNCH k<<<2, 32>>>(float[2048], float[64])
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[32][33];
    unsigned t = threadIdx.x;
    for (int y = 0; y < 32; y++) s[y][t] = in[blockIdx.x * 1024 + y * 32 + t];
    __syncthreads();
    float sum = 0;
    for (int x = 0; x < 33; x++) sum += s[t][x];  // FAULT: uninitialised
    out[blockIdx.x * 32 + t] = sum;
}
