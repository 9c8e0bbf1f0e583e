// A scan in one pass: a warp of each block looks back at 32 blocks at once until it has their sum.
// LAUNCH k<<<70, 64>>>(int[4480], int[4480], unsigned[140]=0, int[1]=0)
// CHECK (a[1] == np.cumsum(was[0])).all()
extern "C" __global__ void k(const int* in, int* out, volatile unsigned* states, int* ticket) {
    __shared__ int block, before, sums[64];
    unsigned t = threadIdx.x, lane = t % 32;
    if (t == 0) block = atomicAdd(ticket, 1);
    __syncthreads();
    volatile unsigned *flags = states, *values = states + gridDim.x;
    sums[t] = in[block * 64 + t];
    __syncthreads();
    for (unsigned d = 1; d < 64; d *= 2) {
        int left = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += left;
        __syncthreads();
    }
    if (t < 32) {
        if (lane == 0) {
            values[block] = sums[63];
            __threadfence();
            flags[block] = block == 0 ? 2 : 1;
        }
        int sum = 0;
        for (int last = block - 1; last >= 0; last -= 32) {
            int at = last - (int)lane;
            unsigned flag;
            do flag = at >= 0 ? flags[at] : 2;
            while (__any_sync(~0u, flag == 0));
            __threadfence();
            unsigned whole = __ballot_sync(~0u, flag == 2);
            int value = at >= 0 ? (int)values[at] : 0;
            if (whole && lane > __ffs(whole) - 1) value = 0;
            for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(~0u, value, d);
            sum += value;
            if (whole) break;
        }
        if (lane == 0) before = sum;
    }
    __syncthreads();
    out[block * 64 + t] = before + sums[t];
}
