// Between integers and floats of any size.

#include <algorithm>
#include <cmath>

#include "rows_of.h"

namespace sass {
namespace {

using machine::BF16;
using machine::F16;

enum Type : i32 { U8, S8, U16, S16, U32, S32, U64, S64, HALF, BRAIN, FLOAT, DOUBLE };
enum Way : i32 { TO_NEAREST, TO_ZERO, DOWNWARDS, UPWARDS };

// Flags: from, to, way to round, and whether small numbers are flushed: four bits each.
inline i32 from_type(const Instruction& n) { return n.flags & 15; }
inline i32 to_type(const Instruction& n) { return n.flags >> 4 & 15; }
inline i32 way_of(const Instruction& n) { return n.flags >> 8 & 3; }
inline bool flushes(const Instruction& n) { return n.flags >> 12 & 1; }

inline f64 whole(f64 value, i32 way) {
    switch (way) {
        case TO_ZERO: return std::trunc(value);
        case DOWNWARDS: return std::floor(value);
        case UPWARDS: return std::ceil(value);
        default: return std::nearbyint(value);
    }
}

inline f64 read_float(const Context& c, const Instruction& n, int i) {
    const Source& s = n.source[0];
    if (from_type(n) == DOUBLE) return wide(c, n, 0).number(i);
    const u32 raw = operand(c, n, 0)[i];
    const u16 half = s.half == 2 ? machine::high(raw) : machine::low(raw);
    switch (from_type(n)) {
        case HALF: return F16::widen(half);
        case BRAIN: return BF16::widen(half);
        default: return flushes(n) ? machine::flush(bits_of<f32>(raw)) : bits_of<f32>(raw);
    }
}

// Beyond the range is the end of the range; NaN becomes 0 in 32 bits.
inline u64 to_integer(f64 value, i32 type) {
    if (std::isnan(value)) return type >= U64 ? u64(1) << 63 : 0;
    const bool has_sign = type & 1;
    const int bits = 8 << (type >> 1);
    const f64 low = has_sign ? -std::ldexp(1.0, bits - 1) : 0;
    const f64 over = std::ldexp(1.0, has_sign ? bits - 1 : bits);
    if (value < low) return has_sign ? ~u64(0) << (bits - 1) : 0;
    if (value >= over) return has_sign ? (u64(1) << (bits - 1)) - 1 : bits == 64 ? ~u64(0) : (u64(1) << bits) - 1;
    return has_sign ? static_cast<u64>(static_cast<i64>(value)) : static_cast<u64>(value);
}

void f2i(Context& c, const Instruction& n) {
    const auto value = [&](int i) { return to_integer(whole(read_float(c, n, i), way_of(n)), to_type(n)); };
    if (to_type(n) >= U64)
        write_wide(c, n, value);
    else
        write(c, c.result(n), [&](int i) { return static_cast<u32>(value(i)); });
}

inline f32 to_float(f64 near, int above, i32 way) {
    const machine::Rounding ways[] = {machine::NEAREST, machine::TOWARDS_ZERO, machine::DOWN, machine::UP};
    return machine::directed(static_cast<f32>(near), above, ways[way]);
}

// An integer of 64 bits may need more digits than a double has.
template <class I> inline f32 float_of(I value, i32 way) {
    const f32 nearest = static_cast<f32>(value);
    const long double off = static_cast<long double>(nearest) - static_cast<long double>(value);
    return to_float(nearest, off > 0 ? 1 : off < 0 ? -1 : 0, way);
}

void i2f(Context& c, const Instruction& n) {
    const i32 from = from_type(n), to = to_type(n), way = way_of(n);
    const Wide both = wide(c, n, 0);
    const Operand word = operand(c, n, 0);
    const int begins = n.source[0].half ? 8 * (n.source[0].half - 4) : 0;
    const auto single = [&](int i) { return word[i] >> begins; };
    const auto whole_number = [&](int i) -> i64 {
        switch (from) {
            case U8: return static_cast<u8>(single(i));
            case S8: return static_cast<i8>(single(i));
            case U16: return static_cast<u16>(single(i));
            case S16: return static_cast<i16>(single(i));
            case U32: return single(i);
            case S32: return static_cast<i32>(single(i));
            default: return static_cast<i64>(both[i]);
        }
    };
    if (to == DOUBLE) {
        write_wide(c, n, [&](int i) {
            return bits_of<u64>(from == U64 ? static_cast<f64>(both[i]) : static_cast<f64>(whole_number(i)));
        });
        return;
    }
    write(c, c.result(n), [&](int i) {
        if (to == HALF) return static_cast<u32>(F16::narrow(static_cast<f64>(whole_number(i))));
        if (to == BRAIN) return static_cast<u32>(BF16::narrow(static_cast<f64>(whole_number(i))));
        return bits_of<u32>(from == U64 ? float_of(both[i], way) : float_of(whole_number(i), way));
    });
}

// Of 32 signed bits to the nearest of fewer. The flags are the result's type.
void i2i(Context& c, const Instruction& n) {
    const bool is_signed = n.flags == S8 || n.flags == S16;
    const int bits = n.flags == U8 || n.flags == S8 ? 8 : 16;
    const i32 least = is_signed ? -(1 << (bits - 1)) : 0, most = least + (1 << bits) - 1;
    map1(c, n, [&](u32 raw) { return bits_of<u32>(std::clamp(bits_of<i32>(raw), least, most)); });
}

void f2f(Context& c, const Instruction& n) {
    const i32 to = to_type(n), way = way_of(n);
    if (to == DOUBLE) {
        write_wide(c, n, [&](int i) { return bits_of<u64>(read_float(c, n, i)); });
        return;
    }
    write(c, c.result(n), [&](int i) {
        const f64 value = read_float(c, n, i);
        if (to == HALF) return static_cast<u32>(F16::narrow(value));
        if (to == BRAIN) return static_cast<u32>(BF16::narrow(value));
        const f32 nearest = static_cast<f32>(value);
        const f64 off = static_cast<f64>(nearest) - value;
        const f32 out = to_float(nearest, off > 0 ? 1 : off < 0 ? -1 : 0, way);
        return bits_of<u32>(flushes(n) ? machine::flush(out) : out);
    });
}

void frnd(Context& c, const Instruction& n) {
    if (to_type(n) == DOUBLE) {
        write_wide(c, n, [&](int i) { return bits_of<u64>(whole(read_float(c, n, i), way_of(n))); });
        return;
    }
    write(c, c.result(n), [&](int i) {
        return bits_of<u32>(static_cast<f32>(whole(read_float(c, n, i), way_of(n))));
    });
}

// Two floats as halves: the first goes into the upper one.
enum : i32 { TO_BRAIN = 1, PACK_RECTIFIES = 2 };

void f2fp(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    const auto narrow = [&](u32 raw) {
        f32 value = bits_of<f32>(raw);
        if ((flags & PACK_RECTIFIES) && value < 0) value = 0;
        return flags & TO_BRAIN ? BF16::narrow(value) : F16::narrow(value);
    };
    map2(c, n, [&](u32 a, u32 b) { return machine::pair(narrow(b), narrow(a)); });
}

}  // namespace

std::vector<Entry> conversion_entries() {
    return {{"F2I", f2i}, {"I2F", i2f}, {"F2F", f2f}, {"FRND", frnd}, {"F2FP", f2fp}, {"I2I", i2i}};
}

}  // namespace sass
