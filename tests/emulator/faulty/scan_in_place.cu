// Hillis and Steele's scan with one buffer: neighbours are overwritten while they are read.
// LAUNCH k<<<2, 128>>>(int[256], int[256])
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int s[128];
    unsigned t = threadIdx.x, i = blockIdx.x * 128 + t;
    s[t] = in[i];
    __syncthreads();
    for (unsigned d = 1; d < 128; d *= 2) {
        if (t >= d) s[t] += s[t - d];  // FAULT: race
        __syncthreads();
    }
    out[i] = s[t];
}
