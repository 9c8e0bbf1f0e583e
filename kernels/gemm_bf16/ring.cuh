// A ring buffer in shared memory that the tensor memory accelerator fills with tiles and the tensor
// cores consume: for v3 to v9.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/tensor_memory_access.cuh"

// The depth of a tile: its rows have 128 bytes, as the swizzle requires.
constexpr unsigned int K = 128 / sizeof(DTYPE);

// M rows of a and N rows of b.
template <unsigned int M, unsigned int N>
struct Tiles {
    unsigned char a[M * 128];
    unsigned char b[N * 128];
};

// A place's barriers: `present` signals that its tiles have arrived, `free` that all are done with
// them.
template <unsigned int M, unsigned int N, unsigned int STAGES>
struct Ring {
    Tiles<M, N> tiles[STAGES];
    Barrier present[STAGES];
    Barrier free[STAGES];

    // Called by one thread; a barrier of the block must follow.
    __device__ __forceinline__ void init(unsigned int consumers) {
        for (unsigned int i = 0; i < STAGES; i++) {
            present[i].init(1);
            free[i].init(consumers);
        }
        show_barriers();
    }
};

// A thread's position in the ring, and the parity of its barriers' phases.
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
