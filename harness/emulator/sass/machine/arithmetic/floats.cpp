// Single and double precision. Each operation rounds once; approximations are the nearest float.

#include <cmath>

#include "rows_of.h"

namespace sass {
namespace {

enum : i32 { ROUNDING_BITS = 3, TO_ZERO = 1, DOWNWARDS = 2, UPWARDS = 3, FLUSHES = 4, SATURATES = 8 };

// The sum of two doubles with its last bit odd if it is not exact: rounding that to a float in any
// direction is as good as rounding the sum itself.
inline f64 odd_sum(f64 a, f64 b) {
    const f64 sum = a + b;
    if (!std::isfinite(sum)) return sum;
    const f64 part = sum - a, rest = (a - (sum - part)) + (b - part);
    if (rest == 0) return sum;
    const u64 raw = bits_of<u64>(sum);
    if (raw & 1) return sum;
    return bits_of<f64>((rest > 0) == (sum > 0) ? raw + 1 : raw - 1);
}

inline f32 rounded(f64 exact, i32 flags) {
    const f32 nearest = static_cast<f32>(exact);
    const i32 way = flags & ROUNDING_BITS;
    if (!way || std::isnan(exact) || std::isinf(exact)) return nearest;
    const f64 back = static_cast<f64>(nearest);
    if (back == exact) return nearest;
    const f32 below = back > exact ? std::nextafterf(nearest, -INFINITY) : nearest;
    const f32 above = back < exact ? std::nextafterf(nearest, INFINITY) : nearest;
    if (way == DOWNWARDS) return below;
    if (way == UPWARDS) return above;
    return exact > 0 ? below : above;
}

inline f32 finished(f32 value, i32 flags) {
    if (flags & FLUSHES) value = machine::flush(value);
    if (flags & SATURATES) value = machine::saturate(value);
    return canonical(value);
}

inline f32 number(u32 raw, i32 flags) {
    const f32 value = bits_of<f32>(raw);
    return flags & FLUSHES ? machine::flush(value) : value;
}

void fadd(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    if (!flags) {
        map2(c, n, [](u32 a, u32 b) { return bits_of<u32>(canonical(bits_of<f32>(a) + bits_of<f32>(b))); });
        return;
    }
    map2(c, n, [&](u32 a, u32 b) {
        const f32 x = number(a, flags), y = number(b, flags);
        const f32 sum = flags & ROUNDING_BITS ? rounded(odd_sum(x, y), flags) : x + y;
        return bits_of<u32>(finished(sum, flags));
    });
}

void fmul(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    if (!flags) {
        map2(c, n, [](u32 a, u32 b) { return bits_of<u32>(canonical(bits_of<f32>(a) * bits_of<f32>(b))); });
        return;
    }
    map2(c, n, [&](u32 a, u32 b) {
        const f64 exact = static_cast<f64>(number(a, flags)) * number(b, flags);
        return bits_of<u32>(finished(rounded(exact, flags), flags));
    });
}

void ffma(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    if (!flags) {
        map3(c, n, [](u32 a, u32 b, u32 d) {
            return bits_of<u32>(
                canonical(std::fma(bits_of<f32>(a), bits_of<f32>(b), bits_of<f32>(d))));
        });
        return;
    }
    map3(c, n, [&](u32 a, u32 b, u32 d) {
        const f32 x = number(a, flags), y = number(b, flags), z = number(d, flags);
        const f32 out = flags & ROUNDING_BITS
                            ? rounded(odd_sum(static_cast<f64>(x) * y, z), flags)
                            : std::fma(x, y, z);
        return bits_of<u32>(finished(out, flags));
    });
}

// Comparisons: see ISETP; bit 3 is "unordered".
enum : i32 { OR = 16, XOR = 32, COMPARE_FLUSHES = 64 };

inline bool holds(i32 flags, f64 x, f64 y) {
    return x < y ? flags & 1 : x == y ? flags & 2 : x > y ? flags & 4 : flags & 8;
}

// The lanes for which it holds; each relation by itself, which is a vector's work.
template <class X, class Y> inline u32 lanes_that_hold(i32 flags, X x, Y y) {
    const u32 below = lanes_where([&](int i) { return x(i) < y(i); });
    const u32 equal = lanes_where([&](int i) { return x(i) == y(i); });
    const u32 above = lanes_where([&](int i) { return x(i) > y(i); });
    return (flags & 1 ? below : 0) | (flags & 2 ? equal : 0) | (flags & 4 ? above : 0) |
           (flags & 8 ? ~(below | equal | above) : 0);
}

void set_compared(Context& c, const Instruction& n, u32 found) {
    const u32 with = c.predicate(n, 0);
    const auto both = [&](u32 lanes) {
        return n.flags & OR ? lanes | with : n.flags & XOR ? lanes ^ with : lanes & with;
    };
    c.set_predicate(n, 0, both(found));
    c.set_predicate(n, 1, both(~found));
}

void fsetp(Context& c, const Instruction& n) {
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    const i32 flush = n.flags & COMPARE_FLUSHES ? FLUSHES : 0;
    set_compared(c, n, lanes_that_hold(n.flags, [&](int i) { return number(a[i], flush); },
                                       [&](int i) { return number(b[i], flush); }));
}

void fset(Context& c, const Instruction& n) {  // 1.0 or 0
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    const u32 with = c.predicate(n, 0);
    write(c, c.result(n), [&](int i) {
        const bool found = holds(n.flags, bits_of<f32>(a[i]), bits_of<f32>(b[i]));
        const bool both = n.flags & OR ? found || bit(with, i) : found && bit(with, i);
        return both ? bits_of<u32>(1.0f) : 0;
    });
}

enum : i32 { KEEPS_NAN = 1, EXTREME_FLUSHES = 4 };

// Floats by their bits, so that a row of them is a vector's work: in the order of their values, -0
// below +0.
inline i32 in_order(u32 raw) {
    return static_cast<i32>(raw ^ static_cast<u32>(static_cast<i32>(raw) >> 31) >> 1);
}
inline bool is_nan(u32 raw) { return raw << 1 > 0xFF000000u; }
inline u32 flushed(u32 raw) { return raw & 0x7F800000u ? raw : raw & 0x80000000u; }

template <bool LEAST> inline u32 extreme(u32 a, u32 b, bool keeps_nan) {
    const bool first = LEAST ? in_order(a) < in_order(b) : in_order(a) > in_order(b);
    const u32 number = first ? a : b, of_nan_a = keeps_nan ? a : b, of_nan_b = keeps_nan ? b : a;
    const u32 chosen = is_nan(a) ? of_nan_a : is_nan(b) ? of_nan_b : number;
    return is_nan(chosen) ? 0x7FFFFFFF : chosen;
}

template <bool LEAST> void extremes(Context& c, const Instruction& n) {
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    const bool keeps_nan = n.flags & KEEPS_NAN;
    if (n.flags & EXTREME_FLUSHES)
        write(c, c.result(n),
              [&](int i) { return extreme<LEAST>(flushed(a[i]), flushed(b[i]), keeps_nan); });
    else
        write(c, c.result(n), [&](int i) { return extreme<LEAST>(a[i], b[i], keeps_nan); });
}

// The lesser where a predicate is true, else the greater.
void fmnmx(Context& c, const Instruction& n) {
    const u32 on = c.on, least = c.predicate(n, 0) & on;
    if (least) {
        c.act(least);
        extremes<true>(c, n);
    }
    if (least != on) {
        c.act(on & ~least);
        extremes<false>(c, n);
    }
}

// Whether a / b needs the slow path: exponents at which the quotient's steps could leave the range.
void fchk(Context& c, const Instruction& n) {
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    c.set_predicate(n, 0, lanes_where([&](int i) {
        const int x = a[i] >> 23 & 0xFF, y = b[i] >> 23 & 0xFF;
        return x == 255 || y == 255 || x < 25 || y < 2 || y > 252 || x - y > 125 || x - y < -124;
    }));
}

enum : i32 { RCP, RSQ, EX2, LG2, SIN, COS, SQRT, TANH, RCP64H, RSQ64H };

inline f32 approximated(i32 which, f32 x) {
    const f64 v = x;
    switch (which) {
        case RCP: return static_cast<f32>(1 / v);
        case RSQ: return static_cast<f32>(1 / std::sqrt(v));
        case EX2: return static_cast<f32>(std::exp2(v));
        case LG2: return static_cast<f32>(std::log2(v));
        // The operand of these is in turns: RRO or a multiplication by 1 / 2 pi stands before.
        case SIN: return static_cast<f32>(std::sin(v * 6.283185307179586));
        case COS: return static_cast<f32>(std::cos(v * 6.283185307179586));
        case SQRT: return static_cast<f32>(std::sqrt(v));
        default: return static_cast<f32>(std::tanh(v));
    }
}

void mufu(Context& c, const Instruction& n) {
    const i32 which = n.flags;
    if (which >= RCP64H) {  // of a double's upper half, into one
        map1(c, n, [&](u32 a) {
            const f64 x = bits_of<f64>(static_cast<u64>(a) << 32);
            const f64 out = canonical(which == RCP64H ? 1 / x : 1 / std::sqrt(x), x);
            return static_cast<u32>(bits_of<u64>(out) >> 32);
        });
        return;
    }
    map1(c, n, [&](u32 a) { return bits_of<u32>(canonical(approximated(which, bits_of<f32>(a)))); });
}

// --- double precision ---------------------------------------------------------------------------

using Exact = machine::Quad;

// To nearest is done already; any other way is a step from there, by the side that it is off to.
inline u64 rounded_double(f64 nearest, Exact exact, i32 flags) {
    const machine::Rounding ways[] = {machine::NEAREST, machine::TOWARDS_ZERO, machine::DOWN, machine::UP};
    const machine::Rounding way = ways[flags & ROUNDING_BITS];
    if (way == machine::NEAREST || !std::isfinite(nearest)) return bits_of<u64>(nearest);
    const Exact off = static_cast<Exact>(nearest) - exact;
    return bits_of<u64>(machine::directed(nearest, off > 0 ? 1 : off < 0 ? -1 : 0, way));
}

void dadd(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    write_wide(c, n, [&](int i) {
        const f64 x = a.number(i), y = b.number(i), nearest = canonical(x + y, x, y);
        return n.flags ? rounded_double(nearest, static_cast<Exact>(x) + y, n.flags) : bits_of<u64>(nearest);
    });
}

void dmul(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    write_wide(c, n, [&](int i) {
        const f64 x = a.number(i), y = b.number(i), nearest = canonical(x * y, x, y);
        return n.flags ? rounded_double(nearest, static_cast<Exact>(x) * y, n.flags) : bits_of<u64>(nearest);
    });
}

void dfma(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1), d = wide(c, n, 2);
    write_wide(c, n, [&](int i) {
        const f64 x = a.number(i), y = b.number(i), z = d.number(i);
        const f64 nearest = canonical(std::fma(x, y, z), x, y, z);
        return n.flags ? rounded_double(nearest, static_cast<Exact>(x) * y + z, n.flags)
                       : bits_of<u64>(nearest);
    });
}

void dsetp(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    set_compared(c, n, lanes_where([&](int i) { return holds(n.flags, a.number(i), b.number(i)); }));
}

// Which of two doubles is the larger, or the smaller: a number before NaN, -0 below +0. The second
// predicate says that neither is a number; ptxas then makes a quiet one of the second.
enum : i32 { LARGEST = 1 };

void dsetp_extreme(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    const u32 with = c.predicate(n, 0);
    const bool largest = n.flags & LARGEST;
    const auto before = [&](f64 x, f64 y) {
        if (x == y) return std::signbit(x) != std::signbit(y) && std::signbit(x) != largest;
        return largest ? x > y : x < y;
    };
    c.set_predicate(n, 0, with & lanes_where([&](int i) {
        const f64 x = a.number(i), y = b.number(i);
        return !std::isnan(x) && (std::isnan(y) || before(x, y));
    }));
    c.set_predicate(n, 1, with & lanes_where([&](int i) {
        return std::isnan(a.number(i)) && std::isnan(b.number(i));
    }));
}

}  // namespace

std::vector<Entry> float_entries() {
    return {
        {"FADD", fadd}, {"FMUL", fmul}, {"FFMA", ffma}, {"FSETP", fsetp}, {"FSET", fset},
        {"FMNMX", fmnmx}, {"FCHK", fchk}, {"MUFU", mufu}, {"DADD", dadd}, {"DMUL", dmul},
        {"DFMA", dfma}, {"DSETP", dsetp}, {"DSETP.EXTREME", dsetp_extreme},
    };
}

}  // namespace sass
