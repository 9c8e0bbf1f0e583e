// Each half names itself, and reads from the other half.
// LAUNCH k<<<1, 32>>>(int[32], int[32])
extern "C" __global__ void k(const int* in, int* out) {
    unsigned t = threadIdx.x, mask = t < 16 ? 0x0000ffffu : 0xffff0000u;
    out[t] = __shfl_xor_sync(mask, in[t], 16);  // FAULT: warp mask
}
