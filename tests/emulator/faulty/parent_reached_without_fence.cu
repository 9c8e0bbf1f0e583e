// A tree is summed from its leaves, with no fence between one child's sum and its signal.
// LAUNCH k<<<4, 32>>>(float[256]=1, unsigned[128]=0)
extern "C" __global__ void k(float* sums, unsigned* visits) {
    unsigned node = (128 + blockIdx.x * 32 + threadIdx.x) / 2;
    while (node > 0) {
        if (atomicAdd(&visits[node], 1u) == 0) return;
        const float* child = &sums[2 * node];
        sums[node] = child[0] + child[1];  // FAULT: race
        node /= 2;
    }
}
