// Only whole blocks of eight set their flag; the last flag decides a branch nevertheless.
// LAUNCH k<<<1, 36>>>(int[36])
extern "C" __global__ void k(int* out) {
    __shared__ int flags[5];
    unsigned t = threadIdx.x;
    if (t < 32) flags[t / 8] = t / 16;
    __syncthreads();
    if (flags[t / 8] == 1) out[t] = 7;  // FAULT: uninitialised
}
