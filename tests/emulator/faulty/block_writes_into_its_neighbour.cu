// The last thread of a block also fills the first element of the next one.
// LAUNCH k<<<3, 32>>>(int[97])
extern "C" __global__ void k(int* out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    out[i] = i;  // FAULT: race
    if (threadIdx.x == 31) out[i + 1] = -1;  // FAULT: race
}
