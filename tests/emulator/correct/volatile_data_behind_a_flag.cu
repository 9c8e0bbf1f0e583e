// Data and flag are volatile. Fences on both sides of the flag order the data; the flag itself may
// be accessed in any order, even by the thread that resets it.
// LAUNCH k<<<1, 64>>>(int[1]=0, int[1]=0, int[4]=0)
// CHECK (a[2] == [0, 7, 8, 9]).all() and a[1][0] == 0
extern "C" __global__ void k(volatile int* data, volatile int* flag, int* out) {
    if (threadIdx.x % 32 != 0) return;
    for (int round = 1; round < 4; round++) {
        if (threadIdx.x == 0) {
            data[0] = 6 + round;
            __threadfence();
            *flag = round;
            while (*flag != 0) {
            }
            __threadfence();
        } else {
            while (*flag != round) {
            }
            __threadfence();
            out[round] = data[0];
            __threadfence();
            *flag = 0;
        }
    }
}
