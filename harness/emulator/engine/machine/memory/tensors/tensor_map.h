// A tensor map: the layout of a tensor in global memory and of a box of it in shared memory.
//
// NVIDIA does not document the 128 bytes that the driver encodes. The emulator uses its own encoding of the arguments
// of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, which `memory/tensor_maps.py` writes.

#pragma once

#include <algorithm>
#include <utility>

#include "machine.h"

namespace machine {

struct TensorMap {
    static constexpr u32 MARK = 0x616d6e74;
    static constexpr int BYTES = 128, MOST_RANK = 5, ATOM = 16, ALIGNMENT = 128, OWN_ALIGNMENT = 64;

    u32 mark, rank;
    u64 address;
    i64 strides[MOST_RANK - 1];  // in bytes, for all dimensions but the innermost
    u32 last[MOST_RANK];         // the highest coordinate in each dimension
    u32 box[MOST_RANK];          // in elements; for im2col: channels and pixels
    u32 steps[MOST_RANK];        // from one loaded element to the next
    i16 lower[3], upper[3];      // the corners of im2col's pixels relative to the tensor's, innermost first
    u32 element;                 // a number of the driver's CUtensorMapDataType
    u8 swizzle, fill, im2col, interleave;

    static TensorMap at(const u8* bytes) {
        TensorMap map;
        static_assert(sizeof map == BYTES);
        std::memcpy(&map, bytes, sizeof map);
        return map;
    }

    int dimensions() const { return static_cast<int>(rank); }
    int element_bytes() const {
        static constexpr int SIZES[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
        return element < sizeof SIZES / sizeof *SIZES ? SIZES[element] : 0;
    }
    // A row consists of elements or, in an interleaved tensor, of slices of 16 or 32 bytes, each with some channels.
    int column_bytes() const { return interleave ? 8 << interleave : element_bytes(); }
    // The dimension along which an interleaved tensor's slices are counted; a box has one slice, whatever its size.
    int slices() const { return interleave ? dimensions() - 2 : 0; }
    bool rounds_to_tf32() const { return element == 11 || element == 12; }
    i64 size(int dimension) const { return i64(last[dimension]) + 1; }
    // Whether the columns of a row are not contiguous in the tensor. Each then counts as a row.
    bool is_spread() const { return interleave && steps[0] > 1; }
    i64 row_bytes() const { return is_spread() ? column_bytes() : i64(box[0]) * column_bytes(); }
    // The stride between rows in shared memory: a row that is shorter than the swizzle's pattern
    // leaves a gap.
    i64 row_pitch() const { return swizzle && !interleave ? swizzle_bytes() : row_bytes(); }
    i64 stride(int dimension) const { return dimension ? strides[dimension - 1] : column_bytes(); }
    i64 counted(int dimension) const {
        if (interleave && dimension == slices()) return 1;
        return (i64(box[dimension]) + steps[dimension] - 1) / steps[dimension];
    }
    i64 rows() const { return lines() * (is_spread() ? counted(0) : 1); }
    i64 lines() const {
        if (im2col) return box[1];
        i64 out = 1;
        for (int d = 1; d < dimensions(); d++) out *= counted(d);
        return out;
    }
    i64 bytes() const { return rows() * row_bytes(); }
    i64 room() const { return rows() * row_pitch(); }  // in shared memory, with gaps

    // Contents that the driver would not encode; `fault_messages/copies.py` has the messages.
    enum Flaw : i64 {
        NONE, NO_MAP, BAD_RANK, BAD_TYPE, BAD_ADDRESS, BAD_STRIDE, BAD_BOX, BAD_STEP, BAD_ROW, BAD_SWIZZLE,
        BAD_INTERLEAVE,
    };
    Flaw flaw() const {
        if (mark != MARK) return NO_MAP;
        if (rank < (im2col || interleave ? 3u : 1u) || rank > MOST_RANK) return BAD_RANK;
        if (!element_bytes()) return BAD_TYPE;
        if (interleave > 2 || (interleave && im2col)) return BAD_INTERLEAVE;
        const i64 aligned = interleave == 2 ? 2 * ATOM : ATOM;
        if (address % aligned) return BAD_ADDRESS;
        for (int d = 1; d < dimensions(); d++)
            if (stride(d) % aligned || stride(d) < 0 || stride(d) >= i64(1) << 40) return BAD_STRIDE;
        for (int d = 0; d < (im2col ? 2 : dimensions()); d++)
            if (!box[d] || box[d] > (im2col && d ? 1024u : 256u)) return BAD_BOX;
        for (int d = 0; d < dimensions(); d++)
            if (!steps[d] || steps[d] > 8) return BAD_STEP;
        if (i64(box[0]) * element_bytes() % ATOM) return BAD_ROW;
        if (swizzle > 3 || (swizzle && !interleave && row_bytes() > swizzle_bytes())) return BAD_SWIZZLE;
        return NONE;
    }

    // Coordinates with which an H100 executes no copy, but stops the kernel
    // (reports/h100/tensor_copies.csv.gz). Those of im2col were not read.
    enum Place : i64 { POSSIBLE, NOT_ALIGNED, NEGATIVE };
    Place place(const i32* at, bool stores) const {
        if (im2col) return POSSIBLE;
        if (!interleave && i64(at[0]) * element_bytes() % ATOM) return NOT_ALIGNED;
        for (int d = 0; stores && d < dimensions(); d++)
            if (at[d] < 0) return NEGATIVE;
        return POSSIBLE;
    }

    // The bytes in a row of the swizzle's pattern; 16 without a swizzle.
    i64 swizzle_bytes() const { return i64(ATOM) << swizzle; }

    // The location of a byte of the box in shared memory. Groups of 16 bytes stay contiguous.
    i64 swizzled(i64 at) const {
        const i64 mask = ((i64(1) << swizzle) - 1) << 4;
        return at ^ (at >> 3 & mask);
    }

    // Calls `row(offset, inside)` for each line of a box along the first dimension; the first coordinate is the same for all. `offset` is the
    // distance of the row's element with coordinate 0 from the tensor's first byte.
    template <class Row>
    void each_row(const i32* at, const i32* offsets, Row row) const {
        if (im2col)
            pixels(at, offsets, row);
        else
            tile(at, row);
    }

    // The elements of a row that are in the tensor: the first one, and the end.
    std::pair<i64, i64> inside(i64 first) const {
        const i64 from = std::max<i64>(0, -first);
        return {from, std::clamp<i64>(size(0) - first, from, std::max<i64>(from, box[0]))};
    }

   private:
    template <class Row>
    void tile(const i32* at, Row row) const {
        i64 index[MOST_RANK] = {};
        for (i64 n = lines(); n > 0; n--) {
            i64 offset = 0;
            bool is_inside = true;
            for (int d = 1; d < dimensions(); d++) {
                const i64 coordinate = at[d] + index[d] * i64(steps[d]);
                is_inside &= coordinate >= 0 && coordinate < size(d);
                offset += coordinate * stride(d);
            }
            row(offset, is_inside);
            for (int d = 1; d < dimensions() && ++index[d] == counted(d); d++) index[d] = 0;
        }
    }

    // A column of pixels: along the width, then the height, then the depth of the corners' box, then in the next
    // image.
    template <class Row>
    void pixels(const i32* at, const i32* offsets, Row row) const {
        i64 place[MOST_RANK];
        for (int d = 1; d < dimensions(); d++) place[d] = at[d];
        for (i64 n = box[1]; n > 0; n--) {
            i64 offset = 0;
            bool is_inside = true;
            for (int d = 1; d < dimensions(); d++) {
                const i64 coordinate = place[d] + (d < dimensions() - 1 ? offsets[d - 1] : 0);
                is_inside &= coordinate >= 0 && coordinate < size(d);
                offset += coordinate * stride(d);
            }
            row(offset, is_inside);
            for (int d = 1; d < dimensions(); d++) {
                place[d] += d < dimensions() - 1 ? i64(steps[d]) : 1;
                if (d == dimensions() - 1 || place[d] < size(d) + upper[d - 1]) break;
                place[d] = lower[d - 1];
            }
        }
    }
};

}  // namespace machine
