// Each warp reverses segments of 32 in its own shared memory, and synchronises before and after.
// LAUNCH k<<<2, 64>>>(float[512], float[512])
// CHECK (a[1].reshape(16, 32) == was[0].reshape(16, 32)[:, ::-1]).all()
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float tiles[2][32];
    float* tile = tiles[threadIdx.x / 32];
    unsigned lane = threadIdx.x % 32, warp = (blockIdx.x * 64 + threadIdx.x) / 32;
    for (unsigned piece = warp; piece < 16; piece += 4) {
        tile[lane] = in[piece * 32 + lane];
        __syncwarp();
        out[piece * 32 + lane] = tile[31 - lane];
        __syncwarp();
    }
}
