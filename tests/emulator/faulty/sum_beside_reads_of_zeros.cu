// No barrier between the partial sums and the tree, and most sums are 0 as before: only luck hides it.
// LAUNCH k<<<2, 128>>>(int[256]=0, int[2])
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int sums[128];
    int t = threadIdx.x;
    sums[t] = 0;
    __syncthreads();
    sums[t] = in[blockIdx.x * 128 + t];  // FAULT: race
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) sums[t] = max(sums[t], sums[t + half]);  // FAULT: race
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}
