// There is room for the halo, but each thread loads only its own element.
// LAUNCH k<<<4, 64>>>(float[256], float[256])
#define RADIUS 16
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float tile[64 + 2 * RADIUS];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t + RADIUS] = in[i];
    __syncthreads();
    float sum = 0;
    for (int j = 0; j <= 2 * RADIUS; j++) sum += tile[t + j];  // FAULT: uninitialised
    out[i] = sum;
}
