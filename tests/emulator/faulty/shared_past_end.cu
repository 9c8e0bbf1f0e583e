// The block has more threads than the array has elements.
// LAUNCH k<<<2, 96>>>(float[192])
extern "C" __global__ void k(float* out) {
    __shared__ float s[64];
    s[threadIdx.x] = 1.0f;  // FAULT: out of bounds
    __syncthreads();
    out[blockIdx.x * 96 + threadIdx.x] = s[95 - threadIdx.x];
}
