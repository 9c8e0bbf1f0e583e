// Persistent blocks: the next number is drawn while some threads still read the last one.
// LAUNCH k<<<3, 64>>>(unsigned[1]=0, float[640]=1, 10)
extern "C" __global__ void k(unsigned* ticket, float* data, unsigned pieces) {
    __shared__ unsigned piece;
    while (true) {
        if (threadIdx.x == 0) piece = atomicAdd(ticket, 1u);  // FAULT: race
        __syncthreads();
        unsigned mine = piece;  // OTHER
        if (mine >= pieces) return;
        data[mine * 64 + threadIdx.x] += 2;
    }
}
