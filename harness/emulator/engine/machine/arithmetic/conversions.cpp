// `cvt` between integers and floats; halves are in `halves.cpp`.

#include "conversions.h"
#include "rows.h"

namespace machine {
namespace {

inline f64 rounded(f64 a, i64 rounding) {
    switch (rounding) {
        case NEAREST: return std::nearbyint(a);
        case TOWARDS_ZERO: return std::trunc(a);
        case DOWN: return std::floor(a);
        default: return std::ceil(a);
    }
}

// Values out of range are clamped.
template <class T, class F> void to_integer(Context& c, const Op& op) {
    const i64 rounding = op.immediate & ROUNDING;
    const bool flushes = op.immediate & FLUSHES;
    constexpr int bits = 8 * sizeof(T);
    constexpr bool is_zero = nan_is_zero(sizeof(F) == 8, bits);
    map<T, F>(c, op, [=](F a) -> T {
        const f64 whole = rounded(flushes ? flush(a) : a, rounding);
        constexpr T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
        if (whole != whole) return static_cast<T>(integer_of_nan(bits, is_zero));
        if (whole >= static_cast<f64>(most)) return most;
        if (whole <= static_cast<f64>(least)) return least;
        return static_cast<T>(whole);
    });
}

template <class F> void to_whole(Context& c, const Op& op) {
    const i64 rounding = op.immediate & ROUNDING;
    const bool flushes = op.immediate & FLUSHES;
    map<F, F>(c, op, [=](F a) -> F {
        const F whole = static_cast<F>(rounded(flushes ? flush(a) : a, rounding));
        return canonical(flushes ? flush(whole) : whole, a);
    });
}

#define FROM_INTEGER(N, T)                                         \
    OP1("cvt/u8." N, u8, T, static_cast<u8>(a))                    \
    OP1("cvt/s8." N, i8, T, static_cast<i8>(a))                    \
    OP1("cvt/u16." N, u16, T, static_cast<u16>(a))                 \
    OP1("cvt/s16." N, i16, T, static_cast<i16>(a))                 \
    OP1("cvt/u32." N, u32, T, static_cast<u32>(a))                 \
    OP1("cvt/s32." N, i32, T, static_cast<i32>(a))                 \
    OP1("cvt/u64." N, u64, T, static_cast<u64>(a))                 \
    OP1("cvt/s64." N, i64, T, static_cast<i64>(a))                 \
    OP1("cvt/f32." N, f32, T, static_cast<f32>(a))                 \
    OP1("cvt/f64." N, f64, T, static_cast<f64>(a))

#define TO_INTEGER(N, T)                   \
    {"cvt/" N ".f32", to_integer<T, f32>}, \
    {"cvt/" N ".f64", to_integer<T, f64>},

}  // namespace

std::vector<Entry> conversion_entries() {
    return {
        FROM_INTEGER("u8", u8) FROM_INTEGER("s8", i8) FROM_INTEGER("u16", u16)
        FROM_INTEGER("s16", i16) FROM_INTEGER("u32", u32) FROM_INTEGER("s32", i32)
        FROM_INTEGER("u64", u64) FROM_INTEGER("s64", i64)
        TO_INTEGER("u8", u8) TO_INTEGER("s8", i8) TO_INTEGER("u16", u16) TO_INTEGER("s16", i16)
        TO_INTEGER("u32", u32) TO_INTEGER("s32", i32) TO_INTEGER("u64", u64)
        TO_INTEGER("s64", i64)
        {"cvt.whole/f32.f32", to_whole<f32>},
        {"cvt.whole/f64.f64", to_whole<f64>},
        OP1("cvt/f32.f32", f32, f32, a)
        OP1("cvt.ftz/f32.f32", f32, f32, canonical(flush(a)))
        OP1("cvt.sat/f32.f32", f32, f32, saturate(a))
        OP1("cvt.ftz.sat/f32.f32", f32, f32, flush(saturate(flush(a))))
        OP1("cvt/f64.f64", f64, f64, a)
        OP1("cvt.sat/f64.f64", f64, f64, saturate(a))
        OP1("cvt/f64.f32", f64, f32, a)
        OP1("cvt.ftz/f64.f32", f64, f32, canonical(flush(a)))
        OP1("cvt/f32.f64", f32, f64, static_cast<f32>(a))
        OP1("cvt.odd/f64.u64", f64, u64, odd<u64>(a))
        OP1("cvt.odd/f64.s64", f64, i64, odd<i64>(a))
        OP1("cvt.ftz/f32.f64", f32, f64, flush(static_cast<f32>(a)))
    };
}

}  // namespace machine
