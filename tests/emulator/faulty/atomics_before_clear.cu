// Counting starts while thread 0 clears the counter.
// LAUNCH k<<<2, 96>>>(int[2])
extern "C" __global__ void k(int* out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;  // OTHER
    atomicAdd(&count, 2);  // FAULT: race
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = count;
}
