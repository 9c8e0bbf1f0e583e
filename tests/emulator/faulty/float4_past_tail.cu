// 101 floats are 25 float4 and one more: the 26th load runs past the end.
// LAUNCH k<<<1, 32>>>(float[101], float[32], 101)
extern "C" __global__ void k(const float* in, float* out, int n) {
    int i = threadIdx.x;
    if (4 * i < n) {
        float4 v = reinterpret_cast<const float4*>(in)[i];  // FAULT: out of bounds
        out[i] = v.x + v.y + v.z + v.w;
    }
}
