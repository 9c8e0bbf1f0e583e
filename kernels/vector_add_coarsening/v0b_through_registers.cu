// output[i] = a[i] + b[i], float32
//
// Idea: stage the operands in local variables ("privatised") before they are used. It tests a piece
// of advice: an operand is in a register before it is added in any case, so the compiler generates
// the same instructions for this and for v0. Compare the two. In v3 they differ.
//
// Contract: any 1 <= n <= 2^31, blocks that cover n with one element per thread, no shared memory.
//
// From: GPU MODE, lecture 8, "CUDA performance checklist", privatisation.
//
// Measured: H200, n = 2²⁸: 0.9999× v0 (the same within 1 %).
extern "C" __global__ void add(const float* a, const float* b, float* output, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float x = a[i];
        const float y = b[i];
        output[i] = x + y;
    }
}
