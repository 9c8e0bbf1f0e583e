// The count is read while other warps still add to it.
// LAUNCH k<<<2, 96>>>(int[192], int[192])
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int count;
    unsigned t = threadIdx.x, i = blockIdx.x * 96 + t;
    if (t == 0) count = 0;
    __syncthreads();
    if (in[i] % 3 == 0) atomicAdd(&count, 1);  // OTHER
    out[i] = count;  // FAULT: race
}
