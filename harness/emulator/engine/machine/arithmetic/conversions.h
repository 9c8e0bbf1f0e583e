// Conversions between integers and floats, for both front ends.

#pragma once

#include "floats.h"

namespace machine {

// NaN becomes 0 as an integer of up to 32 bits, unless it was a double; otherwise only the highest bit is set (PTX ISA,
// `cvt`). In machine code `.NTZ` means that it becomes 0.
constexpr bool nan_is_zero(bool of_double, int bits) { return !of_double && bits < 64; }
constexpr u64 integer_of_nan(int bits, bool is_zero) { return is_zero ? 0 : u64(1) << (bits - 1); }

// An integer as a double; a wide one that is not exact is rounded to odd.
template <class T> inline f64 odd(T a) {
    if constexpr (sizeof(T) < 8) return a;
    constexpr u64 cut = 0xFFF, exact = u64(1) << 52;
    const u64 size = std::is_signed_v<T> && a < 0 ? -static_cast<u64>(a) : static_cast<u64>(a);
    const bool big = size > exact && (static_cast<u64>(a) & cut);
    return static_cast<f64>(big ? static_cast<T>((static_cast<u64>(a) & ~cut) | 0x800) : a);
}

// Converts an integer to a float, rounded once.
template <class T, class I> inline T of_integer(I a, i64 rounding) {
    using Exact = std::conditional_t<sizeof(I) == 8, __int128, i64>;
    const T nearest = static_cast<T>(a);
    return directed(nearest, compared(static_cast<Exact>(nearest), static_cast<Exact>(a)), rounding);
}

inline f32 narrowed(f64 a, i64 rounding) {
    const f32 nearest = static_cast<f32>(a);
    return directed(nearest, compared(static_cast<f64>(nearest), a), rounding);
}

}  // namespace machine
