// The box that a tensor-map copy moves: its rows in the tensor, the part outside it, and its
// reduction.

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
    const i64 column = map.column_bytes();
    if (map.is_spread()) {
        map.each_row(at, offsets, [&](i64 offset, bool is_inside) {
            for (i64 n = 0, x = at[0]; n < map.counted(0); n++, x += map.steps[0])
                out.push_back({offset + x * column, 0, is_inside && x >= 0 && x < map.size(0) ? column : 0});
        });
        return out;
    }
    const auto [low, high] = map.inside(at[0]);
    map.each_row(at, offsets, [&, low = low * column, high = high * column](i64 offset, bool is_inside) {
        out.push_back({offset + at[0] * column, is_inside ? low : 0, is_inside ? high : 0});
    });
    return out;
}

// The widest unit that is not split by the beginning or end of any row.
inline int unit_of_rows(const TensorMap& map, i64 first) {
    const i64 bits = TensorMap::ATOM | first * map.column_bytes() | map.size(0) * map.column_bytes();
    return static_cast<int>(bits & -bits);
}

// Fills the part of the box outside the tensor with zeros, or with 0x7FF7 repeated, which is a NaN
// of every type.
inline void fill_outside(const TensorMap& map, std::vector<u8>& bytes) {
    if (!map.fill) return;
    for (size_t at = 0; at < bytes.size(); at += 2) bytes[at] = 0xF7, bytes[at + 1] = 0x7F;
}

// Rounds floats to the nearest tf32 number, ties to even.
inline void round_to_tf32(u8* bytes, i64 size) {
    for (i64 at = 0; at < size; at += 4) {
        u32 bits;
        std::memcpy(&bits, bytes + at, sizeof bits);
        const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
        bits = is_nan ? 0x7FFFE000 : (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000;
        std::memcpy(bytes + at, &bits, sizeof bits);
    }
}

// Copies the part of the rows that is in the tensor, row by row. tensor: its first byte; null if no
// part of the rows is in it.
inline void gather_rows(const TensorMap& map, const std::vector<BoxRow>& rows, const u8* tensor,
                        std::vector<u8>& bytes) {
    u8* to = bytes.data();
    for (const BoxRow& row : rows) {
        if (row.low < row.high) {
            std::memcpy(to + row.low, tensor + row.from + row.low, row.high - row.low);
            if (map.rounds_to_tf32()) round_to_tf32(to + row.low, row.high - row.low);
        }
        to += map.row_bytes();
    }
}

// The reduction with a name (such as `add`) for the type of a tensor's elements, or null if there is none.
inline const BulkReduction* reduction_of_elements(const TensorMap& map, const std::string& operation) {
    static const char* const TYPES[] = {"", "", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16",
                                        "f32.ftz", "f32", "f32.ftz"};
    const bool is_signed = map.element == 3 || map.element == 5;
    const bool any_sign = is_signed && operation != "min" && operation != "max";
    const char* const type = any_sign ? map.element == 3 ? "u32" : "u64" : TYPES[map.element];
    return reduction_named("reduce_bulk." + operation + "/" + type);
}

}  // namespace machine
