// Two volatile stores to a word that no thread waits for: which value remains is a matter of luck.
// LAUNCH k<<<2, 32>>>(int[1]=0)
extern "C" __global__ void k(volatile int* data) {
    if (threadIdx.x == 0) data[0] = 5 + blockIdx.x;  // FAULT: race
}
