// Tensor-core instructions. Lane l has the row l / 4 of a fragment and the columns from l % 4 on,
// as the PTX manual draws them for `mma.sync`.
//
// Products are exact; their sums are taken in double precision and rounded once.

#include "rows_of.h"

namespace sass {
namespace {

using machine::BF16;
using machine::F16;

enum : i32 { BRAIN = 1, TF32 = 2, HALF_RESULT = 4 };
constexpr int ROWS = 16, COLUMNS = 8, MOST_DEPTH = 16;

inline f64 element(u32 raw, bool upper, i32 flags) {
    if (flags & TF32) return bits_of<f32>(raw & 0xFFFFE000);
    const u16 half = upper ? machine::high(raw) : machine::low(raw);
    return flags & BRAIN ? BF16::widen(half) : F16::widen(half);
}

// The depth is the flags' second byte: 4 or 8 of TF32, 8 or 16 of halves.
void hmma(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    const int depth = flags >> 8, held = flags & TF32 ? 1 : 2, chunk = 4 * held;
    const auto row = [&](int which, int word) {
        const Source& s = n.source[which];
        return c.source(s) + (s.constant ? 0 : LANES * word);
    };
    f64 a[ROWS][MOST_DEPTH], b[MOST_DEPTH][COLUMNS], sum[ROWS][COLUMNS];
    for (int i = 0; i < LANES; i++) {
        const int group = i / 4, place = held * (i % 4);
        for (int k = 0; k < depth / chunk; k++) {
            for (int e = 0; e < held; e++) {
                const int column = k * chunk + place + e;
                a[group][column] = element(row(0, 2 * k)[i], e, flags);
                a[group + 8][column] = element(row(0, 2 * k + 1)[i], e, flags);
                b[column][group] = element(row(1, k)[i], e, flags);
            }
        }
        for (int e = 0; e < 4; e++) {
            const int column = 2 * (i % 4) + (e & 1);
            f64& own = sum[group + 8 * (e >> 1)][column];
            if (flags & HALF_RESULT)
                own = element(row(2, e >> 1)[i], e & 1, 0);
            else
                own = bits_of<f32>(row(2, e)[i]);
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < depth; k++)
            for (int col = 0; col < COLUMNS; col++) sum[r][col] += a[r][k] * b[k][col];
    const auto out = [&](int i, int e) { return sum[i / 4 + 8 * (e >> 1)][2 * (i % 4) + (e & 1)]; };
    if (flags & HALF_RESULT) {
        for (int w = 0; w < 2; w++)
            write(c, c.result(n, 0, w), [&](int i) {
                return machine::pair(F16::narrow(out(i, 2 * w)), F16::narrow(out(i, 2 * w + 1)));
            });
        return;
    }
    for (int e = 0; e < 4; e++)
        write(c, c.result(n, 0, e), [&](int i) { return bits_of<u32>(static_cast<f32>(out(i, e))); });
}

}  // namespace

std::vector<Entry> matrix_entries() { return {{"HMMA", hmma}}; }

}  // namespace sass
