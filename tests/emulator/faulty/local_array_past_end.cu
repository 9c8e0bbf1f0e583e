// A thread's own array of 8, indexed by a value up to 8.
// LAUNCH k<<<1, 32>>>(int[32], int[32])
extern "C" __global__ void k(const int* in, int* out) {
    int a[8];
    for (int i = 0; i < 8; i++) a[i] = in[(threadIdx.x + i) % 32];
    out[threadIdx.x] = a[in[threadIdx.x] % 9];  // FAULT: out of bounds
}
