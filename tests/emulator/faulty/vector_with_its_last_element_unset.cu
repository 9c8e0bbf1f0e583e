// The fourth element of each vector is added to the others, but was never set.
// LAUNCH k<<<2, 32>>>(float[64], float[64], float[256])
extern "C" __global__ void k(const float* in, float* out, float4* copies) {
    __shared__ float4 s[32];
    unsigned t = threadIdx.x, i = blockIdx.x * 32 + t;
    s[t].x = in[i];
    s[t].y = in[i] + 1;
    s[t].z = in[i] + 2;
    __syncthreads();
    float4 v = s[31 - t];  // FAULT: uninitialised
    copies[i] = v;
    out[i] = v.x + v.y + v.z + v.w;  // FAULT: uninitialised
}
