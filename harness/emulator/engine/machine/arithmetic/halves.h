// The two half-precision formats, and conversions to and from floats.

#pragma once

#include "floats.h"

namespace machine {

constexpr u16 CANONICAL_NAN = 0x7FFF;

// Converts a double to a float. If it is not exact, the result is the neighbouring float whose last bit is odd:
// rounding that to fewer bits gives the same result as rounding the double.
inline f32 odd(f64 value) {
    const f32 nearest = static_cast<f32>(value);
    const f64 back = static_cast<f64>(nearest);
    const u32 raw = bits_of<u32>(nearest);
    const bool inexact = back < value || back > value;
    const u32 stepped = std::fabs(value) > std::fabs(back) ? raw + 1 : raw - 1;
    return bits_of<f32>(inexact && !(raw & 1) ? stepped : raw);
}

// `Exact` is a type that holds every product of two values.
struct F16 {
    using Exact = f32;
    static constexpr u16 ONE = 0x3C00, INFINITE = 0x7C00, SMALLEST_NORMAL = 0x0400;
    static constexpr int DROPPED = 13;  // bits of a float's fraction that a half does not have

    static f32 widen(u16 raw) {
        const u32 magnitude = raw & 0x7FFF;
        const u32 scaled = bits_of<u32>(bits_of<f32>(magnitude << 13) * 0x1p112f);
        const u32 wide = magnitude >= INFINITE ? scaled | 0x7F800000 : scaled;
        return bits_of<f32>(wide | static_cast<u32>(raw & 0x8000) << 16);
    }

    static u16 narrow(f32 value) {
        const u32 raw = bits_of<u32>(value), magnitude = raw & 0x7FFFFFFF;
        const u32 normal = (magnitude + 0xFFF + (magnitude >> 13 & 1) - (u32(112) << 23)) >> 13;
        // Floats starting at 0.5 have the same spacing as the smallest halves.
        const u32 small = bits_of<u32>(bits_of<f32>(magnitude) + 0.5f) - bits_of<u32>(0.5f);
        const u32 kept = magnitude < 0x38800000 ? small : normal;
        const u32 bounded = magnitude >= 0x477FF000 ? u32(INFINITE) : kept;
        const u32 signed_ = bounded | (raw >> 16 & 0x8000);
        return static_cast<u16>(magnitude > 0x7F800000 ? u32(CANONICAL_NAN) : signed_);
    }

    static u16 narrow(f64 value) { return narrow(odd(value)); }
};

struct BF16 {
    using Exact = f64;
    static constexpr u16 ONE = 0x3F80, INFINITE = 0x7F80, SMALLEST_NORMAL = 0x0080;
    static constexpr int DROPPED = 16;

    static f32 widen(u16 raw) { return bits_of<f32>(static_cast<u32>(raw) << 16); }

    static u16 narrow(f32 value) {
        const u32 raw = bits_of<u32>(value);
        const u32 rounded = (raw + 0x7FFF + (raw >> 16 & 1)) >> 16;
        return static_cast<u16>(value != value ? u32(CANONICAL_NAN) : rounded);
    }

    static u16 narrow(f64 value) { return narrow(odd(value)); }
};

// Converts a double to a half, rounded once in any direction.
template <class H> inline u16 narrow(f64 value, i64 rounding = NEAREST) {
    const u16 nearest = H::narrow(value);
    const int above = compared(static_cast<f64>(H::widen(nearest)), value);
    const bool zero = (nearest & 0x7FFF) == 0 && rounding == TOWARDS_ZERO;
    if (zero || !went_wrong(nearest >> 15, above, rounding)) return nearest;
    return neighbour(nearest, above < 0);
}

// Converts a double to a half. The sign and the upper bits of NaN are kept, as on an H200.
template <class H> inline u16 of_double(f64 value, i64 rounding = NEAREST) {
    if (value == value) return narrow<H>(value, rounding);
    const f32 nearest = static_cast<f32>(value);
    const u32 raw = bits_of<u32>(nearest);
    return static_cast<u16>(raw >> 16 & 0x8000) | H::INFINITE | (raw & 0x7FFFFF) >> H::DROPPED;
}

inline u32 pair(u16 low, u16 high) { return static_cast<u32>(high) << 16 | low; }
inline u16 low(u32 both) { return static_cast<u16>(both); }
inline u16 high(u32 both) { return static_cast<u16>(both >> 16); }

// A float has twice a half's significant bits plus two, so rounding its result once more is correct.
template <class H> inline u16 sum(u16 a, u16 b) { return H::narrow(H::widen(a) + H::widen(b)); }
template <class H> inline u16 difference(u16 a, u16 b) { return H::narrow(H::widen(a) - H::widen(b)); }
template <class H> inline u16 product(u16 a, u16 b) { return H::narrow(H::widen(a) * H::widen(b)); }

// In memory: of NaN and a number, the result is the number.
template <class H> inline u16 least_half(u16 a, u16 b) { return H::narrow(least(H::widen(a), H::widen(b))); }
template <class H> inline u16 greatest_half(u16 a, u16 b) { return H::narrow(greatest(H::widen(a), H::widen(b))); }

}  // namespace machine
