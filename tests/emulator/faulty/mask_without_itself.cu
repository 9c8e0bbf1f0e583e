// Lanes of the upper half use the mask of the lower half.
// LAUNCH k<<<2, 64>>>(int[128], int[128])
extern "C" __global__ void k(const int* in, int* out) {
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    int x = in[i];
    for (int d = 8; d > 0; d /= 2) x += __shfl_xor_sync(0x0000ffffu, x, d);  // FAULT: warp mask
    out[i] = x;
}
