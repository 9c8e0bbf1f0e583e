// Floats and doubles rounded to the nearest, as defined in the PTX ISA manual; other roundings are in
// `roundings.cpp`.
//
// Operations without an entry here or in another table of this folder are refused. The tests compute all of them a
// second time, on NumPy arrays (`tests/emulator/reference/arrays`), and compare.

#include "approximations.h"

#include "comparisons.h"

namespace machine {
namespace {

// PTX ISA, `div.approx`: the reciprocal of a divisor greater than 2^126 is flushed to zero.
inline f32 approximate_quotient(f32 a, f32 b) {
    return std::fabs(b) > 0x1p126f ? a * std::copysign(0.0f, b) : a / b;
}

// Approximate instructions are computed in double precision and rounded once.
#define THROUGH_DOUBLE(FUNCTION) static_cast<f32>(FUNCTION(static_cast<f64>(a)))

#define FLOATS1_SINGLE(NAME, EXPRESSION)                                              \
    OP1(NAME "/f32", f32, f32, canonical(EXPRESSION))                                 \
    {NAME ".ftz/f32", [](Context& c, const Op& op) {                                  \
         map<f32, f32>(c, op, [](f32 a) {                                             \
             a = flush(a);                                                            \
             return canonical(flush(EXPRESSION));                                     \
         });                                                                          \
     }},

#define FLOATS1(NAME, EXPRESSION, F64_EXPRESSION)                                     \
    FLOATS1_SINGLE(NAME, EXPRESSION)                                                  \
    OP1(NAME "/f64", f64, f64, F64_EXPRESSION)

#define FLOATS2_SINGLE(NAME, EXPRESSION)                                                         \
    OP2(NAME "/f32", f32, f32, f32, canonical(EXPRESSION))                                       \
    {NAME ".ftz/f32", [](Context& c, const Op& op) {                                             \
         map<f32, f32, f32>(c, op, [](f32 a, f32 b) {                                            \
             a = flush(a), b = flush(b);                                                         \
             return canonical(flush(EXPRESSION));                                                \
         });                                                                                     \
     }},

#define FLOATS2(NAME, EXPRESSION, FIRST, SECOND)                                                 \
    FLOATS2_SINGLE(NAME, EXPRESSION)                                                             \
    OP2(NAME "/f64", f64, f64, f64, canonical(EXPRESSION, FIRST, SECOND))

#define SATURATING2(NAME, EXPRESSION)                                                            \
    OP2(NAME ".sat/f32", f32, f32, f32, saturate(EXPRESSION))                                    \
    {NAME ".ftz.sat/f32", [](Context& c, const Op& op) {                                         \
         map<f32, f32, f32>(c, op, [](f32 a, f32 b) {                                            \
             a = flush(a), b = flush(b);                                                         \
             return flush(saturate(EXPRESSION));                                                 \
         });                                                                                     \
     }},

#define FUSED(NAME)                                                                              \
    OP3(NAME "/f32", f32, f32, f32, f32, canonical(std::fma(a, b, c)))                           \
    OP3(NAME ".sat/f32", f32, f32, f32, f32, saturate(std::fma(a, b, c)))                        \
    OP3(NAME ".ftz/f32", f32, f32, f32, f32,                                                     \
        canonical(flush(std::fma(flush(a), flush(b), flush(c)))))                                \
    OP3(NAME ".ftz.sat/f32", f32, f32, f32, f32,                                                 \
        flush(saturate(std::fma(flush(a), flush(b), flush(c)))))                                 \
    OP3(NAME "/f64", f64, f64, f64, f64, canonical(std::fma(a, b, c), a, b, c))

#define UNORDERED(N, T)                                                  \
    OP2("setp.equ/" N, Predicate, T, T, !(a < b || a > b))               \
    OP2("setp.neu/" N, Predicate, T, T, a != b)                          \
    OP2("setp.ltu/" N, Predicate, T, T, !(a >= b))                       \
    OP2("setp.leu/" N, Predicate, T, T, !(a > b))                        \
    OP2("setp.gtu/" N, Predicate, T, T, !(a <= b))                       \
    OP2("setp.geu/" N, Predicate, T, T, !(a < b))                        \
    OP2("setp.num/" N, Predicate, T, T, a == a && b == b)                \
    OP2("setp.nan/" N, Predicate, T, T, a != a || b != b)

#define TESTED(N, T)                                                     \
    OP1("testp.finite/" N, Predicate, T, std::fabs(a) <= std::numeric_limits<T>::max()) \
    OP1("testp.infinite/" N, Predicate, T, std::fabs(a) > std::numeric_limits<T>::max()) \
    OP1("testp.number/" N, Predicate, T, a == a)                         \
    OP1("testp.notanumber/" N, Predicate, T, a != a)                     \
    OP1("testp.normal/" N, Predicate, T, std::fabs(a) <= std::numeric_limits<T>::max() && \
        std::fabs(a) >= std::numeric_limits<T>::min())                   \
    OP1("testp.subnormal/" N, Predicate, T, a != 0 && std::fabs(a) < std::numeric_limits<T>::min())

}  // namespace

std::vector<Entry> float_entries() {
    return {
        FLOATS2("add", a + b, a, b) FLOATS2("sub", a - b, a, b) FLOATS2("mul", a * b, a, b)
        FLOATS2("div", a / b, b, a)  // ptxas considers the dividend first
        FLOATS2_SINGLE("div.approx", approximate_quotient(a, b))
        SATURATING2("add", a + b) SATURATING2("sub", a - b) SATURATING2("mul", a * b)
        FUSED("fma") FUSED("mad")
        FLOATS2("min", least(a, b), a, b) FLOATS2("max", greatest(a, b), a, b)
        FLOATS2_SINGLE("min.NaN", least_or_nan(a, b))
        FLOATS2_SINGLE("max.NaN", greatest_or_nan(a, b))
        OP2("with_sign/f32", u32, u32, u32, a > 0x7F800000 ? 0x7FFFFFFF : a ^ (b & 0x80000000))
        OP2("copysign/f32", f32, f32, f32, std::copysign(b, a))
        OP2("copysign/f64", f64, f64, f64, std::copysign(b, a))
        FLOATS1("neg", -a, -a) FLOATS1("abs", std::fabs(a), std::fabs(a))
        FLOATS1("rcp", 1.0f / a, canonical(1.0 / a, a))
        FLOATS1("sqrt", std::sqrt(a), canonical(std::sqrt(a), a))
        FLOATS1("rsqrt", static_cast<f32>(1.0 / std::sqrt(static_cast<f64>(a))),
                canonical(1.0 / std::sqrt(a), a))
        OP1("rcp.approx.ftz/f64", f64, f64, reciprocal_of_upper(a, false))
        OP1("rsqrt.approx.ftz/f64", f64, f64, reciprocal_of_upper(a, true))
        FLOATS1_SINGLE("ex2", THROUGH_DOUBLE(std::exp2))
        FLOATS1_SINGLE("lg2", THROUGH_DOUBLE(std::log2))
        FLOATS1_SINGLE("sin", THROUGH_DOUBLE(std::sin))
        FLOATS1_SINGLE("cos", THROUGH_DOUBLE(std::cos))
        OP1("tanh/f32", f32, f32, canonical(THROUGH_DOUBLE(std::tanh)))
        COMPARED("f32", f32) COMPARED("f64", f64) UNORDERED("f32", f32) UNORDERED("f64", f64)
        TESTED("f32", f32) TESTED("f64", f64)
    };
}

}  // namespace machine
