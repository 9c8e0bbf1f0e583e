// In place, with a shift: each block overwrites elements that its neighbour still has to read.
// LAUNCH k<<<4, 64>>>(float[257])
extern "C" __global__ void k(float* x) {
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    float next = x[i + 1];  // FAULT: race
    __syncthreads();
    x[i] = next;  // FAULT: race
}
