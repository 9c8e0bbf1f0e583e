// The lanes of each side wait for those of the other, which votes in another way.
// LAUNCH k<<<1, 32>>>(int[32], int[32])
extern "C" __global__ void k(const int* in, int* out) {
    const int t = threadIdx.x;
    int found;
    if (t % 2)
        found = __any_sync(~0u, in[t] > 5);  // FAULT: warp mask
    else
        found = __all_sync(~0u, in[t] < 40);  // FAULT: warp mask
    out[t] = found;
}
