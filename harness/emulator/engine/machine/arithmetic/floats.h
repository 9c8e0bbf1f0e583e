// Float helpers for several tables: bits, `.ftz` and `.sat`, extremes, directed rounding.

#pragma once

#include <cmath>
#include <limits>

#include "machine.h"

namespace machine {

using f32 = float;
using f64 = double;

// How an operation's immediate encodes its modifiers; `lowering/arithmetic.py` has the same numbers.
enum Rounding : i64 { NEAREST, TOWARDS_ZERO, DOWN, UP, NEAREST_AWAY };
constexpr i64 ROUNDING = 7;
constexpr i64 FLUSHES = 8, SATURATES = 16, RECTIFIES = 32, FINITE = 64;

template <class To, class From> inline To bits_of(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To out;
    std::memcpy(&out, &value, sizeof out);
    return out;
}

// Replaces NaN by the NaN that a GPU returns (CUDA C++ Programming Guide, "Floating-Point Standard", and H100
// readings): in single precision always the same one; in double precision the last operand that is NaN (of three:
// the second, else the third, else the first), made quiet, or CUDART_NAN of math_constants.h if no operand is NaN. A
// host's own NaN differs: on x86 its sign bit is set, on Arm it is not, and the compiler chooses which of two operands
// is passed on.
template <class... Operands> inline f32 canonical(f32 result, Operands...) {
    return result == result ? result : bits_of<f32>(0x7FFFFFFFu);
}
inline f64 quiet(f64 a) { return bits_of<f64>(bits_of<u64>(a) | u64(1) << 51); }
inline f64 canonical(f64 result, f64 a = 0) {
    const f64 none = a != a ? quiet(a) : bits_of<f64>(0xFFF8000000000000u);
    return result == result ? result : none;
}
inline f64 canonical(f64 result, f64 a, f64 b) { return canonical(result, b != b ? b : a); }
inline f64 canonical(f64 result, f64 a, f64 b, f64 c) { return canonical(result, c != c ? c : a, b); }

// `.ftz` applies only to single precision.
inline f32 flush(f32 a) {
    return std::fabs(a) < std::numeric_limits<f32>::min() ? std::copysign(0.0f, a) : a;
}
inline f64 flush(f64 a) { return a; }

template <class T> inline T saturate(T a) { return a > 0 ? (a < 1 ? a : T(1)) : T(0); }

// Of NaN and a number, the result is the number; -0 is less than +0.
template <class T> inline T least(T a, T b) {
    const T chosen = a < b || (a == b && std::signbit(a)) ? a : b;
    return a != a ? b : b != b ? a : chosen;
}

template <class T> inline T greatest(T a, T b) {
    const T chosen = a > b || (a == b && !std::signbit(a)) ? a : b;
    return a != a ? b : b != b ? a : chosen;
}

template <class T> inline T least_or_nan(T a, T b) { return a != a ? a : b != b ? b : least(a, b); }
template <class T> inline T greatest_or_nan(T a, T b) {
    return a != a ? a : b != b ? b : greatest(a, b);
}

template <class T> inline int compared(T a, T b) { return (a > b) - (a < b); }

// The next number up or down, computed from the bits of a float of any size.
template <class U> inline U neighbour(U raw, bool up) {
    constexpr U top = static_cast<U>(U(1) << (8 * sizeof(U) - 1));
    if (!(raw & ~top)) return up ? U(1) : static_cast<U>(top | 1);
    return static_cast<U>(((raw & top) != 0) == up ? raw - 1 : raw + 1);
}

// Whether rounding to nearest went in the wrong direction; `above` is the sign of its result minus
// the exact value.
inline bool went_wrong(bool negative, int above, i64 rounding) {
    return rounding == DOWN ? above > 0
           : rounding == UP ? above < 0
                            : rounding == TOWARDS_ZERO && (negative ? above < 0 : above > 0);
}

template <class U, class T> inline T directed(T nearest, int above, i64 rounding) {
    const U raw = bits_of<U>(nearest);
    // Rounding towards zero never goes beyond zero itself.
    if (!went_wrong(std::signbit(nearest), above, rounding)) return nearest;
    if (nearest == 0 && rounding == TOWARDS_ZERO) return nearest;
    return bits_of<T>(neighbour(raw, above < 0));
}

inline f32 directed(f32 nearest, int above, i64 rounding) {
    return directed<u32, f32>(nearest, above, rounding);
}
inline f64 directed(f64 nearest, int above, i64 rounding) {
    return directed<u64, f64>(nearest, above, rounding);
}

}  // namespace machine
