// The mask names the lower half only, and the upper half reads words that the lower half wrote.
// LAUNCH k<<<1, 32>>>(int[32])
extern "C" __global__ void k(int* out) {
    __shared__ int s[32];
    unsigned t = threadIdx.x;
    if (t < 16) {
        s[t] = t;
        __syncwarp(0x0000ffff);
        s[t + 16] = s[15 - t];
    }
    out[t] = s[t];  // FAULT: race
}
