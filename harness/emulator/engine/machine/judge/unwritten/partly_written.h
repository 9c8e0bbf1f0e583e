// Which bits of an operation's result are uninitialised if some bits of its operands are.
//
// A word may be written in part and read as a whole: a struct with its padding, bit fields,
// adjacent bytes. Moving, masking, shifting or cutting it, or inserting a field into it, uses only
// the bits that remain. Arithmetic uses the whole word, so its result counts as uninitialised; a
// comparison may be decided by the initialised bits alone. Through other operations, which may use
// only a part, uninitialised bits are not followed.

#pragma once

#include <algorithm>

#include "machine.h"

namespace machine {

constexpr u64 ALL_BITS = ~u64(0);

// How an operation's result depends on its operands. COMPUTED uses them whole, PACKED possibly only parts.
enum Flow : u8 {
    COMPUTED, PACKED, MOVED, BITWISE, BY_TABLE, SELECTED, GATHERED, TAKES_LOW, TAKES_HIGH, JOINED,
    SHIFTED_LEFT, SHIFTED_RIGHT, FUNNELLED, FIELD, INSERTED, PERMUTED, REVERSED, NARROWED, COMPARED,
    MULTIPLIED,
};

enum Comparison : u8 { EQUAL, LESS, LESS_OR_EQUAL, GREATER, GREATER_OR_EQUAL };
enum Table : u8 { BY_NOT = 0x0F, BY_XOR = 0x3C, BY_AND = 0xC0, BY_OR = 0xFC };  // as in `lop3`
enum Product : u8 { LOW_HALF, WIDE };
enum Funnel : u8 { TO_THE_LEFT = 1, CLAMPED = 2 };

// What is known about an operation's operands.
struct Way {
    Flow flow = PACKED;
    int bytes = 4;           // of an operand; for JOINED, TAKES_LOW and TAKES_HIGH, of a half
    bool is_signed = false;
    u8 detail = 0;           // the Table for BITWISE, or a Comparison, a Funnel or a Product
};

// Which bits are uninitialised. `whole`: all of them are, or the value was computed from such a
// value.
struct Unset {
    u64 bits = 0;
    bool whole = false;
};

struct Operand {
    Unset unset;
    u64 value;
};

class PartlyWritten {
   public:
    static constexpr int MOST_OPERANDS = 4;

    static Unset result(const Way& way, const Operand* operands) {
        const Operand &a = operands[0], &b = operands[1], &c = operands[2];
        const int width = 8 * way.bytes;
        const u64 own = ones(width), of_a = a.unset.bits & own, of_b = b.unset.bits & own;
        switch (way.flow) {
            case MOVED: case NARROWED:
                return kept(a, extended(of_a, width, way.is_signed), own);
            case TAKES_LOW: return kept(a, of_a, own);
            case TAKES_HIGH: return kept(a, a.unset.bits >> width & own, own);
            case JOINED: return made(of_a | of_b << width, ones(2 * width));
            case BITWISE: return by_table(operands, own, way.detail);
            case BY_TABLE:
                return operands[3].unset.bits ? all() : by_table(operands, own, static_cast<u8>(operands[3].value));
            case SHIFTED_LEFT:
                if (b.unset.bits) return all();
                return kept(a, b.value > 63 ? 0 : of_a << b.value & own, own);
            case SHIFTED_RIGHT:
                if (b.unset.bits) return all();
                return kept(a, shifted_right(of_a, b.value, width, way.is_signed), own);
            case MULTIPLIED: return b.unset.bits ? multiplied(b, a, way) : multiplied(a, b, way);
            case FUNNELLED: return funnelled(a, b, c, way.detail);
            case FIELD: return field(a, b, c, width, way.is_signed);
            case INSERTED: return inserted(operands, own);
            case PERMUTED: return permuted(a, b, c);
            case REVERSED: return kept(a, reversed(of_a, width), own);
            case COMPARED: return compared(a, b, way) ? Unset{} : all();
            default: return all();  // COMPUTED
        }
    }

   private:
    static u64 ones(int count) { return count <= 0 ? 0 : ALL_BITS >> (64 - std::min(count, 64)); }
    static Unset all() { return {ALL_BITS, true}; }
    static Unset made(u64 bits, u64 own) { return {bits, (bits & own) == own}; }
    // The result from one operand: any part that remains of a wholly uninitialised value is also
    // uninitialised.
    static Unset kept(const Operand& a, u64 bits, u64 own) {
        return {bits, (bits & own) == own || (a.unset.whole && bits)};
    }

    // The bits above the width are copies of the topmost one, or zeros.
    static u64 extended(u64 bits, int width, bool is_signed) {
        return is_signed && bits >> (width - 1) & 1 ? bits | ~ones(width) : bits;
    }
    static u64 shifted_right(u64 bits, u64 by, int width, bool is_signed) {
        const int places = static_cast<int>(std::min<u64>(by, 63));
        return extended(bits, width, is_signed) >> places & ones(is_signed ? width : by > 63 ? 0 : width);
    }
    // Multiplying by a power of two is a shift.
    static Unset multiplied(const Operand& a, const Operand& by, const Way& way) {
        const int width = 8 * way.bytes;
        const u64 factor = by.value & ones(width);
        if (by.unset.bits) return all();
        if (!factor) return {};
        if (factor & (factor - 1)) return all();
        const u64 from = extended(a.unset.bits & ones(width), width, way.is_signed && way.detail == WIDE);
        const u64 bits = from << __builtin_ctzll(factor) & ones(way.detail == WIDE ? 2 * width : width);
        return {bits, a.unset.whole && bits};
    }
    static Unset funnelled(const Operand& low, const Operand& high, const Operand& by, u8 how) {
        if (by.unset.bits) return all();
        const u64 both = (low.unset.bits & ones(32)) | high.unset.bits << 32;
        const u64 places = how & CLAMPED ? std::min<u64>(by.value, 32) : by.value & 31;
        return made((how & TO_THE_LEFT ? both << places >> 32 : both >> places) & ones(32), ones(32));
    }
    static u64 reversed(u64 bits, int width) {
        u64 out = 0;
        for (int n = 0; n < width; n++) out |= (bits >> n & 1) << (width - 1 - n);
        return out;
    }

    // A bit is uninitialised if the table gives both zero and one for the operands' possible
    // values. A mask that removes no uninitialised bit leaves a wholly uninitialised value in that
    // state.
    static Unset by_table(const Operand* operands, u64 own, u8 table) {
        u64 may_be_one = 0, may_be_zero = 0;
        for (int minterm = 0; minterm < 8; minterm++) {
            u64 possible = own;
            for (int n = 0; n < 3; n++) {
                const u64 value = operands[n].value, is_one = minterm >> (2 - n) & 1 ? value : ~value;
                possible &= is_one | operands[n].unset.bits;
            }
            (table >> minterm & 1 ? may_be_one : may_be_zero) |= possible;
        }
        Unset out = made(may_be_one & may_be_zero, own);
        for (int n = 0; n < 2 && table == BY_AND && out.bits; n++)
            out.whole |= operands[n].unset.whole && (operands[n].unset.bits & own) == out.bits;
        return out;
    }

    // `b` is the field's first bit, `c` its number of bits.
    static Unset field(const Operand& a, const Operand& b, const Operand& c, int width, bool is_signed) {
        if (b.unset.bits || c.unset.bits) return all();
        const int from = b.value & 0xFF, count = c.value & 0xFF;
        const u64 bits = from > 63 ? 0 : (a.unset.bits & ones(width)) >> from & ones(count);
        if (!bits) return {};
        const int there = std::min(count, width - from);
        return kept(a, extended(bits, there, is_signed) & ones(width), ones(there));
    }

    // `bfi`: inserts the first operand into the second.
    static Unset inserted(const Operand* operands, u64 own) {
        if (operands[2].unset.bits || operands[3].unset.bits) return all();
        const u64 from = operands[2].value & 0xFF, count = operands[3].value & 0xFF;
        if (from > 63) return made(operands[1].unset.bits & own, own);
        const u64 at = ones(static_cast<int>(count)) << from;
        return made(((operands[0].unset.bits << from & at) | (operands[1].unset.bits & ~at)) & own, own);
    }

    // Each byte of the result is one of eight bytes, or that byte's sign bit eight times.
    static Unset permuted(const Operand& a, const Operand& b, const Operand& selector) {
        if (selector.unset.bits) return all();
        const u64 both = (a.unset.bits & ones(32)) | b.unset.bits << 32;
        u64 out = 0;
        for (int byte = 0; byte < 4; byte++) {
            const int nibble = selector.value >> 4 * byte & 0xF;
            u64 picked = both >> 8 * (nibble & 7) & 0xFF;
            if (nibble & 8) picked = picked >> 7 ? 0xFF : 0;
            out |= picked << 8 * byte;
        }
        return made(out, ones(32));
    }

    // Whether the comparison's result is the same for all values of the uninitialised bits.
    static bool compared(const Operand& a, const Operand& b, const Way& way) {
        const u64 own = ones(8 * way.bytes), unset = (a.unset.bits | b.unset.bits) & own;
        if (!unset) return true;
        if (way.detail == EQUAL) return (a.value ^ b.value) & own & ~unset;
        const Range one = range(a, way), two = range(b, way);
        const bool by_equal = way.detail == LESS_OR_EQUAL || way.detail == GREATER;
        // `a < b` and `a >= b` depend on whether `a` is below `b`, the others on whether it is at most `b`.
        const auto below = [&](__int128 x, __int128 y) { return by_equal ? x <= y : x < y; };
        return below(one.least, two.most) == below(one.most, two.least);
    }

    struct Range {
        __int128 least, most;
    };
    static Range range(const Operand& operand, const Way& way) {
        const u64 own = ones(8 * way.bytes), unset = operand.unset.bits & own;
        u64 least = operand.value & own & ~unset, most = least | unset;
        const u64 sign = own ^ own >> 1;
        if (way.is_signed && unset & sign) least |= sign, most &= ~sign;
        const auto number = [&](u64 bits) {
            return way.is_signed && bits & sign ? static_cast<__int128>(bits) - own - 1 : static_cast<__int128>(bits);
        };
        return {number(least), number(most)};
    }
};

}  // namespace machine
