// c = a b, a is m × k, b is k × n, c is m × n, row-major
//
// Idea: three products on tensor cores keep nearly all bits of a float, A B + A β + α B as in
// common/three_tf32.cuh, and are faster than one on the float units. This is sgemm_tf32/v2 with
// three products instead of one. β is computed in registers, where b goes; a is in shared memory,
// and so α has to be there, too: the warpgroup that requests tiles also computes α. v14 launches
// the same code with tiles of 64 rows, so that small matrices have tiles for all multiprocessors.
//
// Contract: any m >= 1, n and k multiples of 4, and k >= 16 (a product is accurate to 2^-20, which
// a few additions hide); tensor maps of a with boxes of 32 × M elements, of b with boxes of 32 ×
// 32, and a swizzle of 128 bytes; a block of 384 threads; the grid covers c in tiles of M × 128
// with (n, m) as its (x, y); STAGES >= 3. 128 * (STAGES * (M + 128) + 2 * M) + 8 * STAGES + 32
// bytes of dynamic shared memory. Compute capability 9.0.
//
// From: Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing
// the FP32 theoretical peak performance" (2022).
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 2.99× v12.
#include "common/tensor_memory_access.cuh"
#include "common/three_tf32.cuh"
#include "common/warpgroup.cuh"
#include "sgemm_tf32/transposed_products.cuh"

constexpr unsigned int N = 128, K = 32;  // a block's tile is M × N, and goes K along at a step
constexpr unsigned int CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1), REMAINDERS = 2;

template <unsigned int M, unsigned int STAGES>
struct Memory {
    unsigned char a[STAGES][M * 128];
    unsigned char b[STAGES][N * 128];
    unsigned char low_a[REMAINDERS][M * 128];  // α
    Barrier present[STAGES];                   // a and b have arrived
    Barrier split[REMAINDERS];                 // low_a is written
    Barrier done[REMAINDERS];                  // the products of a step in its place are complete

    // By one thread.
    __device__ __forceinline__ void ask_for(const CUtensorMap& map_a, const CUtensorMap& map_b,
                                            unsigned int step) {
        const unsigned int i = step % STAGES;
        present[i].arrive_and_expect(sizeof a[i] + sizeof b[i]);
        load_tile(a[i], map_a, blockIdx.y * M, step * K, present[i]);
        load_columns(b[i], map_b, step * K, blockIdx.x * N, N, present[i]);
    }
};

template <unsigned int M, unsigned int STAGES>
__global__ void __launch_bounds__(THREADS)
    sgemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
          float* c, unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    auto& memory = *reinterpret_cast<Memory<M, STAGES>*>(bytes);
    const unsigned int steps = (k + K - 1) / K, group = threadIdx.x / 128;
    const unsigned int thread = threadIdx.x % 128;
    if (threadIdx.x == 0) {
        for (Barrier& each : memory.present) each.init(1);
        for (Barrier& each : memory.split) each.init(128);
        for (Barrier& each : memory.done) each.init(CONSUMERS);
        show_barriers();
    }
    __syncthreads();

    if (group == CONSUMERS) {  // asks for tiles, and splits those of a
        give_registers_back<40>();
        constexpr unsigned int AHEAD = STAGES - 2;
        for (unsigned int step = 0; step < AHEAD && step < steps && thread == 0; step++) {
            memory.ask_for(map_a, map_b, step);
        }
        for (unsigned int step = 0; step < steps; step++) {
            // The slots of this step's α, and of the requested tiles, held the data multiplied two
            // steps ago.
            const unsigned int i = step % REMAINDERS;
            memory.done[i].wait(step / REMAINDERS % 2 ^ 1);
            if (thread == 0 && step + AHEAD < steps) memory.ask_for(map_a, map_b, step + AHEAD);
            memory.present[step % STAGES].wait(step / STAGES % 2);
            const auto* from = reinterpret_cast<const float4*>(memory.a[step % STAGES]);
            auto* to = reinterpret_cast<float4*>(memory.low_a[i]);
#pragma unroll 4
            for (unsigned int j = thread; j < M * K / 4; j += 128) {
                const float4 x = from[j];
                to[j] = make_float4(low_bits(x.x), low_bits(x.y), low_bits(x.z), low_bits(x.w));
            }
            show_to_tensor_cores();
            memory.split[i].arrive();
        }
        return;
    }

    take_registers<232>();
    float sums[M / 2] = {};
    for (unsigned int step = 0; step < steps; step++) {
        const unsigned int i = step % REMAINDERS;
        memory.present[step % STAGES].wait(step / STAGES % 2);
        float words[4][4], low_words[4][4];
        load_words(words, memory.b[step % STAGES] + group * 64 * 128);
#pragma unroll
        for (unsigned int j = 0; j < 16; j++) {
            low_words[j / 4][j % 4] = low_bits(words[j / 4][j % 4]);
        }
        const unsigned long long a = describe(memory.a[step % STAGES]);
        begin_products();
#pragma unroll
        for (unsigned int j = 0; j < 4; j++) {
            multiply_tf32(sums, words[j], a + j * NEXT_32_BYTES);
            multiply_tf32(sums, low_words[j], a + j * NEXT_32_BYTES);
        }
        memory.split[i].wait(step / REMAINDERS % 2);
#pragma unroll
        for (unsigned int j = 0; j < 4; j++) {
            multiply_tf32(sums, words[j], describe(memory.low_a[i]) + j * NEXT_32_BYTES);
        }
        end_products();
        wait_for_products<0>();
        // One thread arrives for the whole warpgroup: a wgmma is one operation.
        if (thread == 0) memory.done[i].arrive();
    }
    store_transposed(c, m, n, blockIdx.y * M, blockIdx.x * N + group * 64, sums);
}
