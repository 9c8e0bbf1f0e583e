// Arithmetic rounded towards zero, down or up.
//
// A result is computed to nearest, and the sign of its error in a type that has more than twice the
// bits; from these follows the neighbour that was asked for.

#include "floats.h"
#include "rows.h"

namespace machine {
namespace {

template <class T> using Wide = std::conditional_t<sizeof(T) == 8, Quad, f64>;

// To nearest, the sign of that less the exact result, and whether an exact zero would be -0 when
// rounded down: if it is a sum whose terms have opposite signs.
template <class T> struct Found {
    T nearest;
    int above;
    bool cancels;
};

// The sign of `nearest` less the exact a + b.
template <class W> inline int above_sum(W nearest, W a, W b) {
    const W total = a + b;
    if (total != nearest) return compared(nearest, total);
    const W part = total - a, error = (a - (total - part)) + (b - part);
    return compared(W(0), error);
}

template <class T> inline Found<T> sum(T a, T b) {
    const T nearest = a + b;
    return {nearest, above_sum<Wide<T>>(nearest, a, b), std::signbit(a) != std::signbit(b)};
}

template <class T> inline Found<T> fused(T a, T b, T c) {
    const T nearest = std::fma(a, b, c);
    const bool negative = std::signbit(a) != std::signbit(b);
    const Wide<T> product = Wide<T>(a) * Wide<T>(b);
    return {nearest, above_sum<Wide<T>>(nearest, product, c), negative != std::signbit(c)};
}

template <class T> inline Found<T> product(T a, T b) {
    const T nearest = a * b;
    return {nearest, compared(Wide<T>(nearest), Wide<T>(a) * Wide<T>(b)), false};
}

template <class T> inline Found<T> quotient(T a, T b) {
    const T nearest = a / b;
    const int excess = compared(Wide<T>(nearest) * Wide<T>(b), Wide<T>(a));
    return {nearest, std::signbit(b) ? -excess : excess, false};
}

template <class T> inline Found<T> root(T a) {
    const T nearest = std::sqrt(a);
    return {nearest, compared(Wide<T>(nearest) * Wide<T>(nearest), Wide<T>(a)), false};
}

template <class T> inline T finished(const Found<T>& found, i64 how) {
    const i64 rounding = how & ROUNDING;
    T out = directed(found.nearest, found.above, rounding);
    if (rounding == DOWN && found.cancels && found.nearest == 0 && found.above == 0) out = T(-0.0);
    if (how & SATURATES) out = saturate(out);
    return how & FLUSHES ? flush(out) : out;
}

#define GIVEN(A) (how & FLUSHES ? flush(A) : A)

#define DIRECTED1(NAME, N, T, FOUND)                                                       \
    {NAME ".directed/" N, [](Context& c, const Op& op) {                                   \
         const i64 how = op.immediate;                                                     \
         map<T, T>(c, op, [=](T a) {                                                       \
             a = GIVEN(a);                                                                 \
             return canonical(finished<T>(FOUND, how), a);                                 \
         });                                                                               \
     }},

#define DIRECTED2(NAME, N, T, FOUND)                                                       \
    {NAME ".directed/" N, [](Context& c, const Op& op) {                                   \
         const i64 how = op.immediate;                                                     \
         map<T, T, T>(c, op, [=](T a, T b) {                                               \
             a = GIVEN(a), b = GIVEN(b);                                                   \
             return canonical(finished<T>(FOUND, how), a, b);                              \
         });                                                                               \
     }},

#define DIRECTED3(NAME, N, T, FOUND)                                                       \
    {NAME ".directed/" N, [](Context& ctx, const Op& op) {                                 \
         const i64 how = op.immediate;                                                     \
         map<T, T, T, T>(ctx, op, [=](T a, T b, T c) {                                     \
             a = GIVEN(a), b = GIVEN(b), c = GIVEN(c);                                     \
             return canonical(finished<T>(FOUND, how), a, b, c);                           \
         });                                                                               \
     }},

#define DIRECTED(N, T)                                                                     \
    DIRECTED2("add", N, T, sum<T>(a, b)) DIRECTED2("sub", N, T, sum<T>(a, -b))             \
    DIRECTED2("mul", N, T, product<T>(a, b)) DIRECTED2("div", N, T, quotient<T>(a, b))     \
    DIRECTED3("fma", N, T, fused<T>(a, b, c)) DIRECTED3("mad", N, T, fused<T>(a, b, c))    \
    DIRECTED1("rcp", N, T, quotient<T>(T(1), a)) DIRECTED1("sqrt", N, T, root<T>(a))

// Integers to floats, which are compared with them in 128 bits.
template <class T, class I> void integer_directed(Context& c, const Op& op) {
    const i64 rounding = op.immediate & ROUNDING;
    map<T, I>(c, op, [=](I a) {
        const T nearest = static_cast<T>(a);
        return directed(nearest, compared(static_cast<__int128>(nearest), static_cast<__int128>(a)), rounding);
    });
}

void narrow_directed(Context& c, const Op& op) {
    const i64 rounding = op.immediate & ROUNDING;
    map<f32, f64>(c, op, [=](f64 a) {
        const f32 nearest = static_cast<f32>(a);
        return directed(nearest, compared(static_cast<f64>(nearest), a), rounding);
    });
}

}  // namespace

std::vector<Entry> rounding_entries() {
    return {
        DIRECTED("f32", f32)
        DIRECTED("f64", f64)
        {"cvt.directed/f32.f64", narrow_directed},
        {"cvt.directed/f32.u32", integer_directed<f32, u32>},
        {"cvt.directed/f32.s32", integer_directed<f32, i32>},
        {"cvt.directed/f32.u64", integer_directed<f32, u64>},
        {"cvt.directed/f32.s64", integer_directed<f32, i64>},
        {"cvt.directed/f64.u64", integer_directed<f64, u64>},
        {"cvt.directed/f64.s64", integer_directed<f64, i64>},
    };
}

}  // namespace machine
