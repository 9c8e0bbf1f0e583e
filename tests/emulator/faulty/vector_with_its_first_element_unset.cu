// Nothing precedes the element that was never set, so it is not padding.
// LAUNCH k<<<2, 32>>>(float[64], float[256])
extern "C" __global__ void k(const float* in, float4* out) {
    __shared__ float4 s[32];
    unsigned t = threadIdx.x, i = blockIdx.x * 32 + t;
    s[t].y = in[i] + 1;
    s[t].z = in[i] + 2;
    s[t].w = in[i] + 3;
    __syncthreads();
    out[i] = s[31 - t];  // FAULT: uninitialised
}
