// All but one of the threads set the value that is set already; that one sets a different value.
// LAUNCH k<<<1, 128>>>(int[128])
extern "C" __global__ void k(int* out) {
    __shared__ int nine;
    unsigned t = threadIdx.x;
    if (t == 0) nine = 9;
    __syncthreads();
    if (t >= 64) {
        nine = 9;  // FAULT: race
        if (t == 100) nine = 8;  // FAULT: race
    } else {
        out[t] = nine;  // FAULT: race
    }
}
