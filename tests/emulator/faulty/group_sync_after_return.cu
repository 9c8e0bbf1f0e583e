// Threads past the end leave before the sync of a group that is their whole block.
// LAUNCH k<<<2, 64>>>(float[100], float[100], 100)
#include <cooperative_groups.h>
extern "C" __global__ void k(const float* in, float* out, int n) {
    __shared__ float s[64];
    auto group = cooperative_groups::this_thread_block();
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (i >= n) return;
    s[t] = in[i];
    group.sync();  // FAULT: divergent barrier
    out[i] = s[t / 2];
}
