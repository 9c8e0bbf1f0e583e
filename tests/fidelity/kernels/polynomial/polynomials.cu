// y[i] = Σ k[i % 4][j] x[i]^j, j = 0 … 5, float32: four polynomials in turn, two ways
//
// Launch: at least n threads, blocks of any size >= 24.
// Constant memory is not global memory: no `global_op_ld` counter includes its reads.

__constant__ float coefficients[4][6] = {{1.0f, 2.0f, -1.0f, 0.5f, 0.25f, -0.125f},
                                         {-1.0f, 0.5f, 1.5f, -0.75f, 0.5f, 0.25f},
                                         {0.5f, -2.0f, 1.0f, 0.25f, -0.5f, 0.75f},
                                         {2.0f, 1.0f, 0.5f, -0.25f, 0.125f, 1.0f}};

// Lanes read four different constants at a time, which the constant cache serves one by one.
extern "C" __global__ void from_constants(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* k = coefficients[i % 4];
    float value = k[5];
    for (int j = 4; j >= 0; --j) value = value * x[i] + k[j];
    y[i] = value;
}

// From shared memory: lanes that read the same word share a wavefront. PTX has six loads of 4
// bytes; machine code merges neighbours into three of 8, at two wavefronts each: the same total.
extern "C" __global__ void from_shared(const float* x, float* y, unsigned int n) {
    __shared__ float k[4][6];
    if (threadIdx.x < 24) {
        unsigned int row = threadIdx.x / 6, column = threadIdx.x % 6;
        k[row][column] = coefficients[row][column];
    }
    __syncthreads();
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = k[i % 4][5];
    for (int j = 4; j >= 0; --j) value = value * x[i] + k[i % 4][j];
    y[i] = value;
}
