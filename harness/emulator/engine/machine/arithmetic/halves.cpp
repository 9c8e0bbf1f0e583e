// Half precision: operands are widened, and results are computed in such a way that narrowing them
// rounds correctly.
//
// `.ftz`, `.sat`, `.relu` and `.satfinite` are separate operations on the rounded halves, which is equivalent, because
// rounding never crosses 0 or 1.

#include "halves.h"
#include "rows.h"

namespace machine {
namespace {

// a·b + c: the product is exact in the type `Exact`, and the sum is rounded to odd.
template <class H> inline u16 fused_half(u16 a, u16 b, u16 c) {
    using T = typename H::Exact;
    using Bits = std::conditional_t<sizeof(T) == 8, i64, i32>;
    const T product = T(H::widen(a)) * T(H::widen(b)), other = H::widen(c), total = product + other;
    const T part = total - product, error = (product - (total - part)) + (other - part);
    const Bits raw = bits_of<Bits>(total), stepped = (error > 0) == (total > 0) ? raw + 1 : raw - 1;
    const bool inexact = (error < 0 || error > 0) && !(raw & 1);
    return H::narrow(bits_of<T>(inexact ? stepped : raw));
}

template <class H, class F> inline u16 applied(F f, u16 a, u16 b) {
    return H::narrow(f(H::widen(a), H::widen(b)));
}

// Approximate instructions are computed in double precision and rounded once.
template <class H> inline u16 power_of_two(u16 a) {
    return H::narrow(std::exp2(static_cast<f64>(H::widen(a))));
}
template <class H> inline u16 hyperbolic_tangent(u16 a) {
    return H::narrow(std::tanh(static_cast<f64>(H::widen(a))));
}

template <class H> inline u16 modified(u16 a, i64 how) {
    const u16 magnitude = a & 0x7FFF, sign = a & 0x8000;
    const bool number = magnitude <= H::INFINITE;
    u16 out = a;
    if (how & SATURATES) out = sign || !number ? u16(0) : magnitude > H::ONE ? H::ONE : magnitude;
    if (how & RECTIFIES) out = sign && number ? u16(0) : out;
    if (how & FINITE) out = (out & 0x7FFF) == H::INFINITE ? static_cast<u16>(out - 1) : out;
    if (how & FLUSHES) out = (out & 0x7FFF) < H::SMALLEST_NORMAL ? static_cast<u16>(out & 0x8000) : out;
    return out;
}

template <class H> void modify(Context& c, const Op& op) {
    const i64 how = op.immediate;
    map<u16, u16>(c, op, [=](u16 a) { return modified<H>(a, how); });
}
template <class H> void modify_pair(Context& c, const Op& op) {
    const i64 how = op.immediate;
    map<u32, u32>(c, op, [=](u32 a) { return pair(modified<H>(low(a), how), modified<H>(high(a), how)); });
}

template <class H> void narrow_directed(Context& c, const Op& op) {
    const i64 rounding = op.immediate;
    map<u16, f32>(c, op, [=](f32 a) { return narrow<H>(a, rounding); });
}
template <class H> void narrow_double(Context& c, const Op& op) {
    const i64 rounding = op.immediate;
    map<u16, f64>(c, op, [=](f64 a) { return of_double<H>(a, rounding); });
}

// A magnitude with its sign flipped by that of another operand, unless it is NaN.
template <class H> inline u16 with_sign(u16 magnitude, u16 signs) {
    return magnitude > H::INFINITE ? CANONICAL_NAN : static_cast<u16>(magnitude ^ (signs & 0x8000));
}

// Rounds to the 10-bit fraction of tf32; the remaining bits are zero.
void to_tf32(Context& c, const Op& op) {
    const i64 how = op.immediate, rounding = how & ROUNDING;
    map<u32, f32>(c, op, [=](f32 a) -> u32 {
        if (a != a) return rounding == NEAREST_AWAY ? bits_of<u32>(a) & ~u32(0x1FFF) : 0x7FFFE000;
        if (how & RECTIFIES && a <= 0) a = 0;
        const u32 raw = bits_of<u32>(a), magnitude = raw & 0x7FFFFFFF;
        const u32 more = rounding == TOWARDS_ZERO ? 0
                         : rounding == NEAREST_AWAY ? 0x1000
                                                    : 0xFFF + (magnitude >> 13 & 1);
        u32 rounded = magnitude + more;
        if (how & FINITE && rounded > 0x7F7FFFFF) rounded = 0x7F7FFFFF;
        if (magnitude == 0x7F800000) rounded = magnitude;
        return (rounded & ~u32(0x1FFF)) | (raw & 0x80000000);
    });
}

#define UNARY(NAME, N, FUNCTION)                                                               \
    OP1(NAME "/" N, u16, u16, FUNCTION(a))                                                     \
    OP1(NAME "/" N "x2", u32, u32, pair(FUNCTION(low(a)), FUNCTION(high(a))))

#define BINARY(NAME, N, FUNCTION)                                                              \
    OP2(NAME "/" N, u16, u16, u16, FUNCTION(a, b))                                             \
    OP2(NAME "/" N "x2", u32, u32, u32,                                                        \
        pair(FUNCTION(low(a), low(b)), FUNCTION(high(a), high(b))))

#define EXTREME(NAME, N, H, FUNCTION)                                                          \
    OP2(NAME "/" N, u16, u16, u16, applied<H>(FUNCTION<f32>, a, b))                            \
    OP2(NAME "/" N "x2", u32, u32, u32,                                                        \
        pair(applied<H>(FUNCTION<f32>, low(a), low(b)), applied<H>(FUNCTION<f32>, high(a), high(b))))

#define COMPARED_HALVES(N, H)                                                                  \
    COMPARED_HALF("eq", N, H, x == y) COMPARED_HALF("ne", N, H, x < y || x > y)                \
    COMPARED_HALF("lt", N, H, x < y) COMPARED_HALF("le", N, H, x <= y)                         \
    COMPARED_HALF("gt", N, H, x > y) COMPARED_HALF("ge", N, H, x >= y)                         \
    COMPARED_HALF("equ", N, H, !(x < y || x > y)) COMPARED_HALF("neu", N, H, x != y)           \
    COMPARED_HALF("ltu", N, H, !(x >= y)) COMPARED_HALF("leu", N, H, !(x > y))                 \
    COMPARED_HALF("gtu", N, H, !(x <= y)) COMPARED_HALF("geu", N, H, !(x < y))                 \
    COMPARED_HALF("num", N, H, x == x && y == y) COMPARED_HALF("nan", N, H, x != x || y != y)

#define COMPARED_HALF(NAME, N, H, EXPRESSION)                                                  \
    {"setp." NAME "/" N, [](Context& c, const Op& op) {                                        \
         map<Predicate, u16, u16>(c, op, [](u16 a, u16 b) -> bool {                            \
             [[maybe_unused]] const f32 x = H::widen(a), y = H::widen(b);                      \
             return EXPRESSION;                                                                \
         });                                                                                   \
     }},

#define HALF(N, H)                                                                             \
    BINARY("add", N, sum<H>) BINARY("sub", N, difference<H>) BINARY("mul", N, product<H>)      \
    EXTREME("min", N, H, least) EXTREME("max", N, H, greatest)                                 \
    EXTREME("min.NaN", N, H, least_or_nan) EXTREME("max.NaN", N, H, greatest_or_nan)           \
    OP3("fma/" N, u16, u16, u16, u16, fused_half<H>(a, b, c))                                  \
    OP3("fma/" N "x2", u32, u32, u32, u32,                                                     \
        pair(fused_half<H>(low(a), low(b), low(c)), fused_half<H>(high(a), high(b), high(c)))) \
    UNARY("ex2", N, power_of_two<H>) UNARY("tanh", N, hyperbolic_tangent<H>)                   \
    OP1("neg/" N, u16, u16, static_cast<u16>(a ^ 0x8000))                                      \
    OP1("neg/" N "x2", u32, u32, a ^ 0x80008000)                                               \
    OP1("abs/" N, u16, u16, static_cast<u16>(a & 0x7FFF))                                      \
    OP1("abs/" N "x2", u32, u32, a & 0x7FFF7FFF)                                               \
    BINARY("with_sign", N, with_sign<H>)                                                       \
    {"modified/" N, modify<H>}, {"modified/" N "x2", modify_pair<H>},                          \
    COMPARED_HALVES(N, H)                                                                      \
    OP1("widen/" N, f32, u16, H::widen(a))                                                     \
    OP1("cvt/" N ".f32", u16, f32, H::narrow(a))                                               \
    OP1("cvt/" N ".f64", u16, f64, of_double<H>(a))                                            \
    OP2("cvt/" N "x2.f32", u32, f32, f32, pair(H::narrow(b), H::narrow(a)))                    \
    {"cvt.directed/" N ".f32", narrow_directed<H>},                                            \
    {"cvt.directed/" N ".f64", narrow_double<H>},

}  // namespace

std::vector<Entry> half_entries() {
    return {
        HALF("f16", F16)
        HALF("bf16", BF16)
        {"cvt/tf32.f32", to_tf32},
        OP1("cvt/f32.f16", f32, u16, canonical(F16::widen(a)))
    };
}

}  // namespace machine
