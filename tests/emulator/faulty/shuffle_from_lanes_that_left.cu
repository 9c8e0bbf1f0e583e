// The last warp has 20 threads, but its sum includes 12 threads that do not exist.
// LAUNCH k<<<2, 52>>>(int[104], int[4])
extern "C" __global__ void k(const int* in, int* out) {
    unsigned t = threadIdx.x;
    int x = in[blockIdx.x * 52 + t];
    for (unsigned d = 16; d > 0; d /= 2) x += __shfl_down_sync(~0u, x, d);  // FAULT: warp mask
    if (t % 32 == 0) out[blockIdx.x * 2 + t / 32] = x;  // OTHER
}
