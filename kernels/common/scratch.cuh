// Scratch memory of a host function, kept from call to call.
//
// Called without memory, CUB returns the size that it needs. The first call that needs more than
// there is allocates it; that call verifies and is not timed, and later calls with the same sizes
// only enqueue.
#pragma once

#include <cstddef>

struct Scratch {
    void* memory = nullptr;
    std::size_t capacity = 0;

    cudaError_t hold(std::size_t needed) {
        if (needed <= capacity) return cudaSuccess;
        // Enqueued work may still use the old memory; cudaFree waits for it.
        cudaError_t error = cudaFree(memory);
        if (error != cudaSuccess) return error;
        memory = nullptr;
        capacity = 0;
        error = cudaMalloc(&memory, needed);
        if (error == cudaSuccess) capacity = needed;
        return error;
    }
};
