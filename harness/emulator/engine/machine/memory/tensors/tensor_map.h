// A tensor map: the layout of a tensor in global memory and of a box of it in shared memory.
//
// NVIDIA does not document the 128 bytes that the driver encodes. `memory/tensor_maps.py` writes them and says where
// their fields come from. The bytes of im2col maps are the emulator's own.

#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "machine.h"

namespace machine {

struct TensorMap {
    static constexpr int BYTES = 128, MOST_RANK = 5, ATOM = 16, ALIGNMENT = 128, OWN_ALIGNMENT = 64;

    u32 rank;
    u64 address;
    bool is_map;  // whether no bit is set that a driver was never seen to set
    i64 strides[MOST_RANK - 1];  // in bytes, for all dimensions but the innermost
    u32 last[MOST_RANK];         // the highest coordinate in each dimension
    u32 box[MOST_RANK];          // in elements; for im2col: channels and pixels
    u32 steps[MOST_RANK];        // from one loaded element to the next
    i16 lower[3], upper[3];      // the corners of im2col's pixels relative to the tensor's, innermost first
    u32 element;                 // a number of the driver's CUtensorMapDataType
    u8 swizzle, fill, im2col, interleave;

    static TensorMap at(const u8* bytes) {
        std::array<u32, BYTES / 4> words;
        std::memcpy(words.data(), bytes, BYTES);
        const auto bits = [&](int word, int low, int count) { return words[word] >> low & ((1u << count) - 1); };
        TensorMap map{};
        map.address = u64(words[1]) << 32 | words[0];
        map.rank = bits(MODES, 4, 3) + 1;
        static constexpr u8 ELEMENTS[] = {0, 1, 2, 3, 4, 5, 6, 7, F32_FTZ, 8, 9};
        const u32 type = bits(MODES, 7, 4);
        map.element = type < sizeof ELEMENTS ? ELEMENTS[type] : UNKNOWN;
        if (bits(MODES, 16, 1)) map.element = type == 7 ? TF32 : type == 8 ? TF32_FTZ : UNKNOWN;
        map.interleave = bits(MODES, 11, 2), map.swizzle = bits(MODES, 13, 2), map.fill = bits(MODES, 15, 1);
        for (int d = 0; d < MOST_RANK - 1; d++)
            map.strides[d] = static_cast<i64>(u64(bits(HIGH_STRIDES, 4 * d, 4)) << 32 | words[LOW_STRIDES + d]) << 4;
        for (int d = 0; d < MOST_RANK; d++) {
            map.last[d] = words[SIZES + d];
            map.steps[d] = bits(STEPS, 3 * d, 3) + 1;
            map.box[d] = (d ? bits(STEPS + 1, 8 * (d - 1), 8) : bits(STEPS, 24, 8)) + 1;
        }
        map.im2col = words[PIXELS] != 0;
        if (map.im2col) {
            map.box[1] = words[PIXELS];
            std::memcpy(map.lower, &words[PIXELS + 1], sizeof map.lower + sizeof map.upper);
        }
        const bool rest = std::any_of(words.begin() + PIXELS + 4, words.end(), [](u32 word) { return word; });
        map.is_map = map.address && !(words[MODES] & ~0x7FFF0u) && !bits(HIGH_STRIDES, 16, 16) && !bits(STEPS, 15, 9) &&
                     !words[15] && !words[17] && !words[19] && !rest;
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
    bool rounds_to_tf32() const { return element == TF32 || element == TF32_FTZ; }
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
        NONE, NO_MAP, BAD_RANK, BAD_TYPE, BAD_ADDRESS, BAD_STRIDE, BAD_ROW, BAD_SWIZZLE, BAD_INTERLEAVE,
    };
    Flaw flaw() const {
        if (!is_map) return NO_MAP;
        if (rank < (im2col || interleave ? 3u : 1u) || rank > MOST_RANK) return BAD_RANK;
        if (!element_bytes()) return BAD_TYPE;
        if (interleave > 2 || (interleave && im2col)) return BAD_INTERLEAVE;
        const i64 aligned = interleave == 2 ? 2 * ATOM : ATOM;
        if (address % aligned) return BAD_ADDRESS;
        for (int d = 1; d < dimensions(); d++)
            if (stride(d) % aligned) return BAD_STRIDE;
        if (i64(box[0]) * element_bytes() % ATOM) return BAD_ROW;
        if (swizzle > 3 || (swizzle && !interleave && row_bytes() > swizzle_bytes())) return BAD_SWIZZLE;
        return NONE;
    }

    // Coordinates with which an H100 executes no copy, but stops the kernel (reports/h100/tensor_copies.csv.gz), and
    // maps of im2col from which it stores nothing (stored_pixels.json.gz beside it). im2col's coordinates were not read:
    // by the PTX ISA, the pixel that they name must be in the box of pixels, and offsets have as many bits as the code
    // has for them.
    enum Place : i64 { POSSIBLE, NOT_ALIGNED, NEGATIVE, NOT_IN_PIXELS, OFFSET_TOO_LARGE, NEGATIVE_CORNER };
    Place place(const i32* at, bool stores) const {
        for (int d = 1; im2col && stores && d < dimensions() - 1; d++)
            if (lower[d - 1] < 0) return NEGATIVE_CORNER;
        for (int d = 1; im2col && d < dimensions() - 1; d++)
            if (at[d] < lower[d - 1] || at[d] >= size(d) + upper[d - 1]) return NOT_IN_PIXELS;
        if (im2col) return POSSIBLE;
        if (!interleave && i64(at[0]) * element_bytes() % ATOM) return NOT_ALIGNED;
        for (int d = 0; stores && d < dimensions(); d++)
            if (at[d] < 0) return NEGATIVE;
        return POSSIBLE;
    }

    int offset_bits() const { return 16 / std::max(1, dimensions() - 2); }

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
    // Where fields begin, in words.
    enum Word { MODES = 2, LOW_STRIDES = 3, HIGH_STRIDES = 7, SIZES = 8, STEPS = 13, PIXELS = 20 };
    enum Element : u32 { F32_FTZ = 10, TF32 = 11, TF32_FTZ = 12, UNKNOWN = 13 };

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
