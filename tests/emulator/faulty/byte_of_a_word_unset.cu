// Three of the four bytes of a sum are set, one by one, and all four are added.
// LAUNCH k<<<1, 32>>>(unsigned[32])
extern "C" __global__ void k(unsigned* out) {
    __shared__ unsigned sums[32];
    unsigned t = threadIdx.x;
    unsigned char* bytes = (unsigned char*)&sums[t];
    for (int n = 0; n < 3; n++) bytes[n] = t;
    __syncthreads();
    out[t] = sums[31 - t] + 1;  // FAULT: uninitialised
}
