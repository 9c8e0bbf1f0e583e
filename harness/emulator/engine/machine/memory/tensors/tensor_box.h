// The box that a copy by a tensor map moves: its rows in the tensor, the part outside it, and its reduction.

#pragma once

#include <string>

#include "memory/reductions.h"
#include "tensor_map.h"

namespace machine {

struct BoxRow {
    i64 from;       // offset of its first element from the tensor's first byte
    i64 low, high;  // the part of the row that is in the tensor, in bytes
};

inline std::vector<BoxRow> rows_of(const TensorMap& map, const i32* at, const i32* offsets) {
    std::vector<BoxRow> out;
    out.reserve(map.rows());
    const i64 element = map.element_bytes();
    const auto [low, high] = map.inside(at[0]);
    map.each_row(at, offsets, [&, low = low * element, high = high * element](i64 offset, bool is_inside) {
        out.push_back({offset + at[0] * element, is_inside ? low : 0, is_inside ? high : 0});
    });
    return out;
}

// The widest unit that is not split by the beginning or end of any row.
inline int unit_of_rows(const TensorMap& map, i64 first) {
    const i64 bits = TensorMap::ATOM | first * map.element_bytes() | map.size(0) * map.element_bytes();
    return static_cast<int>(bits & -bits);
}

// Fills the box with what it has outside the tensor: zeros, or NaNs, whose payload is not documented.
inline void fill_outside(const TensorMap& map, std::vector<u8>& bytes) {
    if (!map.fill) return;
    const size_t size = map.element_bytes();
    std::fill(bytes.begin(), bytes.end(), 0xFF);
    for (size_t at = size - 1; at < bytes.size(); at += size) bytes[at] = 0x7F;
}

// Copies the part of the rows that is in the tensor, row by row. tensor: its first byte; null if no part is.
inline void gather_rows(const TensorMap& map, const std::vector<BoxRow>& rows, const u8* tensor,
                        std::vector<u8>& bytes) {
    u8* to = bytes.data();
    for (const BoxRow& row : rows) {
        if (row.low < row.high) std::memcpy(to + row.low, tensor + row.from + row.low, row.high - row.low);
        to += map.row_bytes();
    }
}

// The reduction with a name (such as `add`) for the type of a tensor's elements, or null if there is none.
inline const BulkReduction* reduction_of_elements(const TensorMap& map, const std::string& operation) {
    static const char* const TYPES[] = {"", "", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32"};
    const bool is_signed = map.element == 3 || map.element == 5;
    const bool any_sign = is_signed && operation != "min" && operation != "max";
    const char* const type = any_sign ? map.element == 3 ? "u32" : "u64" : TYPES[map.element];
    return reduction_named("reduce_bulk." + operation + "/" + type);
}

}  // namespace machine
