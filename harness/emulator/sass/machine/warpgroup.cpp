// Products of a warpgroup: HGMMA, QGMMA and IGMMA. Each warp computes its sixteen of the 64 rows, at
// once, so that nothing is left to be waited for.
//
// Words lie over the lanes as those of HMMA do; those of a factor in shared memory are where its
// descriptor says. Products are exact; their sums are taken in double precision and rounded once.

#include <algorithm>

#include "arithmetic/fp8.h"
#include "memory/matrix_descriptor.h"
#include "rows_of.h"

namespace sass {
namespace {

using machine::BF16;
using machine::Descriptor;
using machine::F16;

enum Type : i32 { HALF, BRAIN, TF32, E4M3, E5M2, UNSIGNED, SIGNED };
enum : i32 {
    HALF_SUMS = 1 << 12, CLAMPS = 1 << 13, NEGATES_A = 1 << 14, NEGATES_B = 1 << 15,
    TURNS_A = 1 << 16, TURNS_B = 1 << 17, A_IN_MEMORY = 1 << 18,
};
constexpr int ROWS = 16, COLUMNS = 8, WORDS = 8, MOST_DEPTH = 32;  // WORDS: of a row, of any type

inline int held(Type type) { return type <= BRAIN ? 2 : type == TF32 ? 1 : 4; }

f64 element(Type type, u32 word, int which) {
    const u16 half = static_cast<u16>(word >> 16 * (which & 1));
    const u8 byte = static_cast<u8>(word >> 8 * which);
    switch (type) {
        case HALF: return F16::widen(half);
        case BRAIN: return BF16::widen(half);
        case TF32: return bits_of<f32>(word & 0xFFFFE000);
        case E4M3: return F16::widen(machine::E4M3::widen(byte, false));
        case E5M2: return F16::widen(machine::E5M2::widen(byte, false));
        case UNSIGNED: return byte;
        default: return static_cast<i8>(byte);
    }
}

template <class T> T read_shared(const Context& c, u32 address, int lane) {
    const i64 size = static_cast<i64>(c.block->shared.size());
    if (address < static_cast<u32>(c.launch->shared_start) || i64(address) + i64(sizeof(T)) > size)
        throw Fault{OUTSIDE, lane, address};
    T value;
    std::memcpy(&value, c.block->shared.data() + address, sizeof value);
    return value;
}

u32 word_at(const Context& c, const Descriptor& matrix, bool turned, int row, int word) {
    const int lane = row % 8 * 4 + word % 4;
    if (!turned) return read_shared<u32>(c, matrix.by_depth(row, 4 * word), lane);
    return machine::pair(read_shared<u16>(c, matrix.by_rows(row, 2 * word), lane),
                         read_shared<u16>(c, matrix.by_rows(row, 2 * word + 1), lane));
}

// Sources: A where it is in registers, the descriptors, the sums that were there. The second factor's
// descriptor is behind the room of the first one's, also where that is in registers.
void gmma(Context& c, const Instruction& n) {
    if (!c.on) return;
    const i32 flags = n.flags;
    const int groups = flags & 63;
    const Type a_type = static_cast<Type>(flags >> 6 & 7), b_type = static_cast<Type>(flags >> 9 & 7);
    const bool in_memory = flags & A_IN_MEMORY, adds = c.predicate(n, 0) & c.on;
    const int at = in_memory ? 0 : 1, depth = WORDS * held(a_type);
    const auto row = [&](int which, int word) {
        const Source& s = n.source[which];
        return c.source(s) + (s.constant ? 0 : LANES * word);
    };
    const auto descriptor = [&](int number) {
        return Descriptor(static_cast<u64>(*row(at, 2 * number + 1)) << 32 | *row(at, 2 * number));
    };
    f64 a[ROWS][MOST_DEPTH], b[MOST_DEPTH][COLUMNS], sum[ROWS][COLUMNS];
    const f64 sign = !(flags & NEGATES_A) == !(flags & NEGATES_B) ? 1 : -1;
    const int first_row = c.warp->number % 4 * ROWS;
    for (int r = 0; r < ROWS; r++)
        for (int w = 0; w < WORDS; w++) {
            const u32 word = in_memory ? word_at(c, descriptor(0), flags & TURNS_A, first_row + r, w)
                                       : row(0, r / 8 + w / 4 * 2)[r % 8 * 4 + w % 4];
            for (int e = 0; e < held(a_type); e++)
                a[r][w * held(a_type) + e] = sign * element(a_type, word, e);
        }
    const Descriptor second = descriptor(1);
    const bool halves = flags & HALF_SUMS, whole = a_type >= UNSIGNED;
    const int words = halves ? 2 : 4;
    for (int group = 0; group < groups; group++) {
        for (int col = 0; col < COLUMNS; col++)
            for (int w = 0; w < WORDS; w++) {
                const u32 word = word_at(c, second, flags & TURNS_B, COLUMNS * group + col, w);
                for (int e = 0; e < held(b_type); e++)
                    b[w * held(b_type) + e][col] = element(b_type, word, e);
            }
        for (int i = 0; i < LANES; i++)
            for (int e = 0; e < 4; e++) {
                const u32 raw = adds ? row(at + 1, words * group + (halves ? e >> 1 : e))[i] : 0;
                sum[i / 4 + 8 * (e >> 1)][2 * (i % 4) + (e & 1)] =
                    halves  ? element(HALF, raw, e)
                    : whole ? static_cast<f64>(static_cast<i32>(raw))
                            : static_cast<f64>(bits_of<f32>(raw));
            }
        for (int r = 0; r < ROWS; r++)
            for (int k = 0; k < depth; k++)
                for (int col = 0; col < COLUMNS; col++) sum[r][col] += a[r][k] * b[k][col];
        const auto out = [&](int i, int e) { return sum[i / 4 + 8 * (e >> 1)][2 * (i % 4) + (e & 1)]; };
        const auto rounded = [&](int i, int e) {
            if (!whole) return bits_of<u32>(static_cast<f32>(out(i, e)));
            const i64 number = static_cast<i64>(out(i, e));
            return static_cast<u32>(flags & CLAMPS ? std::clamp<i64>(number, INT32_MIN, INT32_MAX)
                                                   : number);
        };
        for (int w = 0; w < words; w++)
            write(c, c.result(n, 0, words * group + w), [&](int i) {
                return halves ? machine::pair(F16::narrow(out(i, 2 * w)), F16::narrow(out(i, 2 * w + 1)))
                              : rounded(i, w);
            });
    }
}

}  // namespace

std::vector<Entry> warpgroup_entries() { return {{"GMMA", gmma}}; }

}  // namespace sass
