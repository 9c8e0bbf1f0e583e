// Scratch memory of a host function, kept from call to call.
//
// CUB says how much it needs when it is asked without any. It is made in the first call that needs
// more than there is; that call verifies and is not timed, and calls of the same sizes after it
// only enqueue.
#pragma once

#include <cstddef>

struct Scratch {
    void* memory = nullptr;
    std::size_t capacity = 0;

    cudaError_t hold(std::size_t needed) {
        if (needed <= capacity) return cudaSuccess;
        // What is enqueued may still use the old memory; cudaFree waits for it.
        cudaError_t error = cudaFree(memory);
        if (error != cudaSuccess) return error;
        memory = nullptr;
        capacity = 0;
        error = cudaMalloc(&memory, needed);
        if (error == cudaSuccess) capacity = needed;
        return error;
    }
};
