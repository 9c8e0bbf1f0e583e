// volatile keeps the accesses but orders nothing: the value that a block finds is a matter of luck.
// LAUNCH k<<<2, 32>>>(int[1]=0, int[2])
extern "C" __global__ void k(volatile int* data, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0)
        data[0] = 7;  // FAULT: race
    else
        out[1] = data[0];  // FAULT: race
}
