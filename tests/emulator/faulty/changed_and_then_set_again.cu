// One thread changes the flag; others then write the same value, but hide no race.
// LAUNCH k<<<3, 32>>>(int[1]=0, int[32])
extern "C" __global__ void k(int* flag, int* out) {
    if (blockIdx.x < 2) {
        if (threadIdx.x == 0) flag[0] = 1;  // FAULT: race
    } else {
        out[threadIdx.x] = flag[0];  // FAULT: race
    }
}
