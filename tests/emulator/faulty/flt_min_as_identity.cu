// FLT_MIN is the smallest positive float, not the lowest: the maximum of negative values is wrong.
// No memory fault: only the comparison with a reference finds it.
// LAUNCH k<<<1, 64>>>(float[60]=-1.5, float[1])
// CHECK a[1][0] == was[0].max()
#include <cfloat>
extern "C" __global__ void k(const float* in, float* out) {
    float x = threadIdx.x < 60 ? in[threadIdx.x] : FLT_MIN;
    __shared__ float s[2];
    for (int d = 16; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x == 0) out[0] = fmaxf(s[0], s[1]);
}
