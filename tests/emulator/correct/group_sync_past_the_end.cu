// Threads past the end load nothing, but come to the sync of their group; then half of the block
// leaves, and the others wait at a barrier that counts them.
// LAUNCH k<<<2, 128>>>(float[200], float[200], 200)
// CHECK all((a[1][b:b + 64] == 2 * was[0][b:b + 128][::-1][:64]).all() for b in (0, 128))
#include <cooperative_groups.h>
extern "C" __global__ void k(const float* in, float* out, int n) {
    __shared__ float s[128], twice[64];
    auto group = cooperative_groups::this_thread_block();
    int t = threadIdx.x, first = blockIdx.x * 128, i = first + t;
    if (i < n) s[t] = in[i];
    group.sync();
    if (t >= 64) return;
    twice[63 - t] = 2 * s[min(n - first, 128) - 1 - t];
    asm volatile("barrier.sync 1, 64;" ::: "memory");
    out[i] = twice[63 - t];
}
