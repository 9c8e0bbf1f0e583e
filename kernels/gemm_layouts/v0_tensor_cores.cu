// c = a b, sums in float32; a is m × k and b is k × n, each by rows or, if A_TURNED or B_TURNED, by
// columns; c is m × n by rows
//
// Idea: a block of 8 warps computes a tile of 128 × 128 from tiles of a and b that are 32 deep. They
// lie in shared memory as they do in memory, and ldmatrix brings them into registers. The products
// want neighbours along the depth in a register: ldmatrix.trans turns a tile whose depth runs down.
//
// Contract: any m, n, k >= 1; a block of 256 threads; the grid covers c in tiles of 128 × 128 with
// (n, m) as its (x, y). VECTOR: what is contiguous in a and b, rows or columns, is a multiple of 8. At
// most 20 KiB of static shared memory. Compute capability 8.0.
//
// From: "ldmatrix" in the PTX manual; gemm_bf16/v0_tensor_cores.cu.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192, a_by = 1, b_by = 1: bfloat16 9.72 ms ± 0.24 %, float16 9.76 ms ± 0.25 %.
#include "gemm_bf16/fragments.cuh"

// Four matrices of 8 × 8 as load_matrices() has them, each transposed.
__device__ __forceinline__ void load_transposed(unsigned int (&to)[4], const DTYPE* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(row)))
                 : "memory");
}

// 128 rows (or columns) of a factor, K deep. DOWN: the depth runs down; a line has the rows beside each
// other.
template <bool DOWN>
struct Tile {
    static constexpr unsigned int LINES = DOWN ? K : 128, LENGTH = DOWN ? 128 : K;
    // Padded by 16 bytes, so eight neighbouring lines lie in different banks.
    DTYPE lines[LINES][LENGTH + 8];

    // From [first][depth] of a factor with `rows` rows of `k` elements; zeros outside of it.
    template <bool VECTOR>
    __device__ __forceinline__ void load(const DTYPE* factor, unsigned int rows, unsigned int k,
                                         unsigned int first, unsigned int depth) {
        const unsigned int height = DOWN ? k : rows, width = DOWN ? rows : k;
#pragma unroll
        for (unsigned int i = threadIdx.x; i < LINES * LENGTH / 8; i += THREADS) {
            const unsigned int line = i / (LENGTH / 8), column = i % (LENGTH / 8) * 8;
            const unsigned int y = (DOWN ? depth : first) + line, x = (DOWN ? first : depth) + column;
            const DTYPE* at = factor + static_cast<std::uint64_t>(y) * width + x;
            union {
                uint4 all;
                DTYPE each[8];
            } eight = {make_uint4(0, 0, 0, 0)};
            if (VECTOR) {
                if (y < height && x < width) eight.all = *reinterpret_cast<const uint4*>(at);
            } else {
#pragma unroll
                for (unsigned int j = 0; j < 8; j++) {
                    if (y < height && x + j < width) eight.each[j] = at[j];
                }
            }
            *reinterpret_cast<uint4*>(&lines[line][column]) = eight.all;
        }
    }

    // The lane's eight elements of one of four matrices of 8 × 8: of the rows from `row` on and the
    // depth from `depth` on.
    __device__ __forceinline__ void read(unsigned int (&to)[4], unsigned int row,
                                         unsigned int depth) const {
        const unsigned int within = threadIdx.x % 8;
        if (DOWN) {
            load_transposed(to, &lines[depth + within][row]);
        } else {
            load_matrices(to, &lines[row + within][depth]);
        }
    }
};

template <bool A_TURNED, bool B_TURNED, bool VECTOR>
__global__ void __launch_bounds__(THREADS) gemm(const DTYPE* a, const DTYPE* b, DTYPE* c,
                                                unsigned int m, unsigned int n, unsigned int k) {
    __shared__ __align__(16) Tile<A_TURNED> tile_a;
    __shared__ __align__(16) Tile<!B_TURNED> tile_b;  // its rows are the columns of b
    const unsigned int lane = threadIdx.x % 32, matrix = lane / 8;
    // The warp's part of the tile: the eight warps form two rows of four.
    const unsigned int first_row = threadIdx.x / 128 * 64, first_column = threadIdx.x / 32 % 4 * 32;
    float sums[4][4][4] = {};  // [of 64 rows][of 32 columns][of a lane]
    for (unsigned int first = 0; first < k; first += K) {
        tile_a.template load<VECTOR>(a, m, k, blockIdx.y * M, first);
        tile_b.template load<VECTOR>(b, n, k, blockIdx.x * N, first);
        __syncthreads();
#pragma unroll
        for (unsigned int l = 0; l < K; l += 16) {
            unsigned int of_a[4][4], of_b[2][4];
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
                tile_a.read(of_a[i], first_row + 16 * i + matrix % 2 * 8, l + matrix / 2 * 8);
            }
#pragma unroll
            for (unsigned int j = 0; j < 2; j++) {
                tile_b.read(of_b[j], first_column + 16 * j + matrix / 2 * 8, l + matrix % 2 * 8);
            }
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
                for (unsigned int j = 0; j < 4; j++) {
                    multiply(sums[i][j], of_a[i], of_b[j / 2][j % 2 * 2],
                             of_b[j / 2][j % 2 * 2 + 1]);
                }
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
        const unsigned int row = blockIdx.y * M + first_row + 16 * i + lane / 4;
#pragma unroll
        for (unsigned int j = 0; j < 4; j++) {
            const unsigned int column = blockIdx.x * N + first_column + 8 * j + lane % 4 * 2;
            store_pair(c, m, n, row, column, sums[i][j][0], sums[i][j][1]);
            store_pair(c, m, n, row + 8, column, sums[i][j][2], sums[i][j][3]);
        }
    }
}
