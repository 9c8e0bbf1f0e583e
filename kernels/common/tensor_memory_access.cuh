// Copies of whole tiles by the tensor memory accelerator, TMA: `cp.async.bulk.tensor`, compute
// capability 9.0. One thread requests a tile by its position in the matrix; the unit computes the
// addresses, stores the tile in the order that the tensor map specifies, and fills in zeros outside
// the matrix. The tensor map is a kernel's argument, `const __grid_constant__`.
#pragma once

#include <cuda.h>

#include "mbarrier.cuh"

// The tile whose first element is in this row and column; its bytes are reported to `barrier`.
__device__ __forceinline__ void load_tile(void* shared, const CUtensorMap& map, unsigned int row,
                                          unsigned int column, const Barrier& barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];"
        :: "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared))), "l"(&map),
           "r"(column), "r"(row), "r"(address_of(barrier))
        : "memory");
}

// The same for one of several matrices of equal shape.
__device__ __forceinline__ void load_tile(void* shared, const CUtensorMap& map, unsigned int matrix,
                                          unsigned int row, unsigned int column,
                                          const Barrier& barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4}], [%5];"
        :: "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared))), "l"(&map),
           "r"(column), "r"(row), "r"(matrix), "r"(address_of(barrier))
        : "memory");
}

// The first of these, into the shared memory of several blocks of the cluster, whose numbers are
// bits of `ranks`: to the address of `shared` in each, reported to the barrier at the address of
// `barrier` there.
__device__ __forceinline__ void load_tile_to(unsigned short ranks, void* shared,
                                             const CUtensorMap& map, unsigned int row,
                                             unsigned int column, const Barrier& barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
        :: "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared))), "l"(&map),
           "r"(column), "r"(row), "r"(address_of(barrier)), "h"(ranks)
        : "memory");
}

// Makes the threads' stores to shared memory visible to copies after a barrier.
__device__ __forceinline__ void show_to_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The way back: elements of a tile outside the matrix are not written.
__device__ __forceinline__ void store_tile(const CUtensorMap& map, unsigned int row,
                                           unsigned int column, const void* shared) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(&map), "r"(column), "r"(row),
                    "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared)))
                 : "memory");
}

// Makes the stores that this thread has requested since the last group a group.
__device__ __forceinline__ void end_stores() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all groups of this thread have been read from shared memory.
__device__ __forceinline__ void wait_for_reading() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Waits until all of them are written.
__device__ __forceinline__ void wait_for_stores() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
