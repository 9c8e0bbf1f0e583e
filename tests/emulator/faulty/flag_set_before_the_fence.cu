// Each block passes its total on, but the fence comes after the flag instead of before it.
// LAUNCH k<<<6, 32>>>(float[6]=0, unsigned[6]=0)
extern "C" __global__ void k(float* totals, unsigned* ready) {
    unsigned b = blockIdx.x;
    float before = 0;
    if (threadIdx.x == 0) {
        if (b > 0) {
            while (atomicAdd(&ready[b - 1], 0u) == 0) {
            }
            __threadfence();
            before = totals[b - 1];  // FAULT: race
        }
        totals[b] = before + blockDim.x;  // OTHER
        atomicExch(&ready[b], 1u);
        __threadfence();
    }
}
