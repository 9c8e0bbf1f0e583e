// A bit field that was never set decides a branch.
// LAUNCH k<<<1, 32>>>(unsigned[32])
struct Flags {
    unsigned kind : 3, mode : 5;
};
extern "C" __global__ void k(unsigned* out) {
    __shared__ Flags shared[32];
    unsigned t = threadIdx.x;
    shared[t].kind = t;  // FAULT: uninitialised
    __syncthreads();
    Flags other = shared[31 - t];
    if (other.mode == 9)  // OTHER
        out[t] = other.kind;
}
