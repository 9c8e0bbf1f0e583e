// Pairs of halves, f16 or bf16. A source may use one half of its register for both.

#include <cmath>

#include "comparisons.h"

namespace sass {
namespace {

using machine::BF16;
using machine::F16;

enum : i32 { BRAIN = 1, TO_FLOAT = 2, SATURATES = 4, RECTIFIES = 8, FLUSHES = 16, KEEPS_NAN = 32, JOINS_SIGNS = 64 };

struct Pairs {
    const u32* row;
    u32 keep, flip;
    i32 half;
    u32 stored(int i) const {
        const u32 raw = row[i];
        switch (half) {
            case 1: return (raw & 0xFFFF) * 0x10001u;
            case 2: return (raw >> 16) * 0x10001u;
            case 3: return raw >> 16 | raw << 16;
            default: return raw;
        }
    }
    u32 operator[](int i) const { return (stored(i) & keep) ^ flip; }
};

inline Pairs pairs(const Context& c, const Instruction& n, int which) {
    const Source& s = n.source[which];
    return {c.source(s), s.keep, s.flip, s.half};
}

template <class H, class T> inline u16 finished(T value, i32 flags) {
    if (flags & SATURATES) value = machine::saturate(value);
    if ((flags & RECTIFIES) && value <= 0) value = 0;
    u16 raw = H::narrow(value);
    if ((flags & FLUSHES) && (raw & 0x7FFF) < H::SMALLEST_NORMAL) raw &= 0x8000;
    return raw;
}

template <class H, class F> void each_half(Context& c, const Instruction& n, F f) {
    write(c, c.result(n), [&](int i) {
        return machine::pair(finished<H>(f(i, false), n.flags), finished<H>(f(i, true), n.flags));
    });
}

// An operand, in which `.FTZ` replaces subnormals by zero.
template <class H, class FTZ> inline f32 given(u32 both, bool upper, FTZ) {
    u16 raw = upper ? machine::high(both) : machine::low(both);
    if (FTZ::value && (raw & 0x7FFF) < H::SMALLEST_NORMAL) raw &= 0x8000;
    return H::widen(raw);
}

// Calls `compute` with a compile-time flag for flushing operands, so that there is no test per lane.
template <class F> inline void with_flag(i32 flags, F compute) {
    flags & FLUSHES ? compute(std::true_type{}) : compute(std::false_type{});
}

template <class H> void hadd2(Context& c, const Instruction& n) {
    using Exact = typename H::Exact;
    const Pairs a = pairs(c, n, 0), b = pairs(c, n, 1);
    with_flag(n.flags, [&](auto ftz) {
        if (n.flags & TO_FLOAT)
            write(c, c.result(n), [&](int i) {
                return bits_of<u32>(canonical(given<H>(a[i], false, ftz) + given<H>(b[i], false, ftz)));
            });
        else
            each_half<H>(c, n, [&](int i, bool upper) {
                return Exact(given<H>(a[i], upper, ftz)) + Exact(given<H>(b[i], upper, ftz));
            });
    });
}

template <class H> void hmul2(Context& c, const Instruction& n) {
    using Exact = typename H::Exact;
    const Pairs a = pairs(c, n, 0), b = pairs(c, n, 1);
    with_flag(n.flags, [&](auto ftz) {
        each_half<H>(c, n, [&](int i, bool upper) {
            return Exact(given<H>(a[i], upper, ftz)) * Exact(given<H>(b[i], upper, ftz));
        });
    });
}

// The product is exact in double precision; the sum is rounded to odd, so that the result is rounded only once.
template <class H> void hfma2(Context& c, const Instruction& n) {
    const Pairs a = pairs(c, n, 0), b = pairs(c, n, 1), d = pairs(c, n, 2);
    const auto fused = [&](int i, bool upper, auto ftz) {
        const f64 product = f64(given<H>(a[i], upper, ftz)) * given<H>(b[i], upper, ftz);
        const f64 other = given<H>(d[i], upper, ftz);
        f64 sum = product + other;
        if (std::isfinite(sum)) {
            const f64 part = sum - product;
            const f64 rest = (product - (sum - part)) + (other - part);
            const u64 raw = bits_of<u64>(sum);
            if (rest != 0 && !(raw & 1)) sum = bits_of<f64>((rest > 0) == (sum > 0) ? raw + 1 : raw - 1);
        }
        return sum;
    };
    with_flag(n.flags, [&](auto ftz) {
        each_half<H>(c, n, [&](int i, bool upper) { return fused(i, upper, ftz); });
    });
}

template <class H> void hmnmx2(Context& c, const Instruction& n) {
    const u32 least = c.predicate(n, 0);
    const Pairs a = pairs(c, n, 0), b = pairs(c, n, 1);
    const bool keeps_nan = n.flags & KEEPS_NAN;
    const auto chosen = [&](int i, auto ftz) {
        u16 out[2];
        for (int k = 0; k < 2; k++) {
            const f32 x = given<H>(a[i], k, ftz), y = given<H>(b[i], k, ftz);
            const f32 value = bit(least, i) ? keeps_nan ? machine::least_or_nan(x, y)
                                                        : machine::least(x, y)
                              : keeps_nan ? machine::greatest_or_nan(x, y)
                                          : machine::greatest(x, y);
            out[k] = H::narrow(value);
            const u32 signs = (a.stored(i) ^ b.stored(i)) >> 16 * k & 0x8000;
            if ((n.flags & JOINS_SIGNS) && value == value) out[k] = static_cast<u16>(out[k] ^ signs);
        }
        return machine::pair(out[0], out[1]);
    };
    with_flag(n.flags, [&](auto ftz) {
        write(c, c.result(n), [&](int i) { return chosen(i, ftz); });
    });
}

// --- comparisons --------------------------------------------------------------------------------

enum : i32 { COMPARISON_FLUSHES = 64, GIVES_ONES = 128 };

// The lanes whose comparison holds, combined with a predicate, for the low halves and for the high ones.
template <class H> void compared(Context& c, const Instruction& n, u32 (&found)[2]) {
    const Pairs a = pairs(c, n, 0), b = pairs(c, n, 1);
    with_flag(n.flags & COMPARISON_FLUSHES ? FLUSHES : 0, [&](auto ftz) {
        for (int k = 0; k < 2; k++)
            found[k] = combined(c, n, lanes_that_hold(
                n.flags, [&](int i) { return given<H>(a[i], k, ftz); },
                [&](int i) { return given<H>(b[i], k, ftz); }));
    });
}

// The first predicate is for the low halves, the second for the high ones.
template <class H> void hsetp2(Context& c, const Instruction& n) {
    u32 found[2];
    compared<H>(c, n, found);
    for (int k = 0; k < 2; k++) c.set_predicate(n, k, found[k]);
}

// Sets each half for which the comparison holds to all one bits, or to the number 1.
template <class H> void hset2(Context& c, const Instruction& n) {
    u32 found[2];
    compared<H>(c, n, found);
    const u16 yes = n.flags & GIVES_ONES ? H::ONE : 0xFFFF;
    write(c, c.result(n), [&](int i) {
        return machine::pair(bit(found[0], i) ? yes : 0, bit(found[1], i) ? yes : 0);
    });
}

// Computes one half, which becomes the lower half of the result.
template <class H> void mufu_tanh(Context& c, const Instruction& n) {
    const Pairs a = pairs(c, n, 0);
    write(c, c.result(n), [&](int i) {
        return u32(H::narrow(std::tanh(static_cast<f64>(H::widen(machine::low(a[i]))))));
    });
}

}  // namespace

std::vector<Entry> half_entries() {
    return {
        {"MUFU.TANH.F16", mufu_tanh<F16>}, {"MUFU.TANH.BF16", mufu_tanh<BF16>},
        {"HADD2", hadd2<F16>}, {"HADD2.BF16", hadd2<BF16>}, {"HMUL2", hmul2<F16>},
        {"HMUL2.BF16", hmul2<BF16>}, {"HFMA2", hfma2<F16>}, {"HFMA2.BF16", hfma2<BF16>},
        {"HMNMX2", hmnmx2<F16>}, {"HMNMX2.BF16", hmnmx2<BF16>},
        {"HSETP2", hsetp2<F16>}, {"HSETP2.BF16", hsetp2<BF16>},
        {"HSET2", hset2<F16>}, {"HSET2.BF16", hset2<BF16>},
    };
}

}  // namespace sass
