// Copies from global to shared memory that bypass the registers, and that no thread waits for until
// wait_for_all_but(): `cp.async`, since compute capability 8.0.
#pragma once

// 16 bytes of which the first `valid` are read and the others become zero; both ends lie on a
// 16-byte boundary. With valid = 0 nothing is read, and `from` need only be some address.
__device__ __forceinline__ void copy_16(void* shared, const void* from, unsigned int valid) {
    const unsigned int to = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(__cvta_generic_to_global(from)), "r"(valid) : "memory");
}

// The same for 4 bytes, which the other instruction, through the L1 cache, can do.
__device__ __forceinline__ void copy_4(void* shared, const void* from, unsigned int valid) {
    const unsigned int to = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(to), "l"(__cvta_generic_to_global(from)), "r"(valid) : "memory");
}

// Makes the copies that this thread has issued since its last commit a group.
__device__ __forceinline__ void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until all but the newest `groups` of this thread's groups have arrived. For the copies of
// other threads, a barrier must follow.
template <int groups>
__device__ __forceinline__ void wait_for_all_but() {
    asm volatile("cp.async.wait_group %0;" :: "n"(groups) : "memory");
}

// Four neighbours in a row of a row-major matrix, as load_four() in common/matrix.cuh loads them.
template <bool VECTOR>
__device__ __forceinline__ void copy_four(float* shared, const float* matrix, unsigned int rows,
                                          unsigned int columns, unsigned int row,
                                          unsigned int column) {
    const float* at = matrix + row * columns + column;
    if (VECTOR) {
        const bool inside = row < rows && column < columns;
        copy_16(shared, inside ? at : matrix, inside ? 16 : 0);
    } else {
#pragma unroll
        for (unsigned int i = 0; i < 4; i++) {
            const bool inside = row < rows && column + i < columns;
            copy_4(shared + i, inside ? at + i : matrix, inside ? 4 : 0);
        }
    }
}
