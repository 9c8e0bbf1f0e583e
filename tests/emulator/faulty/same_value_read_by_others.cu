// One warp sets the value, and both read it: the other warp may come first.
// LAUNCH k<<<3, 64>>>(int[192])
extern "C" __global__ void k(int* out) {
    __shared__ int five;
    if (threadIdx.x == 0) five = 4;
    __syncthreads();
    if (threadIdx.x >= 32) five = 5;  // FAULT: race
    asm volatile("" ::: "memory");
    out[blockIdx.x * 64 + threadIdx.x] = five;  // FAULT: race
}
