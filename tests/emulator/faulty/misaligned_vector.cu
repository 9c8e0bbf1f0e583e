// A float4 from an address that is one float off.
// LAUNCH k<<<1, 16>>>(float[128], float[16])
extern "C" __global__ void k(const float* in, float* out) {
    float4 v = *reinterpret_cast<const float4*>(in + 1 + 4 * threadIdx.x);  // FAULT: misaligned
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
