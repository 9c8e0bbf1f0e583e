// A long row of floats, halves or bfloat16 as floats in registers: in 16-byte packs wherever it
// starts, and the few elements before the first pack and after the last one by one.
#pragma once

#include <cuda_bf16.h>

#include "common/pack.cuh"
#include "common/row.cuh"

template <typename T>
constexpr unsigned int WIDTH = Pack<T>::width;  // elements in an access of 16 bytes

// Consecutive threads take consecutive packs, and the first threads one single element each: fewer
// than 2 * WIDTH, so one warp suffices.
template <typename T>
struct RowPacks : Row<WIDTH<T>> {
    using Row<WIDTH<T>>::Row;

    __device__ __forceinline__ bool has(unsigned int pack) const { return pack < this->packs; }
    __device__ __forceinline__ bool has_single(unsigned int k) const { return k < this->singles; }

    // A pack of the row, or a substitute if the row has no such pack. Nothing branches, so no load
    // waits for another.
    __device__ __forceinline__ void load(const T* row, unsigned int pack, float (&v)[WIDTH<T>],
                                         float absent = 0.0f) const {
        Pack<T> loaded;
        if (has(pack)) loaded = load_pack(row + this->head, pack);
#pragma unroll
        for (unsigned int k = 0; k < WIDTH<T>; k++) {
            v[k] = has(pack) ? static_cast<float>(loaded.value[k]) : absent;
        }
    }

    __device__ __forceinline__ float load_single(const T* row, unsigned int k,
                                                 float absent = 0.0f) const {
        return has_single(k) ? static_cast<float>(row[this->single(k)]) : absent;
    }

    // The elements of a pack's columns in an array that is aligned to 16 bytes, such as the
    // weights: if the row is not aligned, they straddle two packs of that array.
    __device__ __forceinline__ void load_weights(const T* weights, unsigned int pack,
                                                 float (&v)[WIDTH<T>]) const {
        Pack<T> loaded{};
        if (has(pack)) {
            if (this->head == 0) {
                loaded = load_pack(weights, pack);
            } else {
#pragma unroll
                for (unsigned int k = 0; k < WIDTH<T>; k++) {
                    loaded.value[k] = weights[this->head + pack * WIDTH<T> + k];
                }
            }
        }
#pragma unroll
        for (unsigned int k = 0; k < WIDTH<T>; k++) v[k] = static_cast<float>(loaded.value[k]);
    }

    // The counterparts of the loads: they round to T, and write only the row's elements.
    __device__ __forceinline__ void store(T* row, unsigned int pack,
                                          const float (&v)[WIDTH<T>]) const {
        Pack<T> rounded;
#pragma unroll
        for (unsigned int k = 0; k < WIDTH<T>; k++) rounded.value[k] = static_cast<T>(v[k]);
        if (has(pack)) store_pack(row + this->head, pack, rounded);
    }

    __device__ __forceinline__ void store_single(T* row, unsigned int k, float v) const {
        if (has_single(k)) row[this->single(k)] = static_cast<T>(v);
    }
};
