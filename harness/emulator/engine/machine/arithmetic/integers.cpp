// Integers, predicates and moves of bits, as defined in the PTX ISA manual.

#include <algorithm>

#include "comparisons.h"

namespace machine {
namespace {

// Division truncates. Division by zero sets all bits, as sm_80 and sm_90 machine code does.
template <class T> inline T quotient(T a, T b) {
    if (b == 0) return static_cast<T>(~T(0));
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
        return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    return static_cast<T>(a / b);
}

// The remainder has the sign of the dividend. For a divisor of zero it is the dividend.
template <class T> inline T remainder(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
}

template <class T> inline T shifted_left(T a, u32 n) {
    return n >= 8 * sizeof(T) ? T(0) : static_cast<T>(a << (n & (8 * sizeof(T) - 1)));
}

template <class T> inline T shifted_right(T a, u32 n) {
    constexpr u32 bits = 8 * sizeof(T);
    if (std::is_signed_v<T>) return static_cast<T>(a >> (n < bits ? n : bits - 1));
    return n >= bits ? T(0) : static_cast<T>(a >> (n & (bits - 1)));
}

template <class T> inline T ones(i32 count) {
    constexpr i32 bits = 8 * sizeof(T);
    return count >= bits ? static_cast<T>(~T(0)) : static_cast<T>((T(1) << (count & (bits - 1))) - 1);
}

// Extracts a bit field, sign-extended from its own top bit for signed types.
template <class T> inline T field(T a, u32 position, u32 length) {
    using U = std::make_unsigned_t<T>;
    constexpr i32 bits = 8 * sizeof(T);
    const i32 start = position & 0xFF, count = length & 0xFF;
    const U raw = static_cast<U>(a);
    U out = (start >= bits ? U(0) : static_cast<U>(raw >> start)) & ones<U>(count);
    if (std::is_signed_v<T> && count > 0) {
        const i32 top = start + count - 1 < bits - 1 ? start + count - 1 : bits - 1;
        const i32 valid = count < bits - start ? count : bits - start;
        if (raw >> top & 1) out |= static_cast<U>(~ones<U>(valid > 0 ? valid : 0));
    }
    return static_cast<T>(out);
}

template <class T> inline T inserted(T a, T b, u32 position, u32 length) {
    constexpr i32 bits = 8 * sizeof(T);
    const i32 start = position & 0xFF, count = length & 0xFF;
    const T at = start >= bits ? T(0) : static_cast<T>(ones<T>(count) << start);
    const T put = start >= bits ? T(0) : static_cast<T>(a << start);
    return static_cast<T>((b & ~at) | (put & at));
}

inline u32 permuted(u32 a, u32 b, u32 selector) {
    const u64 both = static_cast<u64>(b) << 32 | a;
    u32 out = 0;
    for (int byte = 0; byte < 4; byte++) {
        const u32 nibble = selector >> 4 * byte & 0xF;
        u32 picked = static_cast<u32>(both >> 8 * (nibble & 7)) & 0xFF;
        if (nibble & 8) picked = picked >> 7 ? 0xFF : 0;
        out |= picked << 8 * byte;
    }
    return out;
}

// The selectors of the other modes of `prmt`, by the lowest two bits of the last operand.
enum Permutation { FORWARD_4, BACKWARD_4, REPLICATED_8, EDGE_LEFT, EDGE_RIGHT, REPLICATED_16 };

inline u32 permuted_by(Permutation mode, u32 a, u32 b, u32 c) {
    static constexpr u32 SELECTORS[][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
        {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
        {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232},
    };
    return permuted(a, b, SELECTORS[mode][c & 3]);
}

inline u32 logic(u32 a, u32 b, u32 c, u32 table) {
    u32 out = 0;
    for (u32 minterm = 0; minterm < 8; minterm++) {
        const u32 term = (minterm & 4 ? a : ~a) & (minterm & 2 ? b : ~b) & (minterm & 1 ? c : ~c);
        out |= term & (0 - (table >> minterm & 1));
    }
    return out;
}

template <class T> inline T reversed(T a) {
    T out = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); i++) out |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return out;
}

inline u32 funnel(bool left, u32 low, u32 high, u32 n) {
    const u64 both = static_cast<u64>(high) << 32 | low;
    return static_cast<u32>(left ? (both << n) >> 32 : both >> n);
}

template <class T> inline u32 leading(T a) {
    using U = std::make_unsigned_t<T>;
    const U raw = static_cast<U>(std::is_signed_v<T> && a < 0 ? ~a : a);
    if (raw == 0) return EVERYBODY;
    return sizeof(T) == 8 ? 63 - __builtin_clzll(raw) : 31 - __builtin_clz(static_cast<u32>(raw));
}

template <class T> inline T high_half(T a, T b) {
    if constexpr (sizeof(T) == 8) {
        using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
        return static_cast<T>(static_cast<Wide>(a) * b >> 64);
    } else {
        using Wide = std::conditional_t<std::is_signed_v<T>, i64, u64>;
        return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> 8 * sizeof(T));
    }
}

template <class T> inline std::make_unsigned_t<T> distance(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(a > b ? static_cast<U>(a) - static_cast<U>(b)
                                : static_cast<U>(b) - static_cast<U>(a));
}

template <class T> inline T low24(T a) {
    return static_cast<T>(static_cast<u32>(a) << 8) >> 8;
}

// Bits 0 to 31 or 16 to 47 of a product of two 24-bit numbers.
template <class T> inline T product24(T a, T b, int from) {
    using Wide = std::conditional_t<std::is_signed_v<T>, i64, u64>;
    return static_cast<T>(static_cast<Wide>(low24(a)) * low24(b) >> from);
}

inline u32 clamped(u32 n) { return n < 32 ? n : 32; }

// The bits below a position, extended upwards with the top bit (signed) or with zeros.
template <class T> inline T extended(T a, u32 position) {
    return shifted_right<T>(shifted_left<T>(a, 32 - position), 32 - position);
}

inline u32 bit_mask(u32 position, u32 length) {
    return shifted_left<u32>(ones<u32>(static_cast<i32>(clamped(length))), position);
}

// The position of the n-th set bit from a base, upwards for n > 0, downwards for n < 0.
inline u32 nth_set(u32 word, u32 base, i32 n) {
    if (n == 0) return base < 32 && word >> base & 1 ? base : EVERYBODY;
    const int step = n > 0 ? 1 : -1;
    i64 left = n > 0 ? i64(n) : -i64(n);
    i64 place = base < 32 ? i64(base) : n > 0 ? 32 : 31;
    for (; place >= 0 && place < 32; place += step)
        if ((word >> place & 1) && --left == 0) return static_cast<u32>(place);
    return EVERYBODY;
}

// Applies a function to the two 16-bit integers in a word.
template <class T, class F> inline u32 both(F f, u32 a, u32 b) {
    const u32 low = static_cast<u16>(f(static_cast<T>(a), static_cast<T>(b)));
    const u32 high = static_cast<u16>(f(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return high << 16 | low;
}

// The sum of four or two products of fields.
template <class A, class B> inline u32 dot4(u32 a, u32 b, u32 c) {
    i64 total = c;
    for (int i = 0; i < 32; i += 8)
        total += static_cast<i64>(static_cast<A>(a >> i)) * static_cast<B>(b >> i);
    return static_cast<u32>(total);
}

template <class A, class B> inline u32 dot2(u32 a, u32 b, u32 c, int first) {
    i64 total = c;
    for (int i = 0; i < 2; i++)
        total += static_cast<i64>(static_cast<A>(a >> 16 * i)) * static_cast<B>(b >> 8 * (first + i));
    return static_cast<u32>(total);
}

// Products of narrow types must not overflow the int that C++ promotes them to.
#define PRODUCTS(T, W)                                                                        \
    OP2("mul.lo/u" #T, u##T, u##T, u##T, static_cast<u##T>(static_cast<u64>(a) * b))           \
    OP3("mad.lo/u" #T, u##T, u##T, u##T, u##T, static_cast<u##T>(static_cast<u64>(a) * b + c)) \
    OP2("mul.wide/u" #T, u##W, u##T, u##T, static_cast<u##W>(a) * b)                           \
    OP2("mul.wide/s" #T, i##W, i##T, i##T, static_cast<i##W>(static_cast<i##W>(a) * b))        \
    OP3("mad.wide/u" #T, u##W, u##T, u##T, u##W, static_cast<u##W>(a) * b + c)                 \
    OP3("mad.wide/s" #T, i##W, i##T, i##T, i##W,                                               \
        static_cast<i##W>(static_cast<u##W>(static_cast<i##W>(a) * b) + static_cast<u##W>(c)))

#define HIGH_PRODUCTS(N, T)                                              \
    OP2("mul.hi/" N, T, T, T, high_half<T>(a, b))                        \
    OP3("mad.hi/" N, T, T, T, T,                                         \
        static_cast<T>(static_cast<std::make_unsigned_t<T>>(high_half<T>(a, b)) + \
                       static_cast<std::make_unsigned_t<T>>(c)))

// The sum or difference of two s32, clamped to their range.
i32 clamped(i64 sum) { return static_cast<i32>(std::clamp<i64>(sum, INT32_MIN, INT32_MAX)); }

#define BITWISE(N, T)                                                    \
    OP2("add/" N, T, T, T, static_cast<T>(a + b))                        \
    OP2("sub/" N, T, T, T, static_cast<T>(a - b))                        \
    OP1("neg/" N, T, T, static_cast<T>(0 - a))                           \
    OP2("and/" N, T, T, T, static_cast<T>(a & b))                        \
    OP2("or/" N, T, T, T, static_cast<T>(a | b))                         \
    OP2("xor/" N, T, T, T, static_cast<T>(a ^ b))                        \
    OP1("not/" N, T, T, static_cast<T>(~a))                              \
    OP1("cnot/" N, T, T, static_cast<T>(a == 0))                         \
    OP2("shl/" N, T, T, u32, shifted_left<T>(a, b))

#define INTEGER(N, T)                                                    \
    OP2("shr/" N, T, T, u32, shifted_right<T>(a, b))                     \
    OP2("div/" N, T, T, T, quotient<T>(a, b))                            \
    OP2("rem/" N, T, T, T, remainder<T>(a, b))                           \
    OP2("min/" N, T, T, T, a < b ? a : b)                                \
    OP2("max/" N, T, T, T, a > b ? a : b)                                \
    OP3("sad/" N, std::make_unsigned_t<T>, T, T, std::make_unsigned_t<T>, \
        static_cast<std::make_unsigned_t<T>>(distance<T>(a, b) + c))     \
    COMPARED(N, T)

#define FIELDS(N, T)                                                     \
    OP3("bfe/" N, T, T, u32, u32, field<T>(a, b, c))                     \
    OP1("bfind/" N, u32, T, leading<T>(a))                               \
    OP1("bfind.shiftamt/" N, u32, T,                                     \
        leading<T>(a) == EVERYBODY ? EVERYBODY : 8 * sizeof(T) - 1 - leading<T>(a))

#define NARROW24(N, T)                                                   \
    OP2("mul24.lo/" N, T, T, T, product24<T>(a, b, 0))                   \
    OP2("mul24.hi/" N, T, T, T, product24<T>(a, b, 16))                  \
    OP3("mad24.lo/" N, T, T, T, T, static_cast<T>(static_cast<u32>(product24<T>(a, b, 0)) + c)) \
    OP3("mad24.hi/" N, T, T, T, T, static_cast<T>(static_cast<u32>(product24<T>(a, b, 16)) + c)) \
    OP2("szext.clamp/" N, T, T, u32, extended<T>(a, clamped(b)))         \
    OP2("szext.wrap/" N, T, T, u32, extended<T>(a, b & 31))

#define PAIRS(NAME, N, T, EXPRESSION)                                    \
    OP2(NAME "/" N, u32, u32, u32, both<T>([](T x, T y) { return EXPRESSION; }, a, b))

#define DOT2(PART, FIRST)                                                \
    OP3("dp2a." PART "/u32.u32", u32, u32, u32, u32, (dot2<u16, u8>(a, b, c, FIRST))) \
    OP3("dp2a." PART "/s32.s32", u32, u32, u32, u32, (dot2<i16, i8>(a, b, c, FIRST))) \
    OP3("dp2a." PART "/s32.u32", u32, u32, u32, u32, (dot2<i16, u8>(a, b, c, FIRST))) \
    OP3("dp2a." PART "/u32.s32", u32, u32, u32, u32, (dot2<u16, i8>(a, b, c, FIRST)))

template <class T> void select(Context& c, const Op& op) {
    Cell<T>* r = c.row<Cell<T>>(op.result[0]);
    const Cell<T>* a = c.row<Cell<T>>(op.source[0]);
    const Cell<T>* b = c.row<Cell<T>>(op.source[1]);
    using Mask = std::conditional_t<sizeof(T) == 8, i64, i32>;
    const i32* p = c.row<i32>(op.source[2]);
    using R = T;
    EACH_LANE(static_cast<Mask>(p[i]) ? a[i] : b[i])
}

template <class T> void move(Context& c, const Op& op) {
    T* r = c.row<T>(op.result[0]);
    const T* a = c.row<T>(op.source[0]);
    using R = T;
    EACH_LANE(a[i])
}

void move_words(Context& c, const Op& op) { move<u32>(c, op); }
void move_doubles(Context& c, const Op& op) { move<u64>(c, op); }

// A sum with a carry in and out; the results are the sum and the new carry. A difference is the sum with the
// complement, as in ptxas: its carry means that nothing was borrowed; this also holds for `addc`.
template <class T, bool subtracts, class F>
void carried(Context& c, const Op& op, i32 other, i32 carries, F first) {
    T* r = c.row<T>(op.result[0]);
    i32* out = c.row<i32>(op.result[1]);
    const T* b = c.row<T>(other);
    const i32* in = c.row<i32>(carries);
    each_lane(c.active, [&](int i) {
        const T x = first(i), y = subtracts ? ~b[i] : b[i], carry = in[i] != 0;
        const T partial = x + y, total = partial + carry;
        const bool over = partial < x || total < partial;
        r[i] = total;
        out[i] = -static_cast<i32>(over);
    });
}

template <class T, bool subtracts> void carried(Context& c, const Op& op) {
    const T* a = c.row<T>(op.source[0]);
    carried<T, subtracts>(c, op, op.source[1], op.source[2], [=](int i) { return a[i]; });
}

template <class T> inline T low_product(T a, T b) { return a * b; }

template <class T, T (*part)(T, T)> void product_carried(Context& c, const Op& op) {
    using U = std::make_unsigned_t<T>;
    const T* a = c.row<T>(op.source[0]);
    const T* b = c.row<T>(op.source[1]);
    carried<U, false>(c, op, op.source[2], op.source[3],
                      [=](int i) { return static_cast<U>(part(a[i], b[i])); });
}

}  // namespace

std::vector<Entry> integer_entries() {
    return {
        {"mov/4", move_words},
        {"mov/8", move_doubles},
        {"selp/4", select<u32>},
        {"selp/8", select<u64>},
        OP1("low/8", u32, u64, static_cast<u32>(a))
        OP1("high/8", u32, u64, static_cast<u32>(a >> 32))
        OP1("low/4", u32, u32, a & 0xFFFF)
        OP1("high/4", u32, u32, a >> 16)
        OP2("join/4", u64, u32, u32, static_cast<u64>(b) << 32 | a)
        OP2("join/2", u32, u32, u32, b << 16 | (a & 0xFFFF))
        OP1("low/2", u32, u32, a & 0xFF)
        OP1("high/2", u32, u32, a >> 8 & 0xFF)
        OP2("join/1", u32, u32, u32, (b & 0xFF) << 8 | (a & 0xFF))
        OP1("extend/u32", u64, u32, a)
        OP1("extend/s32", i64, i32, a)

        BITWISE("u16", u16) BITWISE("u32", u32) BITWISE("u64", u64)
        OP2("add.sat/s32", i32, i32, i32, clamped(i64(a) + b))
        OP2("sub.sat/s32", i32, i32, i32, clamped(i64(a) - b))
        INTEGER("u16", u16) INTEGER("u32", u32) INTEGER("u64", u64)
        INTEGER("s16", i16) INTEGER("s32", i32) INTEGER("s64", i64)
        OP1("abs/s16", i16, i16, static_cast<i16>(a < 0 ? 0 - a : a))
        OP1("abs/s32", i32, i32, static_cast<i32>(a < 0 ? 0u - static_cast<u32>(a) : a))
        OP1("abs/s64", i64, i64, static_cast<i64>(a < 0 ? 0ull - static_cast<u64>(a) : a))
        PRODUCTS(16, 32) PRODUCTS(32, 64)
        OP2("mul.lo/u64", u64, u64, u64, a * b)
        OP3("mad.lo/u64", u64, u64, u64, u64, a * b + c)
        HIGH_PRODUCTS("u16", u16) HIGH_PRODUCTS("u32", u32) HIGH_PRODUCTS("u64", u64)
        HIGH_PRODUCTS("s16", i16) HIGH_PRODUCTS("s32", i32) HIGH_PRODUCTS("s64", i64)
        FIELDS("u32", u32) FIELDS("s32", i32) FIELDS("u64", u64) FIELDS("s64", i64)
        OP4("bfi/u32", u32, u32, u32, u32, u32, inserted<u32>(a, b, c, d))
        OP4("bfi/u64", u64, u64, u64, u32, u32, inserted<u64>(a, b, c, d))
        OP1("popc/u32", u32, u32, static_cast<u32>(__builtin_popcount(a)))
        OP1("popc/u64", u32, u64, static_cast<u32>(__builtin_popcountll(a)))
        OP1("clz/u32", u32, u32, a ? static_cast<u32>(__builtin_clz(a)) : 32)
        OP1("clz/u64", u32, u64, a ? static_cast<u32>(__builtin_clzll(a)) : 64)
        OP1("brev/u32", u32, u32, reversed<u32>(a))
        OP1("brev/u64", u64, u64, reversed<u64>(a))
        OP3("prmt/u32", u32, u32, u32, u32, permuted(a, b, c))
        OP3("prmt.f4e/u32", u32, u32, u32, u32, permuted_by(FORWARD_4, a, b, c))
        OP3("prmt.b4e/u32", u32, u32, u32, u32, permuted_by(BACKWARD_4, a, b, c))
        OP3("prmt.rc8/u32", u32, u32, u32, u32, permuted_by(REPLICATED_8, a, b, c))
        OP3("prmt.ecl/u32", u32, u32, u32, u32, permuted_by(EDGE_LEFT, a, b, c))
        OP3("prmt.ecr/u32", u32, u32, u32, u32, permuted_by(EDGE_RIGHT, a, b, c))
        OP3("prmt.rc16/u32", u32, u32, u32, u32, permuted_by(REPLICATED_16, a, b, c))
        OP3("mad.hi.sat/s32", i32, i32, i32, i32, clamped(i64(high_half<i32>(a, b)) + c))
        OP4("lop3/u32", u32, u32, u32, u32, u32, logic(a, b, c, d))
        OP3("shf.l.wrap/u32", u32, u32, u32, u32, funnel(true, a, b, c & 31))
        OP3("shf.r.wrap/u32", u32, u32, u32, u32, funnel(false, a, b, c & 31))
        OP3("shf.clamp.l/u32", u32, u32, u32, u32, funnel(true, a, b, c < 32 ? c : 32))
        OP3("shf.clamp.r/u32", u32, u32, u32, u32, funnel(false, a, b, c < 32 ? c : 32))
        OP3("dp4a/u32.u32", u32, u32, u32, u32, (dot4<u8, u8>(a, b, c)))
        OP3("dp4a/s32.s32", u32, u32, u32, u32, (dot4<i8, i8>(a, b, c)))
        OP3("dp4a/s32.u32", u32, u32, u32, u32, (dot4<i8, u8>(a, b, c)))
        OP3("dp4a/u32.s32", u32, u32, u32, u32, (dot4<u8, i8>(a, b, c)))
        DOT2("lo", 0) DOT2("hi", 2)
        PAIRS("add", "u16x2", u16, x + y) PAIRS("add", "s16x2", i16, x + y)
        PAIRS("min", "u16x2", u16, x < y ? x : y) PAIRS("max", "u16x2", u16, x > y ? x : y)
        PAIRS("min", "s16x2", i16, x < y ? x : y) PAIRS("max", "s16x2", i16, x > y ? x : y)
        PAIRS("min.relu", "s16x2", i16, std::max<int>(x < y ? x : y, 0))
        PAIRS("max.relu", "s16x2", i16, std::max<int>(x > y ? x : y, 0))
        OP2("min.relu/s32", i32, i32, i32, std::max(std::min(a, b), 0))
        OP2("max.relu/s32", i32, i32, i32, std::max(std::max(a, b), 0))
        NARROW24("u32", u32) NARROW24("s32", i32)
        OP2("bmsk.clamp/u32", u32, u32, u32, bit_mask(a, b))
        OP2("bmsk.wrap/u32", u32, u32, u32, bit_mask(a & 31, b & 31))
        OP3("fns/u32", u32, u32, u32, i32, nth_set(a, b, c))
        {"add_carry/u32", carried<u32, false>},
        {"add_carry/u64", carried<u64, false>},
        {"sub_carry/u32", carried<u32, true>},
        {"sub_carry/u64", carried<u64, true>},
        {"mad_carry.lo/u32", product_carried<u32, low_product<u32>>},
        {"mad_carry.lo/u64", product_carried<u64, low_product<u64>>},
        {"mad_carry.hi/u32", product_carried<u32, high_half<u32>>},
        {"mad_carry.hi/s32", product_carried<i32, high_half<i32>>},
        {"mad_carry.hi/u64", product_carried<u64, high_half<u64>>},
        {"mad_carry.hi/s64", product_carried<i64, high_half<i64>>},

        OP2("and/pred", Predicate, Predicate, Predicate, a && b)
        OP2("or/pred", Predicate, Predicate, Predicate, a || b)
        OP2("xor/pred", Predicate, Predicate, Predicate, a != b)
        OP1("not/pred", Predicate, Predicate, !a)
    };
}

}  // namespace machine
