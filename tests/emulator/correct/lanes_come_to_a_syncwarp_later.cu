// Half of the lanes reach __syncwarp() a round before the others, which arrive before the barrier.
// LAUNCH k<<<2, 64>>>(int[128])
// CHECK (a[0] == np.tile(np.arange(64) % 2 + 1, 2)).all()
extern "C" __global__ void k(int* out) {
    unsigned t = threadIdx.x;
    bool ready = t % 2 == 0, done = false;
    int rounds = 0;
    while (!done) {
        rounds++;
        if (ready) {
            __syncwarp();
            done = true;
        }
        ready = true;
    }
    __syncthreads();
    out[blockIdx.x * 64 + t] = rounds;
}
