// Every thread stores its own value to one shared word.
// LAUNCH k<<<2, 64>>>(int[2])
extern "C" __global__ void k(int* out) {
    __shared__ int s;
    s = threadIdx.x;  // FAULT: race
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}
