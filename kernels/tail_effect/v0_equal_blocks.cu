// output[i] = y after `rounds` times y = y / 2 + input[i], from y = input[i], float32
//
// Idea: as many equal blocks as the data needs. The launch gives each SM all the shared memory of one
// block, so that exactly one runs there at a time, and one block per SM is a wave. All blocks of a
// wave end together, and the next wave begins. If the last one is a single block, one SM works and
// all others wait for it: the time is a staircase over the number of blocks, with a step at every
// multiple of the number of SMs. The more waves there are, the less the last one matters.
//
// The arithmetic is a chain of `rounds` dependent multiply-adds per element, enough that the SMs
// and not memory determine the time. (If memory does, a half-empty wave has more of it for each
// block, and the staircase is blurred.)
//
// Contract: any 1 <= n <= 2^31, blocks that cover n with 32 elements per thread. Any dynamic shared
// memory; none is used.
//
// From: Julien Demouth, "CUDA Pro Tip: Minimize the Tail Effect" (NVIDIA developer blog, 2014).
//
// Measured: H200, rounds = 256, n = 34,635,776: 446 µs ± 0.13 %.
extern "C" __global__ void __launch_bounds__(1024)
chains(const float* input, float* output, unsigned int n, unsigned int rounds) {
    const unsigned int first = blockIdx.x * (32 * blockDim.x) + threadIdx.x;
    for (unsigned int k = 0; k < 32; k++) {
        const unsigned int i = first + k * blockDim.x;
        if (i < n) {
            const float x = input[i];
            float y = x;
            for (unsigned int round = 0; round < rounds; round++) y = fmaf(y, 0.5f, x);
            output[i] = y;
        }
    }
}
