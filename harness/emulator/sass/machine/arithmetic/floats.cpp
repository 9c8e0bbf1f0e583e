// Single and double precision. Each operation rounds once; approximations are the nearest float.

#include "arithmetic/approximations.h"
#include "arithmetic/directions.h"

#include <cmath>

#include "comparisons.h"

namespace sass {
namespace {

enum : i32 { ROUNDING_BITS = 3, FLUSHES = 4, SATURATES = 8, SCALE_BITS = 7 << 4 };
// The rounding is encoded as a machine::Rounding.

// Runs `compute` with the rounding direction given by the flags.
template <class F> inline void in_direction(i32 flags, F compute) {
    if (!(flags & ROUNDING_BITS)) return compute();
    const machine::Direction direction(flags & ROUNDING_BITS);
    compute();
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
    in_direction(flags, [&] {
        map2(c, n, [&](u32 a, u32 b) {
            return bits_of<u32>(finished(number(a, flags) + number(b, flags), flags));
        });
    });
}

// A product times a power of two, rounded once. In double precision both are exact.
void scaled_product(Context& c, const Instruction& n) {
    static const double FACTORS[] = {1, 1 / 2., 1 / 4., 1 / 8., 8, 4, 2, 1};
    const i32 flags = n.flags;
    const double factor = FACTORS[(flags & SCALE_BITS) / 16];
    in_direction(flags, [&] {
        map2(c, n, [&](u32 a, u32 b) {
            const double exact = static_cast<double>(number(a, flags)) * number(b, flags) * factor;
            return bits_of<u32>(finished(static_cast<f32>(exact), flags));
        });
    });
}

void fmul(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    if (!flags) {
        map2(c, n, [](u32 a, u32 b) { return bits_of<u32>(canonical(bits_of<f32>(a) * bits_of<f32>(b))); });
        return;
    }
    if (flags & SCALE_BITS) return scaled_product(c, n);
    in_direction(flags, [&] {
        map2(c, n, [&](u32 a, u32 b) {
            return bits_of<u32>(finished(number(a, flags) * number(b, flags), flags));
        });
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
    in_direction(flags, [&] {
        map3(c, n, [&](u32 a, u32 b, u32 d) {
            const f32 x = number(a, flags), y = number(b, flags), z = number(d, flags);
            return bits_of<u32>(finished(std::fma(x, y, z), flags));
        });
    });
}

// A pair of floats in two rows. The sign modifiers apply to both.
struct Pair {
    const u32 *low, *high;
    u32 keep, flip;
    u32 first(int i) const { return (low[i] & keep) ^ flip; }
    u32 second(int i) const { return (high[i] & keep) ^ flip; }
};

inline Pair pair_of(const Context& c, const Instruction& n, int which) {
    const Source& s = n.source[which];
    return {c.source(s), c.source_high(s), s.keep, s.flip};
}

// Applies `compute` to the sources' first floats, and to their second ones.
template <int COUNT, class F> void of_pairs(Context& c, const Instruction& n, F compute) {
    const i32 flags = n.flags;
    Pair given[COUNT];
    for (int s = 0; s < COUNT; s++) given[s] = pair_of(c, n, s);
    in_direction(flags, [&] {
        write_wide(c, n, [&](int i) {
            f32 first[COUNT], second[COUNT];
            for (int s = 0; s < COUNT; s++) {
                first[s] = number(given[s].first(i), flags);
                second[s] = number(given[s].second(i), flags);
            }
            const u32 low = bits_of<u32>(finished(compute(first), flags));
            const u32 high = bits_of<u32>(finished(compute(second), flags));
            return static_cast<u64>(high) << 32 | low;
        });
    });
}

void fadd2(Context& c, const Instruction& n) {
    of_pairs<2>(c, n, [](const f32* x) { return x[0] + x[1]; });
}

void fmul2(Context& c, const Instruction& n) {
    of_pairs<2>(c, n, [](const f32* x) { return x[0] * x[1]; });
}

void ffma2(Context& c, const Instruction& n) {
    of_pairs<3>(c, n, [](const f32* x) { return std::fma(x[0], x[1], x[2]); });
}

enum : i32 { OF_BRAIN = 64 };

// Converts a half to a float, exactly.
inline f32 widened(const Source& s, u32 raw, i32 flags) {
    const u32 given = (raw & s.keep) ^ s.flip;
    const u16 half = s.half ? machine::high(given) : machine::low(given);
    return flags & OF_BRAIN ? machine::BF16::widen(half) : machine::F16::widen(half);
}

// Sums and products of halves, rounded once to a float.
void fhadd(Context& c, const Instruction& n) {
    const u32* a = c.source(n.source[0]);
    const Operand b = operand(c, n, 1);
    in_direction(n.flags, [&] {
        write(c, c.result(n), [&](int i) {
            const f32 x = widened(n.source[0], a[i], n.flags);
            return bits_of<u32>(finished(x + bits_of<f32>(b[i]), n.flags & SATURATES));
        });
    });
}

void fhfma(Context& c, const Instruction& n) {
    const u32 *a = c.source(n.source[0]), *b = c.source(n.source[1]);
    const Operand d = operand(c, n, 2);
    in_direction(n.flags, [&] {
        write(c, c.result(n), [&](int i) {
            const f32 x = widened(n.source[0], a[i], n.flags), y = widened(n.source[1], b[i], n.flags);
            const f32 sum = std::fma(x, y, bits_of<f32>(d[i]));
            return bits_of<u32>(finished(sum, n.flags & SATURATES));
        });
    });
}

enum : i32 { COMPARE_FLUSHES = 64 };

void fsetp(Context& c, const Instruction& n) {
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    const i32 flush = n.flags & COMPARE_FLUSHES ? FLUSHES : 0;
    set_compared(c, n, lanes_that_hold(n.flags, [&](int i) { return number(a[i], flush); },
                                       [&](int i) { return number(b[i], flush); }));
}

void fset(Context& c, const Instruction& n) {  // 1.0 or 0
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    const u32 found = combined(c, n, lanes_that_hold(n.flags, [&](int i) { return bits_of<f32>(a[i]); },
                                                     [&](int i) { return bits_of<f32>(b[i]); }));
    write(c, c.result(n), [&](int i) { return bit(found, i) ? bits_of<u32>(1.0f) : 0; });
}

enum : i32 { KEEPS_NAN = 1, JOINS_SIGNS = 2, EXTREME_FLUSHES = 4 };

// Maps a float's bits to an integer in the order of the values, with -0 below +0, so that comparing a row vectorises.
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
    const bool keeps_nan = n.flags & KEEPS_NAN, flushes = n.flags & EXTREME_FLUSHES;
    if (n.flags & JOINS_SIGNS)  // the result takes the combined sign that the magnitudes had before
        write(c, c.result(n), [&](int i) {
            const u32 magnitude = flushes ? extreme<LEAST>(flushed(a[i]), flushed(b[i]), keeps_nan)
                                          : extreme<LEAST>(a[i], b[i], keeps_nan);
            return is_nan(magnitude) ? magnitude : magnitude ^ ((a.row[i] ^ b.row[i]) & 0x80000000u);
        });
    else if (flushes)
        write(c, c.result(n),
              [&](int i) { return extreme<LEAST>(flushed(a[i]), flushed(b[i]), keeps_nan); });
    else
        write(c, c.result(n), [&](int i) { return extreme<LEAST>(a[i], b[i], keeps_nan); });
}

// The minimum if a predicate is true, otherwise the maximum.
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

void fmnmx3(Context& c, const Instruction& n) {
    const Operand a = operand(c, n, 0), b = operand(c, n, 1), d = operand(c, n, 2);
    const bool keeps_nan = n.flags & KEEPS_NAN, flushes = n.flags & EXTREME_FLUSHES;
    const u32 least = c.predicate(n, 0);
    write(c, c.result(n), [&](int i) {
        const auto given = [&](u32 raw) { return flushes ? flushed(raw) : raw; };
        const u32 x = given(a[i]), y = given(b[i]), z = given(d[i]);
        return bit(least, i) ? extreme<true>(extreme<true>(x, y, keeps_nan), z, keeps_nan)
                             : extreme<false>(extreme<false>(x, y, keeps_nan), z, keeps_nan);
    });
}

enum : i32 { LARGEST_OF_ALL = 1, OF_MAGNITUDES = 2, ANY_NAN = 4 };

// The smallest or the largest float of the active lanes, into a uniform register.
void redux_floats(Context& c, const Instruction& n) {
    const u32* a = c.source(n.source[0]);
    const bool keeps_nan = n.flags & ANY_NAN;
    bool first = true;
    u32 found = 0;
    each_lane(n.uniform ? c.active : c.on, [&](int i) {
        const u32 value = n.flags & OF_MAGNITUDES ? a[i] & 0x7FFFFFFFu : a[i];
        found = first ? value
                : n.flags & LARGEST_OF_ALL ? extreme<false>(found, value, keeps_nan)
                                           : extreme<true>(found, value, keeps_nan);
        first = false;
    });
    if (is_nan(found)) found = 0x7FFFFFFF;
    write(c, c.result(n), [&](int) { return found; });
}

// Whether a / b needs the slow path, that is, whether intermediate steps of the division could overflow or underflow
// at these exponents.
void fchk(Context& c, const Instruction& n) {
    const Operand a = operand(c, n, 0), b = operand(c, n, 1);
    c.set_predicate(n, 0, lanes_where([&](int i) {
        const int x = a[i] >> 23 & 0xFF, y = b[i] >> 23 & 0xFF;
        return x == 255 || y == 255 || x < 25 || y < 2 || y > 252 || x - y > 125 || x - y < -124;
    }));
}

enum : i32 { RCP, RSQ, EX2, LG2, SIN, COS, SQRT, TANH, RCP64H, RSQ64H };

// The other functions treat subnormals as zeros; ptxas scales the subnormals unless `.ftz` is
// given.
inline bool takes_subnormals(i32 which) { return which == SIN || which == COS || which == TANH; }

inline f32 approximated(i32 which, f32 x) {
    const f64 v = x;
    switch (which) {
        case RCP: return static_cast<f32>(1 / v);
        case RSQ: return static_cast<f32>(1 / std::sqrt(v));
        case EX2: return static_cast<f32>(std::exp2(v));
        case LG2: return static_cast<f32>(std::log2(v));
        // The operand of these is in turns: an RRO or a multiplication by 1 / (2 pi) precedes them.
        case SIN: return static_cast<f32>(std::sin(v * 6.283185307179586));
        case COS: return static_cast<f32>(std::cos(v * 6.283185307179586));
        case SQRT: return static_cast<f32>(std::sqrt(v));
        default: return static_cast<f32>(std::tanh(v));
    }
}

void mufu(Context& c, const Instruction& n) {
    const i32 which = n.flags;
    if (which >= RCP64H) {  // from a double's upper half to a double's upper half
        map1(c, n, [&](u32 a) { return machine::upper_reciprocal(a, which == RSQ64H); });
        return;
    }
    if (takes_subnormals(which)) {
        map1(c, n, [&](u32 a) { return bits_of<u32>(canonical(approximated(which, bits_of<f32>(a)))); });
        return;
    }
    map1(c, n, [&](u32 a) {
        const f32 out = approximated(which, machine::flush(bits_of<f32>(a)));
        return bits_of<u32>(canonical(machine::flush(out)));
    });
}

// --- double precision ---------------------------------------------------------------------------

void dadd(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    in_direction(n.flags, [&] {
        write_wide(c, n, [&](int i) {
            const f64 x = a.number(i), y = b.number(i);
            return bits_of<u64>(canonical(x + y, a.stored(i), b.stored(i)));
        });
    });
}

void dmul(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    in_direction(n.flags, [&] {
        write_wide(c, n, [&](int i) {
            const f64 x = a.number(i), y = b.number(i);
            return bits_of<u64>(canonical(x * y, a.stored(i), b.stored(i)));
        });
    });
}

void dfma(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1), d = wide(c, n, 2);
    in_direction(n.flags, [&] {
        write_wide(c, n, [&](int i) {
            const f64 x = a.number(i), y = b.number(i), z = d.number(i);
            return bits_of<u64>(
                canonical(std::fma(x, y, z), a.stored(i), b.stored(i), d.stored(i)));
        });
    });
}

void dsetp(Context& c, const Instruction& n) {
    const Wide a = wide(c, n, 0), b = wide(c, n, 1);
    set_compared(c, n, lanes_where([&](int i) { return holds(n.flags, a.number(i), b.number(i)); }));
}

// Whether the first of two doubles is the larger, or the smaller. A number takes precedence over NaN, and -0 is below
// +0. The second predicate says that both are NaN; ptxas then makes the second one quiet.
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
        {"FMNMX", fmnmx}, {"FMNMX3", fmnmx3}, {"REDUX.FLOATS", redux_floats}, {"FADD2", fadd2},
        {"FMUL2", fmul2}, {"FFMA2", ffma2}, {"FHADD", fhadd}, {"FHFMA", fhfma}, {"FCHK", fchk}, {"MUFU", mufu}, {"DADD", dadd}, {"DMUL", dmul},
        {"DFMA", dfma}, {"DSETP", dsetp}, {"DSETP.EXTREME", dsetp_extreme},
    };
}

}  // namespace sass
