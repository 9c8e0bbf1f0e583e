// The locations of a warpgroup operand's elements in shared memory, from the 64 bits of its
// descriptor.
//
// Sixteen bytes of a row (of a column, if the depth is the outer dimension) are contiguous. In a
// swizzled operand, rows are `width` bytes apart, with eight rows per atom (PTX ISA, "Shared Memory
// Matrix Layout").

#pragma once

#include <utility>

#include "machine.h"

namespace machine {

struct Descriptor {
    u32 start, leading, stride;
    u32 phase;  // where the atoms begin, in rows of 128 bytes
    u32 width;  // 16 without a swizzle

    explicit Descriptor(u64 bits) {
        static constexpr u32 WIDTHS[] = {16, 128, 64, 32};
        const auto field = [=](int at) { return static_cast<u32>(bits >> at & 0x3FFF) << 4; };
        start = field(0), leading = field(16), stride = field(32);
        phase = bits >> 49 & 7;
        width = WIDTHS[bits >> 62];
    }
    u32 swizzled(u32 address) const {
        return address ^ ((((address >> 7) - phase) & (width / 16 - 1)) << 4);
    }
    u32 by_depth(u32 row, u32 byte) const {
        const u32 along = width == 16 ? byte / 16 * leading + byte % 16 : byte;
        return swizzled(start + row / 8 * stride + row % 8 * width + along);
    }
    // For elements of two bytes.
    u32 by_rows(u32 row, u32 depth) const {
        const u32 outer = width == 16 ? stride : leading, inner = width == 16 ? leading : stride;
        const u32 along = 2 * row / width * outer + 2 * row % width;
        return swizzled(start + depth / 8 * inner + depth % 8 * width + along);
    }
    // The addresses of a word's two halves, for one of a row's words; if the depth is the outer dimension, these are
    // two separate elements.
    std::pair<u32, u32> word(bool turned, u32 row, u32 number) const {
        if (turned) return {by_rows(row, 2 * number), by_rows(row, 2 * number + 1)};
        const u32 at = by_depth(row, 4 * number);
        return {at, at + 2};
    }
    // The same for a lane's word in register `number`. Groups of eight rows, starting at `first`,
    // are distributed in turn over `turns` registers.
    std::pair<u32, u32> word_of_lane(bool turned, u32 lane, u32 first, u32 number, u32 turns) const {
        return word(turned, first + number % turns * 8 + lane / 4, number / turns * 4 + lane % 4);
    }
    // Whether an operand's rows are deeper than those that the descriptor describes.
    bool has_half(bool turned, u32 slices) const { return !turned && slices > 1 && width == SLICE; }
    // Calls f(address) for each sixteen bytes that a lane of a warp reads from the given rows,
    // which are one or two slices of 32 bytes deep.
    template <class F> void each_unit(bool turned, u32 lane, u32 first, u32 rows, u32 slices, F f) const {
        for (u32 slice = 0; slice < slices; slice++)
            if (turned)
                for (u32 row = lane / 16 * 8; row < rows; row += 16)
                    f(by_rows(first + row, slice * SLICE / 2 + lane % 16));
            else
                for (u32 row = lane / 4 + lane % 2 * 8; row < rows; row += 16)
                    f(by_depth(first + row, slice * SLICE + lane % 4 / 2 * UNIT));
    }
    static constexpr u32 UNIT = 16, SLICE = 32;
};

}  // namespace machine
