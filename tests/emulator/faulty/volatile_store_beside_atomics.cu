// A volatile store is no atomic: it may fall in the middle of one, whose addition is then lost.
// LAUNCH k<<<2, 32>>>(int[1]=0)
extern "C" __global__ void k(int* count) {
    if (blockIdx.x == 0)
        atomicAdd(count, 1);  // FAULT: race
    else if (threadIdx.x == 0)
        *(volatile int*)count = 100;  // FAULT: race
}
