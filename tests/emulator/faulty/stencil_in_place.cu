// No barrier between reading the neighbours and writing, within one block.
// LAUNCH k<<<1, 64>>>(float[66])
extern "C" __global__ void k(float* x) {
    unsigned i = threadIdx.x + 1;
    float a = x[i - 1], b = x[i + 1], c = x[i];  // OTHER
    x[i] = a + b + c;  // FAULT: race
}
