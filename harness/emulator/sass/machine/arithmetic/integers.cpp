// Integers: sums, products, comparisons and extremes, and the meaning of each one's flags.

#include "rows_of.h"

namespace sass {
namespace {

// Separate from the version with carries, because most sums have none.
void iadd3(Context& c, const Instruction& n) {
    map3(c, n, [](u32 a, u32 b, u32 d) { return a + b + d; });
}

void iadd3_wide(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1), d = wide(c, n, 2);
    write_wide(c, n, [&](int i) { return a[i] + b[i] + d[i]; });
}

// Negation flips all bits and adds one, and the carry of this addition counts. The sum of three operands may carry
// twice: the second predicate says that it does.
enum : i32 { EXTENDED = 1 };

void iadd3_carry(Context& c, const Instruction& n) {
    const u32* row[3];
    u32 flip[3];
    u64 plus = 0;
    for (int k = 0; k < 3; k++) {
        row[k] = c.source(n.source[k]);
        flip[k] = n.source[k].flip;
        plus += n.source[k].plus;
    }
    const u32 first = n.flags & EXTENDED ? c.predicate(n, 0) : 0;
    const u32 second = n.flags & EXTENDED ? c.predicate(n, 1) : 0;
    u64 sum[LANES];
    for (int i = 0; i < LANES; i++) {
        sum[i] = plus + bit(first, i) + bit(second, i);
        for (int k = 0; k < 3; k++) sum[i] += row[k][i] ^ flip[k];
    }
    write(c, c.result(n), [&](int i) { return static_cast<u32>(sum[i]); });
    c.set_predicate(n, 0, lanes_where([&](int i) { return sum[i] >> 32 >= 1; }));
    c.set_predicate(n, 1, lanes_where([&](int i) { return sum[i] >> 32 >= 2; }));
}

void add2_wide(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    write_wide(c, n, [&](int i) { return a[i] + b[i]; });
}

void add2(Context& c, const Instruction& n) {
    map2(c, n, [](u32 a, u32 b) { return a + b; });
}

enum : i32 { UNSIGNED = 1, WITH_CARRY = 2 };

void imad(Context& c, const Instruction& n) {
    if (n.flags & WITH_CARRY) {
        const Operand a = operand(c, n, 0), b = operand(c, n, 1), d = operand(c, n, 2);
        const u32 carry = c.predicate(n, 0);
        write(c, c.result(n), [&](int i) { return a[i] * b[i] + d[i] + bit(carry, i); });
        return;
    }
    map3(c, n, [](u32 a, u32 b, u32 d) { return a * b + d; });
}

inline u64 product(u32 a, u32 b, bool is_unsigned) {
    return is_unsigned ? static_cast<u64>(a) * b
                       : static_cast<u64>(static_cast<i64>(static_cast<i32>(a)) * static_cast<i32>(b));
}

void imad_wide(Context& c, const Instruction& n) {
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    const Wide d = wide(c, n, 2);
    const bool is_unsigned = n.flags & UNSIGNED;
    const u32 carry = n.flags & WITH_CARRY ? c.predicate(n, 0) : 0;
    u32 over = 0;
    u64 out[LANES];
    for (int i = 0; i < LANES; i++) {
        const u64 first = product(a[i], b[i], is_unsigned), sum = first + d[i];
        out[i] = sum + bit(carry, i);
        over |= static_cast<u32>(sum < first || out[i] < sum) << i;
    }
    write_wide(c, n, [&](int i) { return out[i]; });
    c.set_predicate(n, 0, over);
}

// The upper half of the 64-bit sum, and its carry.
void imad_high(Context& c, const Instruction& n) {
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    const Wide d = wide(c, n, 2);
    const bool is_unsigned = n.flags & UNSIGNED;
    u32 over = 0;
    alignas(64) u32 out[LANES];
    for (int i = 0; i < LANES; i++) {
        const u64 first = product(a[i], b[i], is_unsigned), sum = first + d[i];
        over |= static_cast<u32>(sum < first) << i;
        out[i] = static_cast<u32>(sum >> 32);
    }
    write(c, c.result(n), [&](int i) { return out[i]; });
    c.set_predicate(n, 0, over);
}

// LEA: (a << shift) + b. LEA.HI: the upper half of (d:a) << shift, plus b.
enum : i32 { LEA_EXTENDED = 1, LEA_SIGNED = 2 };

void lea(Context& c, const Instruction& n) {
    const u32* a = c.source(n.source[0]);
    const Source &sa = n.source[0], &sb = n.source[1];
    const u32* b = c.source(n.source[1]);
    const int shift = n.immediate & 31;
    const u32 carry = n.flags & LEA_EXTENDED ? c.predicate(n, 0) : 0;
    u64 sum[LANES];
    for (int i = 0; i < LANES; i++) {
        const u32 moved = ((a[i] ^ sa.flip) + sa.plus) << shift;
        sum[i] = static_cast<u64>(moved) + (b[i] ^ sb.flip) + sb.plus + bit(carry, i);
    }
    write(c, c.result(n), [&](int i) { return static_cast<u32>(sum[i]); });
    c.set_predicate(n, 0, lanes_where([&](int i) { return sum[i] >> 32 != 0; }));
}

void lea_high(Context& c, const Instruction& n) {
    const bool extends = n.flags & LEA_SIGNED;
    const Operand a = operand(c, n, 0);
    const Source& sb = n.source[1];
    const u32* b = c.source(sb);
    const u32* d = extends ? nullptr : c.source(n.source[2]);
    const u32 flip = extends ? 0 : n.source[2].flip;
    const int shift = n.immediate & 31;
    const u32 carry = n.flags & LEA_EXTENDED ? c.predicate(n, 0) : 0;
    u64 sum[LANES];
    for (int i = 0; i < LANES; i++) {
        const u32 high = extends ? static_cast<u32>(static_cast<i32>(a[i]) >> 31) : d[i] ^ flip;
        const u64 both = (static_cast<u64>(high) << 32 | a[i]) << shift;
        sum[i] = static_cast<u64>(static_cast<u32>(both >> 32)) + (b[i] ^ sb.flip) + sb.plus +
                 bit(carry, i);
    }
    write(c, c.result(n), [&](int i) { return static_cast<u32>(sum[i]); });
    c.set_predicate(n, 0, lanes_where([&](int i) { return sum[i] >> 32 != 0; }));
}

// The lowest four bits of the flags are the comparison's bits for less, equal, greater, unordered.
enum : i32 { OR = 16, XOR = 32, OF_UNSIGNED = 64, EXTENDS = 128 };

inline u32 combined(i32 flags, u32 found, u32 with) {
    return flags & OR ? found | with : flags & XOR ? found ^ with : found & with;
}

template <class T> u32 compared_rows(Context& c, const Instruction& n) {
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    const bool less = n.flags & 1, equal = n.flags & 2, greater = n.flags & 4;
    return lanes_where([&](int i) {
        const T x = static_cast<T>(a[i]), y = static_cast<T>(b[i]);
        return ((x < y) & less) | ((x == y) & equal) | ((x > y) & greater);
    });
}

void isetp(Context& c, const Instruction& n) {
    u32 found = n.flags & OF_UNSIGNED ? compared_rows<u32>(c, n) : compared_rows<i32>(c, n);
    if (n.flags & EXTENDS) {  // for 64 bits: if the upper halves are equal, the lower ones decide
        const Operand a = operand(c, n, 0), b = operand(c, n, 1);
        const u32 same = lanes_where([&](int i) { return a[i] == b[i]; });
        found = (found & ~same) | (c.predicate(n, 1) & same);
    }
    const u32 with = c.predicate(n, 0);
    c.set_predicate(n, 0, combined(n.flags, found, with));
    c.set_predicate(n, 1, combined(n.flags, ~found, with));
}

template <class T> u32 compared_wide(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    const bool less = n.flags & 1, equal = n.flags & 2, greater = n.flags & 4;
    return lanes_where([&](int i) {
        const T x = static_cast<T>(a[i]), y = static_cast<T>(b[i]);
        return ((x < y) & less) | ((x == y) & equal) | ((x > y) & greater);
    });
}

void isetp_wide(Context& c, const Instruction& n) {
    const u32 found = n.flags & OF_UNSIGNED ? compared_wide<u64>(c, n) : compared_wide<i64>(c, n);
    const u32 with = c.predicate(n, 0);
    c.set_predicate(n, 0, combined(n.flags, found, with));
    c.set_predicate(n, 1, combined(n.flags, ~found, with));
}

// Extremes of words, or of each half separately; RELU: not below zero.
enum : i32 { TWO_HALVES = 2, RECTIFIES = 4 };

template <class T> inline u32 extreme(u32 a, u32 b, bool least) {
    const bool first = least == (static_cast<T>(a) < static_cast<T>(b));
    return first ? a : b;
}

inline u32 extreme_of(i32 flags, u32 a, u32 b, bool least) {
    if (!(flags & TWO_HALVES))
        return flags & UNSIGNED ? extreme<u32>(a, b, least) : extreme<i32>(a, b, least);
    u32 out = 0;
    for (int at = 0; at < 32; at += 16) {
        const u32 x = a >> at & 0xFFFF, y = b >> at & 0xFFFF;
        out |= (flags & UNSIGNED ? extreme<u16>(x, y, least) : extreme<i16>(x, y, least)) << at;
    }
    return out;
}

inline u32 rectified(i32 flags, u32 value) {
    return flags & RECTIFIES ? extreme_of(flags & TWO_HALVES, value, 0, false) : value;
}

inline u32 sum_of_halves(u32 a, u32 b) {
    return ((a + b) & 0xFFFF) | ((a & 0xFFFF0000) + (b & 0xFFFF0000));
}

void imnmx(Context& c, const Instruction& n) {
    const u32 least = c.predicate(n, 0);
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    const i32 flags = n.flags;
    write(c, c.result(n), [&](int i) {
        return rectified(flags, extreme_of(flags, a[i], b[i], bit(least, i)));
    });
}

void imnmx3(Context& c, const Instruction& n) {
    const u32 least = c.predicate(n, 0);
    const Operand a = operand(c, n, 0), b = operand(c, n, 1), d = operand(c, n, 2);
    const i32 flags = n.flags;
    write(c, c.result(n), [&](int i) {
        const bool low = bit(least, i);
        return rectified(flags, extreme_of(flags, extreme_of(flags, a[i], b[i], low), d[i], low));
    });
}

void add_mnmx(Context& c, const Instruction& n) {
    const u32 least = c.predicate(n, 0);
    const Operand a = operand(c, n, 0), b = operand(c, n, 1), d = operand(c, n, 2);
    const i32 flags = n.flags;
    write(c, c.result(n), [&](int i) {
        const u32 sum = flags & TWO_HALVES ? sum_of_halves(a[i], b[i]) : a[i] + b[i];
        return rectified(flags, extreme_of(flags, sum, d[i], bit(least, i)));
    });
}

// Negation also applies to each half separately.
void add_halves(Context& c, const Instruction& n) {
    const auto half_by_half = [&](int which, int i) {
        const Source& s = n.source[which];
        const u32 flipped = c.source(s)[i] ^ s.flip;
        return s.plus ? sum_of_halves(flipped, 0x10001) : flipped;
    };
    write(c, c.result(n), [&](int i) {
        return sum_of_halves(half_by_half(0, i), half_by_half(1, i));
    });
}

void imnmx_64(Context& c, const Instruction& n) {
    const u32 least = c.predicate(n, 0);
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    write_wide(c, n, [&](int i) {
        const u64 x = a[i], y = b[i];
        const bool below = n.flags & UNSIGNED ? x < y : static_cast<i64>(x) < static_cast<i64>(y);
        return below == (bit(least, i) != 0) ? x : y;
    });
}

inline u32 byte_at(u32 word, int at) { return word >> at & 0xFF; }

void extreme_bytes(Context& c, const Instruction& n) {
    const u32 least = c.predicate(n, 0);
    const u32 *a = c.source(n.source[0]), *b = c.source(n.source[1]);
    write(c, c.result(n), [&](int i) {
        u32 out = 0;
        for (int at = 0; at < 32; at += 8)
            out |= extreme<u32>(byte_at(a[i], at), byte_at(b[i], at), bit(least, i)) << at;
        return out;
    });
}

// Negation also applies to each byte separately.
void add_bytes(Context& c, const Instruction& n) {
    const auto byte_of = [&](int which, int i, int at) {
        const Source& s = n.source[which];
        return byte_at(c.source(s)[i] ^ s.flip, at) + (s.plus ? 1 : 0);
    };
    write(c, c.result(n), [&](int i) {
        u32 out = 0;
        for (int at = 0; at < 32; at += 8)
            out |= (byte_of(0, i, at) + byte_of(1, i, at) & 0xFF) << at;
        return out;
    });
}

// The absolute difference of each pair of bytes, or the sum of these and a third operand.
enum : i32 { ADDS_UP = 1 };

void absolute_differences(Context& c, const Instruction& n) {
    const bool adds_up = n.flags & ADDS_UP;
    map3(c, n, [&](u32 a, u32 b, u32 d) {
        u32 bytes = 0, sum = d;
        for (int at = 0; at < 32; at += 8) {
            const i32 apart = static_cast<u8>(a >> at) - static_cast<u8>(b >> at);
            const u32 own = static_cast<u32>(apart < 0 ? -apart : apart);
            bytes |= own << at;
            sum += own;
        }
        return adds_up ? sum : bytes;
    });
}

void iabs(Context& c, const Instruction& n) {
    map1(c, n, [](u32 a) { return static_cast<i32>(a) < 0 ? -a : a; });
}

// The sum of the products of four bytes, or of two halves and two bytes from the lower or upper half.
enum : i32 { FIRST_SIGNED = 1, SECOND_SIGNED = 2, OF_HALVES = 4, UPPER_BYTES = 8 };

template <class Signed, class Unsigned> inline u32 element(u32 word, int at, bool is_signed) {
    const u32 own = word >> 8 * sizeof(Unsigned) * at;
    return is_signed ? static_cast<u32>(static_cast<Signed>(own)) : static_cast<Unsigned>(own);
}

void dot_product(Context& c, const Instruction& n) {
    const bool a_signed = n.flags & FIRST_SIGNED, b_signed = n.flags & SECOND_SIGNED;
    const bool halves = n.flags & OF_HALVES;
    const int from = n.flags & UPPER_BYTES ? 2 : 0;
    map3(c, n, [&](u32 a, u32 b, u32 d) {
        for (int k = 0; k < (halves ? 2 : 4); k++) {
            const u32 x = halves ? element<i16, u16>(a, k, a_signed) : element<i8, u8>(a, k, a_signed);
            d += x * element<i8, u8>(b, from + k, b_signed);
        }
        return d;
    });
}

// The absolute difference of two numbers, added to a third.
void absolute_difference(Context& c, const Instruction& n) {
    const bool is_unsigned = n.flags;
    map3(c, n, [&](u32 a, u32 b, u32 d) {
        const bool below = is_unsigned ? a < b : static_cast<i32>(a) < static_cast<i32>(b);
        return (below ? b - a : a - b) + d;
    });
}

}  // namespace

std::vector<Entry> integer_entries() {
    return {
        {"IADD3", iadd3}, {"IADD3.64", iadd3_wide}, {"IADD3.CARRY", iadd3_carry}, {"ADD2", add2},
        {"ADD2.64", add2_wide}, {"ISETP.64", isetp_wide},
        {"IMAD", imad},
        {"IMAD.WIDE", imad_wide}, {"IMAD.HI", imad_high}, {"LEA", lea}, {"LEA.HI", lea_high},
        {"ISETP", isetp}, {"IMNMX", imnmx}, {"IMNMX3", imnmx3}, {"VIADDMNMX", add_mnmx},
        {"ADD2.HALVES", add_halves}, {"IMNMX.64", imnmx_64}, {"IMNMX.BYTES", extreme_bytes},
        {"ADD2.BYTES", add_bytes}, {"ABSDIFF", absolute_difference}, {"ABSDIFF4", absolute_differences}, {"IABS", iabs},
        {"IDP", dot_product},
    };
}

}  // namespace sass
