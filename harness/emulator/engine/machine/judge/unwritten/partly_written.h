// What an operation makes of a word of which a part is unwritten, byte by byte.
//
// A word may be written in part and read as a whole: a struct with its padding, bytes side by side. To
// move it, to mask, shift and cut it, is to use the bytes that are left. Arithmetic takes all of it, and
// what comes out is as good as unwritten. Whatever else may look at a part is not followed.

#pragma once

#include "machine.h"

namespace machine {

constexpr u8 ALL_BYTES = 0xFF;

// How what an operation makes depends on its operands. COMPUTED takes all of them, PACKED maybe parts.
enum Flow : u8 {
    COMPUTED, PACKED, MOVED, BY_AND, BY_OR, BY_BIT, SELECTED, GATHERED, TAKES_LOW, TAKES_HIGH, JOINED,
    SHIFTED_LEFT, SHIFTED_RIGHT, FIELD, NARROWED,
};

// An operand: which of its bytes nothing wrote, and what it holds.
struct Operand {
    u8 unwritten;
    u64 value;
};

class PartlyWritten {
   public:
    // The unwritten bytes of the result, of which all operands are written at least in part. `width`
    // is that of an operand, in bytes; of JOINED, TAKES_LOW and TAKES_HIGH, of a half.
    static u8 result(Flow flow, int width, const Operand& a, const Operand& b, const Operand& c) {
        const u8 own = up_to(width);
        const u8 found = unwritten(flow, width, a, b, c);
        const u8 all = flow == JOINED ? up_to(2 * width) : own;
        return (found & all) == all ? ALL_BYTES : found & all;
    }

   private:
    static u8 up_to(int width) { return static_cast<u8>(ALL_BYTES >> (8 - width)); }

    static u64 bits(u8 bytes) {
        u64 out = 0;
        for (int n = 0; n < 8; n++)
            if (bytes >> n & 1) out |= u64(0xFF) << 8 * n;
        return out;
    }
    // Bytes of which some bit is unwritten.
    static u8 touched(u64 bits) {
        u8 out = 0;
        for (int n = 0; n < 8; n++) out |= static_cast<u8>(((bits >> 8 * n & 0xFF) != 0) << n);
        return out;
    }
    // Bytes of which no bit is written: others are taken for written when bits move.
    static u8 covered(u64 bits) {
        u8 out = 0;
        for (int n = 0; n < 8; n++) out |= static_cast<u8>(((bits >> 8 * n & 0xFF) == 0xFF) << n);
        return out;
    }

    static u8 unwritten(Flow flow, int width, const Operand& a, const Operand& b, const Operand& c) {
        const u8 own = up_to(width), of_a = a.unwritten & own, of_b = b.unwritten & own;
        const u64 one = bits(of_a), two = bits(of_b);
        switch (flow) {
            case MOVED: case TAKES_LOW: case NARROWED: return of_a;
            case TAKES_HIGH: return static_cast<u8>(a.unwritten >> width);
            case JOINED: return static_cast<u8>(of_a | of_b << width);
            case BY_BIT: return of_a | of_b;
            case BY_AND: return touched((one & two) | (one & b.value) | (two & a.value));
            case BY_OR: return touched((one & two) | (one & ~two & ~b.value) | (two & ~one & ~a.value));
            case SHIFTED_LEFT: return of_b ? ALL_BYTES : b.value > 63 ? 0 : covered(one << b.value);
            case SHIFTED_RIGHT: return of_b ? ALL_BYTES : b.value > 63 ? 0 : covered(one >> b.value);
            case FIELD: {  // `b` is where it begins, `c` how many bits it has
                if (b.unwritten || c.unwritten) return ALL_BYTES;
                const u64 from = b.value & 0xFF, count = c.value & 0xFF;
                if (from > 63) return 0;
                return covered(one >> from & (count > 63 ? ~u64(0) : (u64(1) << count) - 1));
            }
            case COMPUTED: return of_a | of_b | (c.unwritten & own) ? ALL_BYTES : 0;
            default: return 0;
        }
    }
};

}  // namespace machine
