// A row of floats, halves or bfloat16 by 16-byte accesses where rows allow them, as floats in registers.
#pragma once

#include <cuda_bf16.h>

#include "common/pack.cuh"
#include "common/row.cuh"

template <typename T>
constexpr unsigned int WIDTH = Pack<T>::width;  // elements in an access of 16 bytes

// `threads` threads share a row of `cols` elements in tiles of threads * WIDTH, WIDTH for each. If
// cols is a multiple of WIDTH then every row starts on 16 bytes, and a thread's elements are
// neighbours; if not, they lie `threads` apart, so that consecutive threads still take consecutive
// elements. Either way the same elements of x, of weights and of the output belong to one thread.
template <typename T>
struct RowTile {
    unsigned int cols, first, thread, threads;

    __device__ __forceinline__ bool by_packs() const { return cols % WIDTH<T> == 0; }

    // The column of the first of the thread's elements, and how far apart they are.
    __device__ __forceinline__ unsigned int column() const {
        return first + (by_packs() ? thread * WIDTH<T> : thread);
    }
    __device__ __forceinline__ unsigned int apart() const { return by_packs() ? 1 : threads; }

    __device__ __forceinline__ bool has(unsigned int k) const {
        return column() + k * apart() < cols;
    }

    // The thread's elements of a row; zeros where the row is at its end.
    __device__ __forceinline__ void load(const T* row, float (&v)[WIDTH<T>]) const {
        if (by_packs()) {
            Pack<T> pack{};
            if (column() < cols) pack = *reinterpret_cast<const Pack<T>*>(row + column());
#pragma unroll
            for (unsigned int k = 0; k < WIDTH<T>; k++) v[k] = static_cast<float>(pack.value[k]);
        } else {
#pragma unroll
            for (unsigned int k = 0; k < WIDTH<T>; k++) {
                v[k] = has(k) ? static_cast<float>(row[column() + k * apart()]) : 0.0f;
            }
        }
    }

    // The counterpart: rounds to T, and writes what lies within the row.
    __device__ __forceinline__ void store(T* row, const float (&v)[WIDTH<T>]) const {
        if (by_packs()) {
            Pack<T> pack;
#pragma unroll
            for (unsigned int k = 0; k < WIDTH<T>; k++) pack.value[k] = static_cast<T>(v[k]);
            if (column() < cols) *reinterpret_cast<Pack<T>*>(row + column()) = pack;
        } else {
#pragma unroll
            for (unsigned int k = 0; k < WIDTH<T>; k++) {
                if (has(k)) row[column() + k * apart()] = static_cast<T>(v[k]);
            }
        }
    }
};
