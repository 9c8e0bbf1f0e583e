// Video instructions: they work on parts of words, may saturate, and may apply a second operation or merge the result.
//
// Defined as in the PTX ISA manual. The immediate encodes the form of an instruction, with the layout that
// `lowering/video.py` defines.

#include <algorithm>

#include "rows.h"

namespace machine {
namespace {

using Wide = __int128;  // holds every product and every shifted word

inline Wide number(u64 bits, int width, bool is_signed) {
    const int unused = 64 - width;
    return is_signed ? Wide(static_cast<i64>(bits << unused) >> unused) : Wide(bits << unused >> unused);
}

inline Wide clamped(Wide value, int width, bool is_signed) {
    const Wide one = 1;
    const Wide low = is_signed ? -(one << (width - 1)) : 0;
    const Wide high = (one << (is_signed ? width - 1 : width)) - 1;
    return std::clamp(value, low, high);
}

// Part of a word, encoded: 5 bits for its first bit, 2 for log2 of its size in bytes, 1 for its signedness.
struct Part {
    int first, width;
    bool is_signed;
    explicit Part(u8 code) : first(code & 31), width(8 << (code >> 5 & 3)), is_signed(code >> 7) {}
    Wide of(u32 word) const { return number(word >> first, width, is_signed); }
};

enum Mode : u8 { NONE, EQ, NE, LT, LE, GT, GE, CLAMP, WRAP };
enum Second : u8 { NO_SECOND, ADD, MIN, MAX, MERGE };

struct Sum { static Wide of(Wide a, Wide b, Mode) { return a + b; } };
struct Difference { static Wide of(Wide a, Wide b, Mode) { return a - b; } };
struct Distance { static Wide of(Wide a, Wide b, Mode) { return a > b ? a - b : b - a; } };
struct Least { static Wide of(Wide a, Wide b, Mode) { return std::min(a, b); } };
struct Greatest { static Wide of(Wide a, Wide b, Mode) { return std::max(a, b); } };
struct Average { static Wide of(Wide a, Wide b, Mode) { return (a + b + (a + b >= 0)) >> 1; } };

struct Compared {
    static Wide of(Wide a, Wide b, Mode mode) {
        switch (mode) {
            case EQ: return a == b;
            case NE: return a != b;
            case LT: return a < b;
            case LE: return a <= b;
            case GT: return a > b;
            default: return a >= b;
        }
    }
};

inline int shift(Wide by, Mode mode) {
    return static_cast<int>(mode == WRAP ? by & 31 : std::min<Wide>(by, 32));
}

struct ShiftedLeft {
    static Wide of(Wide a, Wide b, Mode mode) { return a * (Wide(1) << shift(b, mode)); }
};
struct ShiftedRight {
    static Wide of(Wide a, Wide b, Mode mode) { return a >> shift(b, mode); }
};

// Bytes of the immediate: mode, the parts of a, b and the result, the second operation, saturation.
template <class F> void scalar(Context& c, const Op& op) {
    const auto byte = [&](int n) { return static_cast<u8>(op.immediate >> 8 * n); };
    const Mode mode = static_cast<Mode>(byte(0));
    const Part left(byte(1)), right(byte(2)), target(byte(3));
    const Second second = static_cast<Second>(byte(4));
    const bool saturates = byte(5);
    map<u32, u32, u32, u32>(c, op, [=](u32 a, u32 b, u32 d) {
        Wide value = F::of(left.of(a), right.of(b), mode);
        if (saturates) value = clamped(value, target.width, target.is_signed);
        const u32 word = static_cast<u32>(value);
        const Wide first = number(word, 32, target.is_signed), other = number(d, 32, target.is_signed);
        const u32 field = static_cast<u32>((u64(1) << target.width) - 1) << target.first;
        switch (second) {
            case ADD: return word + d;
            case MIN: return static_cast<u32>(std::min(first, other));
            case MAX: return static_cast<u32>(std::max(first, other));
            case MERGE: return (d & ~field) | (word << target.first & field);
            default: return word;
        }
    });
}

enum Negated : u8 { NOTHING, PRODUCT, THIRD, PLUS_ONE };

// Bytes of the immediate: what is negated, the parts of a and b, the scale, saturation.
void multiply_add(Context& c, const Op& op) {
    const auto byte = [&](int n) { return static_cast<u8>(op.immediate >> 8 * n); };
    const Negated negated = static_cast<Negated>(byte(0));
    const Part left(byte(1)), right(byte(2));
    const int scale = byte(3);
    const bool saturates = byte(4);
    const bool is_signed = left.is_signed || right.is_signed || negated == PRODUCT || negated == THIRD;
    map<u32, u32, u32, u32>(c, op, [=](u32 a, u32 b, u32 d) {
        Wide value = left.of(a) * right.of(b);
        if (negated == PRODUCT) value = -value;
        value += number(negated == THIRD ? ~d : d, 32, is_signed);
        value = (value + (negated == THIRD || negated == PLUS_ONE)) >> scale;
        return static_cast<u32>(saturates ? clamped(value, 32, is_signed) : value);
    });
}

enum Sign : u8 { SIGNED_A = 1, SIGNED_B = 2, SIGNED_RESULT = 4, SATURATES = 8, ADDS = 16 };

// Bytes of the immediate: mode, signs and flags, mask; then 4 bits for each field of a and of b that select a field of
// the two words.
template <class F, int fields> void several(Context& c, const Op& op) {
    constexpr int width = 32 / fields;
    const Mode mode = static_cast<Mode>(op.immediate & 0xFF);
    const u8 flags = static_cast<u8>(op.immediate >> 8), mask = static_cast<u8>(op.immediate >> 16);
    const u32 chosen = static_cast<u32>(op.immediate >> 32);
    map<u32, u32, u32, u32>(c, op, [=](u32 a, u32 b, u32 d) {
        const u64 words = static_cast<u64>(b) << 32 | a;
        const auto field = [=](int at, bool is_signed) {
            return number(words >> (chosen >> 4 * at & 15) * width, width, is_signed);
        };
        u32 out = d;
        for (int i = 0; i < fields; i++) {
            if (!(mask >> i & 1)) continue;
            Wide value = F::of(field(i, flags & SIGNED_A), field(fields + i, flags & SIGNED_B), mode);
            if (flags & SATURATES) value = clamped(value, width, flags & SIGNED_RESULT);
            const u32 place = ((1u << width) - 1) << i * width;
            if (flags & ADDS)
                out += static_cast<u32>(value);
            else
                out = (out & ~place) | (static_cast<u32>(value) << i * width & place);
        }
        return out;
    });
}

}  // namespace

std::vector<Entry> video_entries() {
    return {
        {"vadd", scalar<Sum>}, {"vsub", scalar<Difference>}, {"vabsdiff", scalar<Distance>},
        {"vmin", scalar<Least>}, {"vmax", scalar<Greatest>}, {"vset", scalar<Compared>},
        {"vshl", scalar<ShiftedLeft>}, {"vshr", scalar<ShiftedRight>}, {"vmad", multiply_add},
        {"vadd2", several<Sum, 2>}, {"vadd4", several<Sum, 4>},
        {"vsub2", several<Difference, 2>}, {"vsub4", several<Difference, 4>},
        {"vavrg2", several<Average, 2>}, {"vavrg4", several<Average, 4>},
        {"vabsdiff2", several<Distance, 2>}, {"vabsdiff4", several<Distance, 4>},
        {"vmin2", several<Least, 2>}, {"vmin4", several<Least, 4>},
        {"vmax2", several<Greatest, 2>}, {"vmax4", several<Greatest, 4>},
        {"vset2", several<Compared, 2>}, {"vset4", several<Compared, 4>},
    };
}

}  // namespace machine
