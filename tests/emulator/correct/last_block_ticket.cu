// threadFenceReduction: all threads store, fence, and after a barrier one thread draws a ticket.
// LAUNCH k<<<5, 64>>>(float[320], float[320], unsigned[1]=0, float[1])
// CHECK a[3][0] == was[0].sum() and a[2][0] == 0
extern "C" __global__ void k(const float* in, float* stored, unsigned* ticket, float* out) {
    __shared__ bool last;
    __shared__ float s[64];
    unsigned t = threadIdx.x;
    stored[blockIdx.x * 64 + t] = in[blockIdx.x * 64 + t];
    __threadfence();
    __syncthreads();
    if (t == 0) last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    float sum = 0;
    for (unsigned i = t; i < 64 * gridDim.x; i += 64) sum += stored[i];
    s[t] = sum;
    __syncthreads();
    for (unsigned k = 32; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) *out = s[0];
}
