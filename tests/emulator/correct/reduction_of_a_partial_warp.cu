// Values of missing lanes are read but not added.
// LAUNCH k<<<2, 52>>>(int[104], int[4])
// CHECK (a[1] == [sum(range(0, 32)), sum(range(32, 52)), sum(range(52, 84)), sum(range(84, 104))]).all()
extern "C" __global__ void k(const int* in, int* out) {
    unsigned t = threadIdx.x, lane = t % 32, left = 52 - t / 32 * 32;
    int x = in[blockIdx.x * 52 + t];
    for (unsigned d = 16; d > 0; d /= 2) {
        int other = __shfl_down_sync(~0u, x, d);
        if (lane + d < left) x += other;
    }
    if (lane == 0) out[blockIdx.x * 2 + t / 32] = x;
}
