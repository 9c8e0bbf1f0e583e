// Copies of whole tiles by the tensor memory accelerator, TMA: `cp.async.bulk.tensor`, compute
// capability 9.0. One thread asks for a tile by its place in the matrix; the unit works out the
// addresses, stores the tile in the order that the tensor map names, and fills what lies outside of
// the matrix with zeros. The tensor map is a kernel's argument, `const __grid_constant__`.
#pragma once

#include <cuda.h>

#include "mbarrier.cuh"

// The tile whose first element lies in this row and column; `barrier` hears of its bytes.
__device__ __forceinline__ void load_tile(void* shared, const CUtensorMap& map, unsigned int row,
                                          unsigned int column, const Barrier& barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];"
        :: "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared))), "l"(&map),
           "r"(column), "r"(row), "r"(address_of(barrier))
        : "memory");
}

// The same of a matrix among several of equal shape.
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

// The first into the shared memory of several blocks of the cluster, whose numbers are bits of
// `ranks`: to the place of `shared` in each, and the barrier in the place of `barrier` hears of it
// there.
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

// What threads stored to shared memory is shown to the copies that follow a barrier.
__device__ __forceinline__ void show_to_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The way back: what of a tile lies outside of the matrix is not written.
__device__ __forceinline__ void store_tile(const CUtensorMap& map, unsigned int row,
                                           unsigned int column, const void* shared) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(&map), "r"(column), "r"(row),
                    "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared)))
                 : "memory");
}

// The stores that this thread has asked for since become a group.
__device__ __forceinline__ void end_stores() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until all groups of this thread have been read from shared memory.
__device__ __forceinline__ void wait_for_reading() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Until all of them are written.
__device__ __forceinline__ void wait_for_stores() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
