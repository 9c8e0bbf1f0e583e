// All blocks count into one histogram, with atomics whose scope is only their own block.
// LAUNCH k<<<4, 64>>>(int[256], int[8]=0)
extern "C" __global__ void k(const int* in, int* bins) {
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    atomicAdd_block(&bins[in[i] % 8], 1);  // FAULT: race
}
