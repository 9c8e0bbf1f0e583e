// Conversions between integers and floats of any size.

#include "arithmetic/conversions.h"
#include "arithmetic/fp8.h"

#include <algorithm>
#include <cmath>

#include "rows_of.h"

namespace sass {
namespace {

using machine::BF16;
using machine::F16;

enum Type : i32 { U8, S8, U16, S16, U32, S32, U64, S64, HALF, BRAIN, FLOAT, DOUBLE };

// Flags, four bits each: the source type, the target type and the rounding (a machine::Rounding). The bits above say
// whether subnormals are flushed, and whether NaN becomes 0.
inline i32 from_type(const Instruction& n) { return n.flags & 15; }
inline i32 to_type(const Instruction& n) { return n.flags >> 4 & 15; }
inline i32 way_of(const Instruction& n) { return n.flags >> 8 & 3; }
inline bool flushes(const Instruction& n) { return n.flags >> 12 & 1; }
inline bool nan_is_zero(const Instruction& n) { return n.flags >> 13 & 1; }

inline f64 whole(f64 value, i32 way) {
    switch (way) {
        case machine::TOWARDS_ZERO: return std::trunc(value);
        case machine::DOWN: return std::floor(value);
        case machine::UP: return std::ceil(value);
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

inline u32 to_half(f64 value, i32 type, i32 way) {
    return type == HALF ? machine::narrow<F16>(value, way) : machine::narrow<BF16>(value, way);
}

// Values outside the range become the nearest end of the range.
inline u64 to_integer(f64 value, i32 type, bool nan_is_zero) {
    const bool has_sign = type & 1;
    const int bits = 8 << (type >> 1);
    if (std::isnan(value)) return machine::integer_of_nan(bits, nan_is_zero);
    const f64 low = has_sign ? -std::ldexp(1.0, bits - 1) : 0;
    const f64 over = std::ldexp(1.0, has_sign ? bits - 1 : bits);
    if (value < low) return has_sign ? ~u64(0) << (bits - 1) : 0;
    if (value >= over) return has_sign ? (u64(1) << (bits - 1)) - 1 : bits == 64 ? ~u64(0) : (u64(1) << bits) - 1;
    return has_sign ? static_cast<u64>(static_cast<i64>(value)) : static_cast<u64>(value);
}

void f2i(Context& c, const Instruction& n) {
    const auto value = [&](int i) {
        return to_integer(whole(read_float(c, n, i), way_of(n)), to_type(n), nan_is_zero(n));
    };
    if (to_type(n) >= U64)
        write_wide(c, n, value);
    else
        write(c, c.result(n), [&](int i) { return static_cast<u32>(value(i)); });
}

// Calls `use` with a function that reads a lane's integer, from one word or two.
template <class F> void with_numbers(const Context& c, const Instruction& n, F use) {
    const Wide both = wide(c, n, 0);
    const Operand word = operand(c, n, 0);
    const int begins = n.source[0].half ? 8 * (n.source[0].half - 4) : 0;
    switch (from_type(n)) {
        case U8: return use([=](int i) -> u32 { return static_cast<u8>(word[i] >> begins); });
        case S8: return use([=](int i) -> i32 { return static_cast<i8>(word[i] >> begins); });
        case U16: return use([=](int i) -> u32 { return static_cast<u16>(word[i] >> begins); });
        case S16: return use([=](int i) -> i32 { return static_cast<i16>(word[i] >> begins); });
        case U32: return use([=](int i) -> u32 { return word[i] >> begins; });
        case S32: return use([=](int i) -> i32 { return static_cast<i32>(word[i] >> begins); });
        case U64: return use([=](int i) -> u64 { return both[i]; });
        default: return use([=](int i) -> i64 { return static_cast<i64>(both[i]); });
    }
}

void i2f(Context& c, const Instruction& n) {
    const i32 to = to_type(n), way = way_of(n);
    with_numbers(c, n, [&](auto number) {
        if (to == DOUBLE)
            write_wide(c, n, [&](int i) { return bits_of<u64>(machine::of_integer<f64>(number(i), way)); });
        else if (to == FLOAT)
            write(c, c.result(n), [&](int i) { return bits_of<u32>(machine::of_integer<f32>(number(i), way)); });
        else
            write(c, c.result(n), [&](int i) { return to_half(machine::odd(number(i)), to, way); });
    });
}

// Converts 32 signed bits to the nearest value in fewer bits. The flags are the result's type.
void i2i(Context& c, const Instruction& n) {
    const bool is_signed = n.flags == S8 || n.flags == S16;
    const int bits = n.flags == U8 || n.flags == S8 ? 8 : 16;
    const i32 least = is_signed ? -(1 << (bits - 1)) : 0, most = least + (1 << bits) - 1;
    map1(c, n, [&](u32 raw) { return bits_of<u32>(std::clamp(bits_of<i32>(raw), least, most)); });
}

void f2f(Context& c, const Instruction& n) {
    const i32 from = from_type(n), to = to_type(n), way = way_of(n);
    if (to == DOUBLE) {
        write_wide(c, n, [&](int i) { return bits_of<u64>(read_float(c, n, i)); });
        return;
    }
    write(c, c.result(n), [&](int i) {
        const f64 value = read_float(c, n, i);
        if (to == HALF && from == DOUBLE) return u32(machine::of_double<F16>(value, way));
        if (to == BRAIN && from == DOUBLE) return u32(machine::of_double<BF16>(value, way));
        if (to != FLOAT) return to_half(value, to, way);
        const f32 out = machine::narrowed(value, way);
        return bits_of<u32>(flushes(n) ? canonical(machine::flush(out)) : out);
    });
}

void frnd(Context& c, const Instruction& n) {
    const i32 to = to_type(n), way = way_of(n);
    if (to == DOUBLE) {
        write_wide(c, n, [&](int i) { return bits_of<u64>(whole(read_float(c, n, i), way)); });
        return;
    }
    write(c, c.result(n), [&](int i) {
        const f64 value = whole(read_float(c, n, i), way);
        return to == FLOAT ? bits_of<u32>(canonical(static_cast<f32>(value))) : to_half(value, to, way);
    });
}

// Packs two floats as halves. The first goes into the upper half.
enum : i32 { TO_BRAIN = 1, PACK_RECTIFIES = 2, TRUNCATES = 4 };

void f2fp(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    const auto narrow = [&](u32 raw) {
        f32 value = bits_of<f32>(raw);
        if ((flags & PACK_RECTIFIES) && value <= 0) value = 0;
        if (flags & TRUNCATES) return to_half(value, flags & TO_BRAIN ? BRAIN : HALF, machine::TOWARDS_ZERO);
        return static_cast<u32>(flags & TO_BRAIN ? BF16::narrow(value) : F16::narrow(value));
    };
    map2(c, n, [&](u32 a, u32 b) { return narrow(a) << 16 | narrow(b); });
}

// Packs two 8-bit floats into a half word. The first goes into the upper byte; the upper half of the result is the
// lower half of the last operand.
enum : i32 { TO_E5M2 = 1, FROM_HALVES = 4 };

template <class F> void f2fp_to_bytes(Context& c, const Instruction& n, u32 (*first)(u32), u32 (*second)(u32), int third) {
    const bool rectifies = n.flags & PACK_RECTIFIES;
    const Operand a = operand(c, n, 0), b = operand(c, n, third - 1), above = operand(c, n, third);
    write(c, c.result(n), [&](int i) {
        const f32 high = bits_of<f32>(first(a[i])), low = bits_of<f32>(second(b[i]));
        return static_cast<u32>(F::narrow(high, rectifies) << 8 | F::narrow(low, rectifies)) | above[i] << 16;
    });
}

u32 as_it_is(u32 raw) { return raw; }
u32 upper_half(u32 raw) { return bits_of<u32>(F16::widen(static_cast<u16>(raw >> 16))); }
u32 lower_half(u32 raw) { return bits_of<u32>(F16::widen(static_cast<u16>(raw))); }

template <class F> void pack_bytes(Context& c, const Instruction& n) {
    if (n.flags & FROM_HALVES)
        f2fp_to_bytes<F>(c, n, upper_half, lower_half, 1);
    else
        f2fp_to_bytes<F>(c, n, as_it_is, as_it_is, 2);
}

void f2fp_bytes(Context& c, const Instruction& n) {
    if (n.flags & TO_E5M2)
        pack_bytes<machine::E5M2>(c, n);
    else
        pack_bytes<machine::E4M3>(c, n);
}

template <class F> void unpack_bytes(Context& c, const Instruction& n) {
    const bool rectifies = n.flags & PACK_RECTIFIES;
    const int from = n.source[0].half ? 16 : 0;
    map1(c, n, [&](u32 raw) {
        const u32 both = raw >> from;
        return machine::pair(F::widen(static_cast<u8>(both), rectifies),
                             F::widen(static_cast<u8>(both >> 8), rectifies));
    });
}

void f2fp_halves(Context& c, const Instruction& n) {
    if (n.flags & TO_E5M2)
        unpack_bytes<machine::E5M2>(c, n);
    else
        unpack_bytes<machine::E4M3>(c, n);
}

// Packs two signed words, clamped to 8 or 16 bits, with the second one lowest. Above two bytes comes the lower half of
// the third operand.
void i2ip(Context& c, const Instruction& n) {
    const bool is_signed = n.flags & 1, is_half = n.flags & 2;
    const i32 bits = is_half ? 16 : 8, most = (1 << (bits - is_signed)) - 1;
    const i32 least = is_signed ? -most - 1 : 0;
    const u32 kept = (1u << bits) - 1;
    map3(c, n, [&](u32 a, u32 b, u32 d) {
        const u32 upper = static_cast<u32>(std::clamp(static_cast<i32>(a), least, most)) & kept;
        const u32 lower = static_cast<u32>(std::clamp(static_cast<i32>(b), least, most)) & kept;
        return upper << bits | lower | (is_half ? 0 : d << 16);
    });
}

}  // namespace

std::vector<Entry> conversion_entries() {
    return {{"F2I", f2i}, {"I2F", i2f}, {"F2F", f2f}, {"FRND", frnd}, {"F2FP", f2fp}, {"F2FP.BYTES", f2fp_bytes}, {"F2FP.HALVES", f2fp_halves}, {"I2I", i2i}, {"I2IP", i2ip}};
}

}  // namespace sass
