// A double at an odd multiple of four bytes of dynamic shared memory.
// LAUNCH k<<<1, 32, 512>>>(double[32])
extern "C" __global__ void k(double* out) {
    extern __shared__ int s[];
    double* d = reinterpret_cast<double*>(s + 33);
    s[threadIdx.x] = threadIdx.x;
    d[threadIdx.x] = 1.0;  // FAULT: misaligned
    out[threadIdx.x] = d[threadIdx.x] + s[threadIdx.x];
}
