// Queries of the state space of a generic pointer that a function receives.
// LAUNCH k<<<1, 64>>>(int[64], int[64], 3)
// CHECK (a[1] == [(1, 10, 100)[x % 3] for x in range(64)]).all()
__device__ __noinline__ int space_of(const void* at) {
    return (__isGlobal(at) ? 1 : 0) + (__isShared(at) ? 10 : 0) + (__isLocal(at) ? 100 : 0);
}
extern "C" __global__ void k(int* in, int* out, int three) {
    __shared__ int shared[64];
    int own[8], t = threadIdx.x, which = in[t] % three;
#pragma unroll 1
    for (int n = 0; n < 8; n++) own[n] = t + n;
    shared[t] = t;
    int* at = in + t;
    if (which == 1) at = shared + t;
    if (which == 2) at = own + (t & 7);
    out[t] = space_of(at);
}
