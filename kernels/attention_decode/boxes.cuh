// Tiles of keys and values that the tensor memory accelerator copies, and a warp's ring of them:
// for v6 and v7.
#pragma once

#include "common/tensor_memory_access.cuh"
#include "group_fragments.cuh"
#include "parts.cuh"

constexpr unsigned int THREADS = 128, WARPS = THREADS / 32;

// KEYS rows of D numbers, as boxes of 64 columns, whose rows are 128 bytes. The tensor map has a
// swizzle: the eight packs of a row are permuted by its number, so the packs of a column in eight
// neighbouring rows lie in different banks.
template <unsigned int D, unsigned int KEYS>
struct Tile {
    __half box[D / 64][KEYS][64];  // for either type's bits

    __device__ __forceinline__ const __half* at(unsigned int row, unsigned int column) const {
        return &box[column / 64][row][(column / 8 ^ row) % 8 * 8];
    }

    __device__ __forceinline__ void ask(const CUtensorMap& map, unsigned int cache,
                                        unsigned int key, const Barrier& present) {
        for (unsigned int i = 0; i < D / 64; i++) {
            load_tile(box[i], map, cache, key, 64 * i, present);
        }
    }
};

// A block's shared memory.
template <unsigned int D, unsigned int G, unsigned int KEYS, unsigned int STAGES>
struct Rings {
    struct Stage {
        Tile<D, KEYS> k, v;
    };
    union {
        Stage stages[WARPS][STAGES];
        OfWarps<WARPS, G, D> of_warps;  // after all warps' last stage
    };
    Barrier present[WARPS][STAGES];
};

// Attends for the group at q to keys blockIdx.x * part .. of the cache blockIdx.y, and leaves the
// warps' states in of_warps, for all threads.
template <typename T, unsigned int D, unsigned int G, unsigned int KEYS, unsigned int STAGES>
__device__ __forceinline__ void attend_to_boxes(Rings<D, G, KEYS, STAGES>& rings, const T* q,
                                                const CUtensorMap& map_k, const CUtensorMap& map_v,
                                                unsigned int n, unsigned int part) {
    constexpr unsigned int STEP = WARPS * KEYS;  // keys of a block
    const unsigned int warp = threadIdx.x / 32;
    const bool asks = threadIdx.x % 32 == 0;
    auto& stages = rings.stages[warp];
    Barrier* present = rings.present[warp];
    const unsigned int last = min(n, (blockIdx.x + 1) * part);
    const unsigned int first = blockIdx.x * part + warp * KEYS;  // this warp's first tile

    const auto ask = [&](unsigned int step) {
        const unsigned int key = first + step * STEP, i = step % STAGES;
        if (!asks || key >= last) return;
        present[i].arrive_and_expect(sizeof stages[i]);
        stages[i].k.ask(map_k, blockIdx.y, key, present[i]);
        stages[i].v.ask(map_v, blockIdx.y, key, present[i]);
    };
    if (asks) {
        for (unsigned int i = 0; i < STAGES; i++) present[i].init(1);
        show_barriers();
    }
    __syncwarp();
    for (unsigned int step = 0; step < STAGES - 1; step++) ask(step);

    GroupOfQueries<T, D, G, KEYS> queries(q + blockIdx.y * G * D);
    for (unsigned int step = 0; first + step * STEP < last; step++) {
        __syncwarp();  // all lanes are done with the previous step
        ask(step + STAGES - 1);
        present[step % STAGES].wait(step / STAGES % 2);
        const auto& stage = stages[step % STAGES];
        queries.attend(stage.k, stage.v, last - (first + step * STEP));
    }
    __syncthreads();
    queries.put(rings.of_warps);
    __syncthreads();
}
