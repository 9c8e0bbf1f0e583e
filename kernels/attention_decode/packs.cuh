// A lane's work on its 16 bytes of a row, for v3 and v4. A row is shared by as many lanes as it has
// packs, and a warp takes several rows at a time.
#pragma once

#include "attended.cuh"
#include "common/all_reduce.cuh"
#include "common/pack.cuh"

constexpr unsigned int THREADS = 256, WARPS = THREADS / 32;

template <typename T, unsigned int D, unsigned int G>
class PackOfQueries {
    static constexpr unsigned int WIDTH = Pack<T>::width;

    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float queries[G][WIDTH];
    Attended<WIDTH> attended[G];

public:
    static constexpr unsigned int LANES = D / WIDTH;  // per row
    static constexpr unsigned int ROWS = 32 / LANES;  // per warp
    static_assert(LANES <= 32 && 32 % LANES == 0, "a warp has whole rows");

    // For the G queries at q.
    __device__ __forceinline__ explicit PackOfQueries(const T* q) {
#pragma unroll
        for (unsigned int g = 0; g < G; g++) {
            const Pack<T> pack = load_pack(q + g * D, lane % LANES);
#pragma unroll
            for (unsigned int i = 0; i < WIDTH; i++) {
                queries[g][i] = static_cast<float>(pack.value[i]) * scale_of_scores(D);
            }
        }
    }

    // Rows k and v of this lane's key, if it exists. All lanes call this.
    __device__ __forceinline__ void attend(const Pack<T>& k, const Pack<T>& v, bool is_there) {
        float of_key[WIDTH], value[WIDTH];
#pragma unroll
        for (unsigned int i = 0; i < WIDTH; i++) {
            of_key[i] = static_cast<float>(k.value[i]);
            value[i] = static_cast<float>(v.value[i]);
        }
#pragma unroll
        for (unsigned int g = 0; g < G; g++) {
            float score = 0.0f;
#pragma unroll
            for (unsigned int i = 0; i < WIDTH; i++) score += queries[g][i] * of_key[i];
#pragma unroll
            for (unsigned int bit = LANES / 2; bit > 0; bit /= 2) {
                score += __shfl_xor_sync(0xffffffffu, score, bit);
            }
            attended[g].add(is_there ? score : -INFINITY, value);
        }
    }

    // Merges the rows of the warp. A barrier of the block must follow.
    __device__ __forceinline__ void put(OfWarps<WARPS, G, D>& of_warps) {
#pragma unroll
        for (unsigned int g = 0; g < G; g++) {
#pragma unroll
            for (unsigned int bit = LANES; bit < 32; bit *= 2) attended[g].join(bit);
        }
        // After all shuffles: between them, nvcc would duplicate the following ones, for lanes
        // below LANES and for others, which would have to reconverge at each.
        if (lane >= LANES) return;
#pragma unroll
        for (unsigned int g = 0; g < G; g++) {
            of_warps.template put<1>(g, warp, lane * WIDTH, attended[g]);
        }
    }
};
