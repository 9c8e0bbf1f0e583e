// Arithmetic and conversions rounded towards zero, down or up.

#include "conversions.h"
#include "directions.h"
#include "rows.h"

namespace machine {
namespace {

template <class T> inline T finished(T value, i64 how) {
    if (how & SATURATES) value = saturate(value);
    return how & FLUSHES ? flush(value) : value;
}

#define GIVEN(A) (how & FLUSHES ? flush(A) : A)

#define DIRECTED1(NAME, N, T, VALUE)                                                       \
    {NAME ".directed/" N, [](Context& c, const Op& op) {                                   \
         const i64 how = op.immediate;                                                     \
         const Direction direction(how & ROUNDING);                                        \
         map<T, T>(c, op, [=](T a) {                                                       \
             a = GIVEN(a);                                                                 \
             return canonical(finished<T>(VALUE, how), a);                                 \
         });                                                                               \
     }},

#define DIRECTED2(NAME, N, T, VALUE, FIRST, SECOND)                                                       \
    {NAME ".directed/" N, [](Context& c, const Op& op) {                                   \
         const i64 how = op.immediate;                                                     \
         const Direction direction(how & ROUNDING);                                        \
         map<T, T, T>(c, op, [=](T a, T b) {                                               \
             a = GIVEN(a), b = GIVEN(b);                                                   \
             return canonical(finished<T>(VALUE, how), FIRST, SECOND);                     \
         });                                                                               \
     }},

#define DIRECTED3(NAME, N, T, VALUE)                                                       \
    {NAME ".directed/" N, [](Context& ctx, const Op& op) {                                 \
         const i64 how = op.immediate;                                                     \
         const Direction direction(how & ROUNDING);                                        \
         map<T, T, T, T>(ctx, op, [=](T a, T b, T c) {                                     \
             a = GIVEN(a), b = GIVEN(b), c = GIVEN(c);                                     \
             return canonical(finished<T>(VALUE, how), a, b, c);                           \
         });                                                                               \
     }},

#define DIRECTED(N, T)                                                                     \
    DIRECTED2("add", N, T, a + b, a, b) DIRECTED2("sub", N, T, a - b, a, b)                \
    DIRECTED2("mul", N, T, a * b, a, b) DIRECTED2("div", N, T, a / b, b, a)                \
    DIRECTED3("fma", N, T, std::fma(a, b, c)) DIRECTED3("mad", N, T, std::fma(a, b, c))    \
    DIRECTED1("rcp", N, T, T(1) / a) DIRECTED1("sqrt", N, T, std::sqrt(a))

template <class T, class I> void integer_directed(Context& c, const Op& op) {
    const i64 rounding = op.immediate & ROUNDING;
    map<T, I>(c, op, [=](I a) { return of_integer<T>(a, rounding); });
}

void narrow_directed(Context& c, const Op& op) {
    const i64 how = op.immediate;
    map<f32, f64>(c, op, [=](f64 a) { return finished(narrowed(a, how & ROUNDING), how); });
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
