// sums[i]: each thread adds up words of a tile of 32 x 32 in shared memory, again and again.
//   of_columns: lane i reads row i, so that a warp's 32 words lie in one bank
//   of_one_word: all lanes read the same word
//   grid any, block 256, args [values, sums, rounds]; values: a tile for each block
__device__ void load_tile(float (*tile)[32], const float* values) {
    for (unsigned int i = threadIdx.x; i < 1024; i += blockDim.x)
        tile[i / 32][i % 32] = values[blockIdx.x * 1024 + i];
    __syncthreads();
}

extern "C" __global__ void of_columns(const float* values, float* sums, unsigned int rounds) {
    __shared__ float tile[32][32];
    load_tile(tile, values);
    float sum = 0;
    for (unsigned int round = 0; round < rounds; ++round)
        for (unsigned int k = 0; k < 32; ++k) sum += tile[threadIdx.x % 32][(k + round) % 32];
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void of_one_word(const float* values, float* sums, unsigned int rounds) {
    __shared__ float tile[32][32];
    load_tile(tile, values);
    float sum = 0;
    for (unsigned int round = 0; round < rounds; ++round)
        for (unsigned int k = 0; k < 32; ++k) sum += tile[round % 32][k];
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
