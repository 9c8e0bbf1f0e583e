// The flag that a block waits for is set by a different block, with an atomic of block scope.
// LAUNCH k<<<2, 32>>>(float[2]=0, unsigned[1]=0)
extern "C" __global__ void k(float* data, unsigned* flag) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 7;
        __threadfence();
        atomicExch_block(flag, 1u);  // FAULT: race
    } else {
        while (atomicAdd(flag, 0u) == 0u) {  // FAULT: race
        }
        __threadfence();
        data[1] = data[0];  // FAULT: race
    }
}
