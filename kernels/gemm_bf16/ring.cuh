// A ring of places in shared memory that the tensor memory accelerator fills with tiles and the
// tensor cores empty: for v3 on.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/tensor_memory_access.cuh"

// How deep a tile is: its rows have 128 bytes, as the swizzle wants.
constexpr unsigned int K = 128 / sizeof(DTYPE);

// M rows of a and N rows of b.
template <unsigned int M, unsigned int N>
struct Tiles {
    unsigned char a[M * 128];
    unsigned char b[N * 128];
};

// A place's barriers: `present` says that its tiles have arrived, `free` that all are done with
// them.
template <unsigned int M, unsigned int N, unsigned int STAGES>
struct Ring {
    Tiles<M, N> tiles[STAGES];
    Barrier present[STAGES];
    Barrier free[STAGES];

    // By one thread; a barrier of the block has to follow.
    __device__ __forceinline__ void init(unsigned int consumers) {
        for (unsigned int i = 0; i < STAGES; i++) {
            present[i].init(1);
            free[i].init(consumers);
        }
        show_barriers();
    }
};

// Where a thread is in the ring; its barriers' phases have this parity.
template <unsigned int STAGES>
struct Place {
    unsigned int index = 0, parity = 0;

    __device__ __forceinline__ void next() {
        if (++index == STAGES) {
            index = 0;
            parity ^= 1;
        }
    }
};
