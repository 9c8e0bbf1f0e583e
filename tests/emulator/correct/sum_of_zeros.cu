// The same values over and over, with a barrier wherever other threads read them.
// LAUNCH k<<<2, 128>>>(int[256]=0, int[2])
// CHECK (a[1] == 0).all()
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int sums[128];
    int t = threadIdx.x;
    sums[t] = 0;
    __syncthreads();
    sums[t] = in[blockIdx.x * 128 + t];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) sums[t] = max(sums[t], sums[t + half]);
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}
