// A short row of floats, halves or bfloat16 as floats in the registers of a few lanes, one access
// per lane. Long rows have common/row_packs.cuh.
#pragma once

#include "common/row_packs.cuh"

// `lanes` lanes share a row of `cols` elements, WIDTH each. If cols is a multiple of WIDTH, every
// row is aligned to 16 bytes, and a lane's elements are neighbours; if not, they are `lanes` apart,
// so consecutive lanes still take consecutive elements. Either way the same elements of x, of
// weights and of the output belong to one lane.
template <typename T>
struct RowTile {
    unsigned int cols, lane, lanes;

    __device__ __forceinline__ bool by_packs() const { return cols % WIDTH<T> == 0; }

    // The column of the lane's first element, and the stride between its elements.
    __device__ __forceinline__ unsigned int column() const {
        return by_packs() ? lane * WIDTH<T> : lane;
    }
    __device__ __forceinline__ unsigned int apart() const { return by_packs() ? 1 : lanes; }

    __device__ __forceinline__ bool has(unsigned int k) const {
        return column() + k * apart() < cols;
    }

    // The lane's elements of a row; zeros past the row's end.
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

    // The counterpart: rounds to T, and writes only elements within the row.
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
