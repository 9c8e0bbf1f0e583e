// Four neighbours in a row of a row-major matrix of any size, inside and outside of it.
#pragma once

// Each row of a matrix starts on a 16-byte boundary only if the number of columns is a multiple of
// 4. VECTOR says that it is: then a group of four columns, at a multiple of 4, is all inside or all
// outside, and moves in one instruction. Otherwise it is four words, each with its own guard.

// matrix[row][column .. column + 4), with zeros outside the matrix.
template <bool VECTOR>
__device__ __forceinline__ float4 load_four(const float* matrix, unsigned int rows,
                                            unsigned int columns, unsigned int row,
                                            unsigned int column) {
    float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row >= rows) return four;
    const float* at = matrix + row * columns + column;
    if (VECTOR) {
        if (column < columns) four = *reinterpret_cast<const float4*>(at);
    } else {
        if (column < columns) four.x = at[0];
        if (column + 1 < columns) four.y = at[1];
        if (column + 2 < columns) four.z = at[2];
        if (column + 3 < columns) four.w = at[3];
    }
    return four;
}

// matrix[row][column .. column + 4) = four, if that is inside.
template <bool VECTOR>
__device__ __forceinline__ void store_four(float* matrix, unsigned int rows, unsigned int columns,
                                           unsigned int row, unsigned int column, float4 four) {
    if (row >= rows) return;
    float* at = matrix + row * columns + column;
    if (VECTOR) {
        if (column < columns) *reinterpret_cast<float4*>(at) = four;
    } else {
        if (column < columns) at[0] = four.x;
        if (column + 1 < columns) at[1] = four.y;
        if (column + 2 < columns) at[2] = four.z;
        if (column + 3 < columns) at[3] = four.w;
    }
}

// to[0 .. 4) = from[0 .. 4), where `from` lies on a 16-byte boundary and `to` is a thread's own
// array, in registers.
__device__ __forceinline__ void fetch_four(float* to, const float* from) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}
