// output = input transposed; input is rows × cols, output cols × rows, both row by row, float32
//
// Idea: whole tiles are brought and taken away by the tensor memory accelerator, and blocks stay:
// while a tile is turned, the next ones are on their way and the last one leaves. Threads only read
// patches of 4 × 4 elements from shared memory, turn them in registers, and store them there again.
//
// Contract: rows and cols are multiples of 4. Tensor maps of input with boxes of 32 × ROWS elements,
// of output with boxes of 32 × COLS, and a swizzle of 128 bytes; any number of blocks of 256
// threads, each with ROWS * COLS * 4 * (STAGES + 2) + 8 * STAGES bytes of dynamic shared memory.
// Compute capability 9.0.
//
// From: CUTLASS's persistent kernels for sm_90.
//
// Measured: not yet.
#include "common/tensor_memory_access.cuh"
#include "common/warpgroup.cuh"

constexpr unsigned int THREADS = 256, BOX = 32;  // elements of a box's row, which are 128 bytes

// Four rows of four elements of a box, from this row and this unit of 16 bytes on.
__device__ __forceinline__ float4& four_of(unsigned char* box, unsigned int row,
                                           unsigned int unit) {
    return *reinterpret_cast<float4*>(box + swizzled(row, unit));
}

// Until all but the newest group of this thread's stores have been read from shared memory.
__device__ __forceinline__ void wait_for_reading_but_one() {
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
}

template <unsigned int ROWS, unsigned int COLS, unsigned int STAGES>
struct Memory {
    unsigned char in[STAGES][COLS / BOX][ROWS * 128];
    unsigned char out[2][ROWS / BOX][COLS * 128];
    Barrier present[STAGES];
};

template <unsigned int ROWS, unsigned int COLS, unsigned int STAGES>
__global__ void __launch_bounds__(THREADS)
    transpose(const __grid_constant__ CUtensorMap input, const __grid_constant__ CUtensorMap output,
              unsigned int rows, unsigned int cols) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    auto& memory = *reinterpret_cast<Memory<ROWS, COLS, STAGES>*>(bytes);
    const unsigned int across = (cols + COLS - 1) / COLS;
    const unsigned int tiles = across * ((rows + ROWS - 1) / ROWS);
    const bool asks = threadIdx.x == 0;

    // Asks for the tile that this block turns as its n-th one.
    const auto load = [&](unsigned int n) {
        const unsigned int tile = blockIdx.x + n * gridDim.x;
        if (tile >= tiles) return;
        Barrier& present = memory.present[n % STAGES];
        present.arrive_and_expect(sizeof memory.in[0]);
        for (unsigned int i = 0; i < COLS / BOX; i++) {
            load_tile(memory.in[n % STAGES][i], input, tile / across * ROWS,
                      tile % across * COLS + i * BOX, present);
        }
    };

    if (asks) {
        for (Barrier& present : memory.present) present.init(1);
        show_barriers();
    }
    __syncthreads();
    for (unsigned int n = 0; asks && n < STAGES; n++) load(n);
    for (unsigned int n = 0; blockIdx.x + n * gridDim.x < tiles; n++) {
        auto& in = memory.in[n % STAGES];
        auto& out = memory.out[n % 2];
        memory.present[n % STAGES].wait(n / STAGES % 2);
        if (asks) wait_for_reading_but_one();
        __syncthreads();
#pragma unroll
        for (unsigned int patch = threadIdx.x; patch < ROWS * COLS / 16; patch += THREADS) {
            // A warp's patches lie on diagonals of a square of 8 × 8, so that eight lanes find all
            // banks when they read rows of one side, and when they write rows of the other.
            const unsigned int square = patch / 64, x = patch % 8, y = (patch / 8 + patch) % 8;
            const unsigned int i = square % (COLS / BOX), j = square / (COLS / BOX);
            float4 v[4];
#pragma unroll
            for (unsigned int r = 0; r < 4; r++) v[r] = four_of(in[i], j * BOX + 4 * y + r, x);
            const unsigned int row = i * BOX + 4 * x;
            four_of(out[j], row, y) = make_float4(v[0].x, v[1].x, v[2].x, v[3].x);
            four_of(out[j], row + 1, y) = make_float4(v[0].y, v[1].y, v[2].y, v[3].y);
            four_of(out[j], row + 2, y) = make_float4(v[0].z, v[1].z, v[2].z, v[3].z);
            four_of(out[j], row + 3, y) = make_float4(v[0].w, v[1].w, v[2].w, v[3].w);
        }
        show_to_copies();
        __syncthreads();
        if (asks) {
            const unsigned int tile = blockIdx.x + n * gridDim.x;
            for (unsigned int j = 0; j < ROWS / BOX; j++) {
                store_tile(output, tile % across * COLS, tile / across * ROWS + j * BOX, out[j]);
            }
            end_stores();
            load(n + STAGES);
        }
    }
    if (asks) wait_for_stores();
}
