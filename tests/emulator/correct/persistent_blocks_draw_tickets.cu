// Persistent blocks: one thread draws a work item for all, which read it between two barriers.
// LAUNCH k<<<3, 64>>>(unsigned[1]=0, float[640]=1, 10)
// CHECK (a[1] == 3).all()
extern "C" __global__ void k(unsigned* ticket, float* data, unsigned pieces) {
    __shared__ unsigned piece;
    while (true) {
        if (threadIdx.x == 0) piece = atomicAdd(ticket, 1u);
        __syncthreads();
        unsigned mine = piece;
        __syncthreads();
        if (mine >= pieces) return;
        data[mine * 64 + threadIdx.x] += 2;
    }
}
