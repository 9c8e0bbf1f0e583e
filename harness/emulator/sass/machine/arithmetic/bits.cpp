// Operations on bits of words and of predicates: shifts, logic, counts, selections and moves.

#include <algorithm>

#include "rows_of.h"

namespace sass {
namespace {

constexpr u32 ALL_OF_A_BYTE = (1u << ALWAYS) - 1;

// Uniform predicates follow the others.
int first_predicate(const Instruction& n) { return n.uniform ? ALWAYS + 1 : 0; }

// One half of the 64 bits (d:a), shifted by b.
enum : i32 { RIGHT = 1, HIGH = 2, SIGNED = 4, WRAPS = 8, OF_64 = 16 };

void shf(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    map3(c, n, [&](u32 a, u32 b, u32 d) {
        const u32 most = flags & OF_64 ? 64 : 32;
        const u32 by = flags & WRAPS ? b & (most - 1) : std::min<u32>(b, most);
        const u64 both = static_cast<u64>(d) << 32 | a;
        u64 moved;
        if (flags & RIGHT)
            moved = flags & SIGNED ? static_cast<u64>(static_cast<i64>(both) >> std::min<u32>(by, 63))
                                   : by < 64 ? both >> by : 0;
        else
            moved = by < 64 ? both << by : 0;
        return static_cast<u32>(flags & HIGH ? moved >> 32 : moved);
    });
}

inline u32 looked_up(u32 table, u32 a, u32 b, u32 d) {
    u32 out = 0;
    if (table & 1) out |= ~a & ~b & ~d;
    if (table & 2) out |= ~a & ~b & d;
    if (table & 4) out |= ~a & b & ~d;
    if (table & 8) out |= ~a & b & d;
    if (table & 16) out |= a & ~b & ~d;
    if (table & 32) out |= a & ~b & d;
    if (table & 64) out |= a & b & ~d;
    if (table & 128) out |= a & b & d;
    return out;
}

void lop3(Context& c, const Instruction& n) {
    const u32 table = static_cast<u32>(n.immediate);
    const bool wanted = (n.result_predicate[0] & ALWAYS) != ALWAYS;
    if (!wanted && table == 0xC0) {
        map2(c, n, [](u32 a, u32 b) { return a & b; });
        return;
    }
    const Operand a = operand(c, n, 0), b = operand(c, n, 1), d = operand(c, n, 2);
    alignas(64) u32 out[LANES];
    for (int i = 0; i < LANES; i++) out[i] = looked_up(table, a[i], b[i], d[i]);
    if (wanted) {
        const u32 set = lanes_where([&](int i) { return out[i] != 0; });
        c.set_predicate(n, 0, set | c.predicate(n, 0));
    }
    write(c, c.result(n), [&](int i) { return out[i]; });
}

// The immediate holds both truth tables. Predicates, and the signs of registers, are masks of lanes.
void plop3(Context& c, const Instruction& n) {
    const auto given = [&](int which) {
        if (!(n.flags & SIGN_OF_FIRST << which)) return c.predicate(n, which);
        const u32* a = c.source(n.source[which]);
        return lanes_where([&](int i) { return a[i] >> 31; }) ^ -static_cast<u32>(n.source_inverted[which]);
    };
    const u32 a = given(0), b = given(1), d = given(2);
    const u32 first = looked_up(n.immediate & 0xFF, a, b, d);
    const u32 second = looked_up(n.immediate >> 8 & 0xFF, a, b, d);
    c.set_predicate(n, 0, first);
    c.set_predicate(n, 1, second);
}

void select(Context& c, const Instruction& n) {
    const u32 chosen = c.predicate(n, 0);
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    write(c, c.result(n), [&](int i) { return bit(chosen, i) ? a[i] : b[i]; });
}

void select_wide(Context& c, const Instruction& n) {
    const u32 chosen = c.predicate(n, 0);
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    write_wide(c, n, [&](int i) { return bit(chosen, i) ? a[i] : b[i]; });
}

void mov(Context& c, const Instruction& n) {
    map1(c, n, [](u32 a) { return a; });
}

void mov64(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0);
    write_wide(c, n, [&](int i) { return a[i]; });
}

void popc(Context& c, const Instruction& n) {
    map1(c, n, [](u32 a) { return static_cast<u32>(__builtin_popcount(a)); });
}

void brev(Context& c, const Instruction& n) {
    map1(c, n, [](u32 a) {
        a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
        a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
        a = (a >> 4 & 0x0F0F0F0F) | (a & 0x0F0F0F0F) << 4;
        return __builtin_bswap32(a);
    });
}

// The position of the highest bit that differs from the sign; SH counts from the top.
enum : i32 { UNSIGNED = 1, FROM_TOP = 2 };

void flo(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    map1(c, n, [&](u32 a) {
        if (!(flags & UNSIGNED) && static_cast<i32>(a) < 0) a = ~a;
        if (!a) return EVERYBODY;
        const u32 top = static_cast<u32>(__builtin_clz(a));
        return flags & FROM_TOP ? top : 31 - top;
    });
}

// Each of the selector's four nibbles selects a byte of (d:a), or its sign.
void prmt(Context& c, const Instruction& n) {
    map3(c, n, [](u32 a, u32 selector, u32 d) {
        const u64 both = static_cast<u64>(d) << 32 | a;
        u32 out = 0;
        for (int k = 0; k < 4; k++) {
            const u32 choice = selector >> 4 * k & 15;
            u32 byte = static_cast<u32>(both >> 8 * (choice & 7)) & 0xFF;
            if (choice & 8) byte = byte & 0x80 ? 0xFF : 0;
            out |= byte << 8 * k;
        }
        return out;
    });
}

void sgxt(Context& c, const Instruction& n) {
    const bool is_unsigned = n.flags & UNSIGNED;
    map2(c, n, [&](u32 a, u32 bits) {
        const u32 off = 32 - std::min<u32>(bits, 32);
        if (off == 32) return u32(0);
        return is_unsigned ? a << off >> off : static_cast<u32>(static_cast<i32>(a << off) >> off);
    });
}

void bmsk(Context& c, const Instruction& n) {
    map2(c, n, [](u32 from, u32 count) {
        const u64 ones = (u64(1) << std::min<u32>(count, 32)) - 1;
        return from < 32 ? static_cast<u32>(ones << from) : 0;
    });
}

// Copies those of the predicates P0 to P6 that a mask names into the byte of a register that `flags` names.
void p2r(Context& c, const Instruction& n) {
    const int byte = 8 * n.flags;
    const u32 bits = static_cast<u32>(n.immediate) << byte;
    const u32* held = c.warp->predicate + first_predicate(n);
    map1(c, n, [](u32 a) { return a; });
    u32* r = c.result(n);
    for (int i = 0; i < LANES; i++) {
        u32 own = 0;
        for (int p = 0; p < ALWAYS; p++) own |= bit(held[p], i) << (byte + p);
        if (c.mask[i]) r[i] = (r[i] & ~bits) | (own & bits);
    }
}

// The reverse: copies bits of the named byte to predicates, all of them if none are named.
void r2p(Context& c, const Instruction& n) {
    const u32 bits = n.immediate ? static_cast<u32>(n.immediate) : ALL_OF_A_BYTE;
    const int byte = 8 * n.source[0].half;
    const Operand a = operand(c, n, 0);
    for (int p = 0; p < ALWAYS; p++) {
        if (!(bits >> p & 1)) continue;
        const u32 set = lanes_where([&](int i) { return a[i] >> byte >> p & 1; });
        u32& held = c.warp->predicate[first_predicate(n) + p];
        held = (held & ~c.on) | (set & c.on);
    }
}

}  // namespace

std::vector<Entry> bit_entries() {
    return {
        {"SHF", shf}, {"LOP3", lop3}, {"PLOP3", plop3}, {"SEL", select}, {"SEL.64", select_wide}, {"MOV", mov},
        {"MOV.64", mov64}, {"POPC", popc}, {"BREV", brev}, {"FLO", flo}, {"PRMT", prmt},
        {"SGXT", sgxt}, {"BMSK", bmsk}, {"P2R", p2r}, {"R2P", r2p},
    };
}

}  // namespace sass
