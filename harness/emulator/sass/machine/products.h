// The parts shared by products of warps and of warpgroups: 16 × 8 sums, distributed over the lanes as the PTX
// manual shows for `mma.sync`, and the elements in a register.
//
// Products are exact; they are summed in double precision, and the sum is rounded once.

#pragma once

#include <algorithm>

#include "arithmetic/fp8.h"
#include "judge/chunk.h"
#include "rows_of.h"

namespace sass {

constexpr int ROWS = 16, COLUMNS = 8, MOST_DEPTH = 64;

enum Type : i32 { HALF, BRAIN, TF32, E4M3, E5M2, UNSIGNED, SIGNED };

// The bits of an instruction's flags for its operands' types, and for clamping sums to 32 bits.
enum : i32 { CLAMPS = 1 << 13 };
inline Type first_type(i32 flags) { return static_cast<Type>(flags >> 6 & 7); }
inline Type second_type(i32 flags) { return static_cast<Type>(flags >> 9 & 7); }

// Elements in a register.
constexpr int held(Type type) { return type <= BRAIN ? 2 : type == TF32 ? 1 : 4; }

inline f64 element(Type type, u32 word, int which) {
    const u16 half = static_cast<u16>(word >> 16 * (which & 1));
    const u8 byte = static_cast<u8>(word >> 8 * which);
    switch (type) {
        case HALF: return machine::F16::widen(half);
        case BRAIN: return machine::BF16::widen(half);
        case TF32: return bits_of<f32>(word & 0xFFFFE000);
        case E4M3: return machine::F16::widen(machine::E4M3::widen(byte, false));
        case E5M2: return machine::F16::widen(machine::E5M2::widen(byte, false));
        case UNSIGNED: return byte;
        default: return static_cast<i8>(byte);
    }
}

constexpr int MOST_HELD = 4;

// The elements that a register holds in all lanes of the warp, lane by lane.
template <Type type> void read_elements(const u32* row, f64* out) {
    for (int i = 0; i < LANES; i++)
        for (int e = 0; e < held(type); e++) out[held(type) * i + e] = element(type, row[i], e);
}

inline void read_elements(Type type, const u32* row, f64* out) {
    switch (type) {
        case HALF: return read_elements<HALF>(row, out);
        case BRAIN: return read_elements<BRAIN>(row, out);
        case TF32: return read_elements<TF32>(row, out);
        case E4M3: return read_elements<E4M3>(row, out);
        case E5M2: return read_elements<E5M2>(row, out);
        case UNSIGNED: return read_elements<UNSIGNED>(row, out);
        default: return read_elements<SIGNED>(row, out);
    }
}

// A row of a value that spans several registers; RZ is 0 in all of them.
inline const u32* word_of(const Context& c, const Instruction& n, int which, int word) {
    const Source& s = n.source[which];
    return c.source(s) + (s.constant ? 0 : LANES * word);
}

// A lane's 64 bits, in two adjacent registers.
inline u64 wide_of(const Context& c, const Instruction& n, int which, int word, int lane) {
    const u32 low = word_of(c, n, which, word)[lane], high = word_of(c, n, which, word + 1)[lane];
    return static_cast<u64>(high) << 32 | low;
}

// A sparse operand's metadata name a position in one of a warp's rows twice.
[[noreturn]] inline void undefined_metadata(const Context& c, int row) {
    throw machine::Accusation{machine::UNDEFINED_METADATA, c.at, c.warp->number * LANES + row % 8 * 4, {}};
}

struct Factors {
    f64 a[ROWS][MOST_DEPTH], b[MOST_DEPTH][COLUMNS];
};

struct Dense {
    int operator()(int, int k) const { return k; }
};

// How sums are stored in registers: as pairs of halves, floats or integers.
struct Sums {
    bool halves, whole, clamps;

    int words() const { return halves ? 2 : 4; }

    // Writes the product plus the registers `before(word)`, or plus 0 if they are null, to the result's registers,
    // beginning at `first`.
    //
    // depth: the number of elements in a row of the first operand. column(row, k): the row of the
    // second operand by which the k-th of them is multiplied, if the first operand is sparse.
    template <class Before, class Column = Dense>
    void add(Context& c, const Instruction& n, const Factors& factors, int depth, int first,
             Before before, Column column = {}) const {
        f64 sum[ROWS][COLUMNS] = {};
        for (int e = 0; e < 4; e++) {
            const u32* given = before(halves ? e >> 1 : e);
            if (!given) break;
            if (halves)
                begin(sum, e, given, [=](u32 raw) { return element(HALF, raw, e); });
            else if (whole)
                begin(sum, e, given, [](u32 raw) { return f64{bits_of<i32>(raw)}; });
            else
                begin(sum, e, given, [](u32 raw) { return f64{bits_of<f32>(raw)}; });
        }
        for (int r = 0; r < ROWS; r += TOGETHER) add_rows(sum, factors, depth, r, column);
        for (int w = 0; w < words(); w++) {
            u32* result = c.result(n, 0, first + w);
            if (halves)
                write(c, result, [&](int i) {
                    using machine::F16;
                    return machine::pair(F16::narrow(at(sum, i, 2 * w)), F16::narrow(at(sum, i, 2 * w + 1)));
                });
            else if (whole)
                write(c, result, [&](int i) { return integer(at(sum, i, w)); });
            else
                write(c, result, [&](int i) { return bits_of<u32>(canonical(static_cast<f32>(at(sum, i, w)))); });
        }
    }

   private:
    typedef f64 Row __attribute__((vector_size(COLUMNS * sizeof(f64))));
    // The number of rows whose sums are kept in vector registers at a time.
    static constexpr int TOGETHER = 4;

    template <class Column>
    static void add_rows(f64 (&sum)[ROWS][COLUMNS], const Factors& factors, int depth, int first, Column column) {
        Row own[TOGETHER];
        std::memcpy(own, sum[first], sizeof own);
        for (int k = 0; k < depth; k++)
            for (int r = 0; r < TOGETHER; r++) {
                Row line;
                std::memcpy(&line, factors.b[column(first + r, k)], sizeof line);
                own[r] += factors.a[first + r][k] * line;
            }
        std::memcpy(sum[first], own, sizeof own);
    }
    template <class Number> static void begin(f64 (&sum)[ROWS][COLUMNS], int e, const u32* given, Number number) {
        for (int i = 0; i < LANES; i++) at(sum, i, e) = number(given[i]);
    }
    static f64& at(f64 (&sum)[ROWS][COLUMNS], int lane, int e) {
        return sum[lane / 4 + 8 * (e >> 1)][2 * (lane % 4) + (e & 1)];
    }
    u32 integer(f64 sum) const {
        const i64 exact = static_cast<i64>(sum);
        return static_cast<u32>(clamps ? std::clamp<i64>(exact, INT32_MIN, INT32_MAX) : exact);
    }
};

}  // namespace sass
