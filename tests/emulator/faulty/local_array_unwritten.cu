// Every second element is set, but any element may be read.
// LAUNCH k<<<1, 32>>>(int[32], int[32])
extern "C" __global__ void k(const int* in, int* out) {
    int a[8];
#pragma unroll 1
    for (int i = 0; i < 8; i += 2) a[i] = in[(threadIdx.x + i) % 32];
    out[threadIdx.x] = a[in[threadIdx.x] % 8];  // FAULT: uninitialised
}
