// Nobody sets the flag.
// LAUNCH k<<<1, 32>>>(unsigned[1]=1, unsigned[32])
extern "C" __global__ void k(volatile unsigned* flag, unsigned* out) {
    while (*flag != 2) {  // FAULT: deadlock
    }
    out[threadIdx.x] = 1;
}
