// The columns of a sparse operand's elements: half of a row's elements are stored, and metadata say
// in which columns they are. One of two tf32 numbers is stored, two of four numbers of other types,
// and two pairs of eight 4-bit numbers.
//
// A nibble of the metadata describes such a group. The PTX ISA shows which lanes' words hold the nibbles of a row
// ("Sparse matrix storage"); reports/h100/sparse_products.csv.gz has what an H100 computes.

#pragma once

#include "machine.h"

namespace machine {

class SparseFactor {
   public:
    // words: the metadata of all lanes. bits: of an element. depth: the columns, including those that are zero.
    SparseFactor(const u32* words, int selector, int bits, int depth)
        : words_(words), selector_(selector), bits_(bits), groups_(depth / (bits == 32 ? 2 : bits == 4 ? 8 : 4)) {}

    // The column of a row's stored element. Returns -1 if the metadata are undefined because they
    // name one position twice.
    int column(int row, int stored) const {
        if (bits_ == 32) {
            const int nibble = nibble_of(row, stored);
            return nibble == 0xE ? 2 * stored + 1 : nibble == 0x4 ? 2 * stored : -1;
        }
        const int size = bits_ == 4 ? 2 : 1, unit = stored / size, group = unit / 2;
        const int nibble = nibble_of(row, group), low = nibble & 3, high = nibble >> 2;
        if (low == high) return -1;
        return (4 * group + (unit % 2 ? high : low)) * size + stored % size;
    }

   private:
    int nibble_of(int row, int group) const {
        const int upper = row / 8, first = 4 * (row % 8);
        const auto of = [&](int lane, int number) { return words_[first + lane] >> 4 * number & 15; };
        if (groups_ == 4) return of(selector_, 4 * upper + group);
        if (groups_ == 16) return of(upper + group / 8 * 2, group % 8);
        return bits_ > 8 ? of(2 * selector_ + group / 4, 4 * upper + group % 4) : of(2 * selector_ + upper, group);
    }

    const u32* words_;
    int selector_, bits_, groups_;
};

}  // namespace machine
