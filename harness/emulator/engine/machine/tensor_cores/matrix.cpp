// Tensor-core instructions.
//
// The PTX ISA manual defines which lane holds which element of an `mma`: lane 4g + t holds row g
// and, in a register of p elements, the p columns that start at p·t. For `wmma` the manual leaves
// this open; here a lane holds consecutive elements in memory order. Products are exact; they are
// summed in double precision (integers exactly), and the sum is rounded once. All lanes take part:
// if some are missing, the launch is left to the judge.

#include <algorithm>

#include "checks.h"
#include "memory/tensors/matrix_descriptor.h"
#include "tensor_cores/matrix_elements.h"
#include "tensor_cores/sparse_factor.h"

namespace machine {
namespace {

constexpr int COLUMNS = 8;  // of a product that is computed at a time, and of every `mma`
constexpr int MOST_ROWS = 32, MOST_COLUMNS = 32, MOST_DEPTH = 64, MOST_SPARSE_DEPTH = 128;
constexpr int MOST_HELD = 8;  // elements in a register

// An immediate consists of separate bytes.
inline int part(const Op& op, int number) { return op.immediate >> 8 * number & 0xFF; }

enum : int { CLAMPS = 1, A_BY_COLUMNS = 2, B_BY_COLUMNS = 4, SELECTOR_SHIFT = 3 };

void whole_warp(const Context& c, const Op& op) {
    if (!c.full) throw Suspicion{PART_OF_A_WARP, op.site, __builtin_ctz(c.active)};
}

void meet(Context& c, const Op& op) {
    whole_warp(c, op);
    if (c.checks) c.checks->meet(*c.warp);
}

// Operands that do not fit in an operation are in the operations before it.
i32 source(const Op& op, int number) {
    return (&op - number / MAX_SOURCES)->source[number % MAX_SOURCES];
}

void more_operands(Context&, const Op&) {}

// --- products -----------------------------------------------------------------------------------

template <class N> struct Eight {
    typedef N Vector __attribute__((vector_size(COLUMNS * sizeof(N))));
};

// Computes eight columns of a product; `pitch` is the number of columns of `b` and of the product.
template <class N> void multiply(const N* a, const N* b, N* out, int rows, int depth, int pitch) {
    using Vector = typename Eight<N>::Vector;
    constexpr int AT_ONCE = 4;
    for (int i = 0; i < rows; i += AT_ONCE) {
        Vector sums[AT_ONCE] = {};
        for (int k = 0; k < depth; k++) {
            Vector line;
            std::memcpy(&line, b + k * pitch, sizeof line);
            for (int r = 0; r < AT_ONCE; r++) sums[r] += a[(i + r) * depth + k] * line;
        }
        for (int r = 0; r < AT_ONCE; r++) std::memcpy(out + (i + r) * pitch, &sums[r], sizeof(Vector));
    }
}

// Products of doubles are not exact, so they are summed one by one, as BLAS does.
void multiply_fused(const f64* a, const f64* b, f64* out, int rows, int depth) {
    for (int i = 0; i < rows; i++) {
        f64 sums[COLUMNS] = {};
        for (int k = 0; k < depth; k++)
            for (int j = 0; j < COLUMNS; j++) sums[j] = std::fma(a[i * depth + k], b[k * COLUMNS + j], sums[j]);
        std::memcpy(out + i * COLUMNS, sums, sizeof sums);
    }
}

template <class A, class N>
void multiplied(const N* a, const N* b, N* out, int rows, int columns, int depth) {
    if constexpr (std::is_same_v<A, Single<f64>>) {
        multiply_fused(a, b, out, rows, depth);
    } else {
        for (int j = 0; j < columns; j += COLUMNS)
            multiply(a, b + j, out + j, rows, depth, columns);
    }
}

// Writes the product plus c to d, both with `held` elements per lane; `place(lane, i)` says where they are.
template <class C, class D, class N, class Place>
void accumulate(Context& c, const Op& op, const N* product, int held, int first, Place place) {
    using Sum = typename C::Number;
    Sum given[LANES * MOST_HELD], total[MOST_ROWS * MOST_COLUMNS];
    for (int r = 0; r < held / C::HELD; r++) {
        C::read(c.row<typename C::Word>(source(op, first + r)), given);
        for (int lane = 0; lane < LANES; lane++)
            for (int j = 0; j < C::HELD; j++) {
                const int at = place(lane, r * C::HELD + j);
                total[at] = static_cast<Sum>(product[at]) + given[lane * C::HELD + j];
            }
    }
    for (int r = 0; r < held / D::HELD; r++) {
        if (op.result[r] < 0) continue;
        for (int lane = 0; lane < LANES; lane++)
            for (int j = 0; j < D::HELD; j++)
                given[lane * D::HELD + j] = total[place(lane, r * D::HELD + j)];
        D::write(c.row<typename D::Word>(op.result[r]), given, part(op, 3) & CLAMPS);
    }
}

// Reads the operands of an `mma`: sixteen or eight rows of `held` elements, and eight columns.
// Returns the number of registers.
template <class A, class B, class N>
int factors(Context& c, const Op& op, int rows, int held, int depth, N* a, N* b) {
    constexpr int ACROSS = 4 * A::HELD;  // elements of a row's four lanes in a register
    const int blocks = rows / COLUMNS;
    N given[LANES * MOST_HELD];
    const int a_registers = rows * held / LANES / A::HELD, b_registers = COLUMNS * depth / LANES / A::HELD;
    for (int r = 0; r < a_registers; r++) {
        A::read(c.row<typename A::Word>(source(op, r)), given);
        N* start = a + r % blocks * 8 * held + r / blocks * ACROSS;
        for (int g = 0; g < 8; g++) std::memcpy(start + g * held, given + g * ACROSS, ACROSS * sizeof(N));
    }
    for (int r = 0; r < b_registers; r++) {
        B::read(c.row<typename B::Word>(source(op, a_registers + r)), given);
        for (int g = 0; g < 8; g++)
            for (int j = 0; j < ACROSS; j++) b[(r * ACROSS + j) * COLUMNS + g] = given[g * ACROSS + j];
    }
    return a_registers + b_registers;
}

int place_in_rows(int lane, int i) { return i / 2 * 2 * LANES + lane * 2 + i % 2; }

template <class D, class A, class B, class C> void mma(Context& c, const Op& op) {
    using N = typename A::Number;
    whole_warp(c, op);
    const int rows = part(op, 0), depth = part(op, 2);
    alignas(64) N a[16 * MOST_DEPTH], b[MOST_DEPTH * COLUMNS], product[16 * COLUMNS];
    const int used = factors<A, B>(c, op, rows, depth, depth, a, b);
    multiplied<A>(a, b, product, rows, COLUMNS, depth);
    accumulate<C, D>(c, op, product, rows / 4, used, place_in_rows);
}

// Only the rows of `b` that belong to a stored element are multiplied: infinities in the others
// have no effect.
template <class D, class A, class B, class C> void mma_sparse(Context& c, const Op& op) {
    using N = typename A::Number;
    using Vector = typename Eight<N>::Vector;
    constexpr int ROWS = 16;
    whole_warp(c, op);
    const int depth = part(op, 2), held = depth / 2;
    alignas(64) N a[ROWS * MOST_DEPTH], b[MOST_SPARSE_DEPTH * COLUMNS], product[ROWS * COLUMNS];
    const int used = factors<A, B>(c, op, ROWS, held, depth, a, b), sums = ROWS * COLUMNS / LANES / C::HELD;
    const SparseFactor places(c.row<u32>(source(op, used + sums)), part(op, 3) >> SELECTOR_SHIFT, 32 / A::HELD, depth);
    for (int i = 0; i < ROWS; i++) {
        Vector sum = {};
        for (int k = 0; k < held; k++) {
            const int column = places.column(i, k);
            if (column < 0) throw Suspicion{BAD_METADATA, op.site, i % 8 * 4};
            Vector line;
            std::memcpy(&line, b + column * COLUMNS, sizeof line);
            sum += a[i * held + k] * line;
        }
        std::memcpy(product + i * COLUMNS, &sum, sizeof sum);
    }
    accumulate<C, D>(c, op, product, ROWS / 4, used, place_in_rows);
}

// A lane holds consecutive elements in memory order. Returns the number of registers.
template <class A, class N> int fragment(
    Context& c, const Op& op, int first, int rows, int columns, bool by_columns, N* out) {
    const int held = rows * columns / LANES;
    N given[LANES * MOST_HELD], flipped[MOST_ROWS * MOST_COLUMNS];
    N* flat = by_columns ? flipped : out;
    for (int r = 0; r < held / A::HELD; r++) {
        A::read(c.row<typename A::Word>(source(op, first + r)), given);
        for (int lane = 0; lane < LANES; lane++)
            for (int j = 0; j < A::HELD; j++)
                flat[lane * held + r * A::HELD + j] = given[lane * A::HELD + j];
    }
    for (int i = 0; by_columns && i < rows; i++)
        for (int j = 0; j < columns; j++) out[i * columns + j] = flipped[j * rows + i];
    return held / A::HELD;
}

template <class D, class A, class B, class C> void wmma(Context& c, const Op& op) {
    using N = typename A::Number;
    whole_warp(c, op);
    const int m = part(op, 0), n = part(op, 1), k = part(op, 2), flags = part(op, 3);
    alignas(64) N a[MOST_ROWS * 16], b[16 * MOST_COLUMNS], product[MOST_ROWS * MOST_COLUMNS];
    int used = fragment<A>(c, op, 0, m, k, flags & A_BY_COLUMNS, a);
    used += fragment<B>(c, op, used, k, n, flags & B_BY_COLUMNS, b);
    multiplied<A>(a, b, product, m, n, k);
    const int held = m * n / LANES;
    accumulate<C, D>(c, op, product, held, used, [=](int lane, int i) { return lane * held + i; });
}

// --- addresses ----------------------------------------------------------------------------------

// The address of a lane's element in a matrix with `columns` columns, stored by rows or by columns.
template <bool by_columns> void element_address(Context& c, const Op& op) {
    meet(c, op);
    const u64 held = part(op, 0), columns = part(op, 1), size = part(op, 2), which = part(op, 3);
    u64* r = c.row<u64>(op.result[0]);
    const u64* base = c.row<u64>(op.source[0]);
    const u32* stride = c.row<u32>(op.source[1]);
    const u32* lane = c.row<u32>(op.source[2]);
    for (int i = 0; i < LANES; i++) {
        const u64 number = lane[i] * held + which, row = number / columns, column = number % columns;
        r[i] = base[i] + (by_columns ? column * stride[i] + row : row * stride[i] + column) * size;
    }
}

// Converts the addresses of rows, given by lanes 8i to 8i + 7 for matrix i, to the addresses of words.
void matrix_rows(Context& c, const Op& op) {
    meet(c, op);
    const int count = part(op, 0);
    u64 rows[LANES];
    std::memcpy(rows, c.row<u64>(op.source[0]), sizeof rows);
    for (int i = 0; i < 8 * count; i++)
        if (rows[i] & 15) throw Suspicion{MATRIX_ROW, op.site, i};
    for (int n = 0; n < count; n++) {
        if (op.result[n] < 0) continue;
        u64* r = c.row<u64>(op.result[n]);
        for (int i = 0; i < LANES; i++) r[i] = rows[8 * n + i / 4] + 4 * (i % 4);
    }
}

// Each register holds words of eight rows, four lanes per row. With sixteen rows, the registers alternate between the
// upper and the lower eight. The operation before this one checks and records what is read.
void factor_words(Context& c, const Op& op) {
    whole_warp(c, op);
    const u64* bits = c.row<u64>(op.source[0]);
    const u32* first = c.row<u32>(op.source[1]);
    const u32 turned = part(op, 0), turns = part(op, 1);
    const bool same = std::all_of(bits, bits + LANES, [&](u64 each) { return each == *bits; }) &&
                      std::all_of(first, first + LANES, [&](u32 each) { return each == *first; });
    for (int n = 0; n < op.count; n++) {
        if (op.result[n] < 0) continue;
        u32* r = c.row<u32>(op.result[n]);
        if (same && !turned) {  // four lanes hold sixteen bytes of a row
            const Descriptor matrix(*bits);
            for (u32 i = 0; i < LANES; i += 4)
                std::memcpy(r + i, c.shared + matrix.word_of_lane(false, i, *first + op.width, n, turns).first,
                            Descriptor::UNIT);
            continue;
        }
        for (u32 i = 0; i < LANES; i++) {
            const auto [low, high] = Descriptor(bits[i]).word_of_lane(turned, i, first[i] + op.width, n, turns);
            u16 halves[2];
            std::memcpy(&halves[0], c.shared + low, sizeof halves[0]);
            std::memcpy(&halves[1], c.shared + high, sizeof halves[1]);
            std::memcpy(&r[i], halves, sizeof halves);
        }
    }
}

void of_the_judge(Context&, const Op&) {}

// Transposes each register as an 8 × 8 matrix of halves, distributed over the warp.
void transpose(Context& c, const Op& op) {
    whole_warp(c, op);
    const int count = part(op, 0);
    u16 before[4][8][8], after[8][8];
    for (int n = 0; n < count; n++) std::memcpy(before[n], c.row<u32>(op.source[n]), sizeof after);
    for (int n = 0; n < count; n++) {
        if (op.result[n] < 0) continue;
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++) after[j][i] = before[n][i][j];
        std::memcpy(c.row<u32>(op.result[n]), after, sizeof after);
    }
}

#define OF_FP8(NAME, F, A, B, FA, FB)                                                         \
    {NAME "/f32." A "." B ".f32", F<Single<f32>, Fp8s<FA>, Fp8s<FB>, Single<f32>>},           \
    {NAME "/f16." A "." B ".f16", F<F16s, Fp8s<FA>, Fp8s<FB>, F16s>},

#define OF_ALL_FP8(NAME, F)                                                                   \
    OF_FP8(NAME, F, "e4m3", "e4m3", E4M3, E4M3) OF_FP8(NAME, F, "e4m3", "e5m2", E4M3, E5M2)   \
    OF_FP8(NAME, F, "e5m2", "e4m3", E5M2, E4M3) OF_FP8(NAME, F, "e5m2", "e5m2", E5M2, E5M2)

#define OF_INTEGERS(NAME, F)                                                                  \
    OF_BYTES(NAME, F)                                                                         \
    {NAME "/s32.s8.u8.s32", F<Int32, Bytes<i8>, Bytes<u8>, Int32>},                           \
    {NAME "/s32.u8.s8.s32", F<Int32, Bytes<u8>, Bytes<i8>, Int32>},                           \
    {NAME "/s32.s4.s4.s32", F<Int32, Nibbles<true>, Nibbles<true>, Int32>},                   \
    {NAME "/s32.u4.u4.s32", F<Int32, Nibbles<false>, Nibbles<false>, Int32>},                 \
    {NAME "/s32.s4.u4.s32", F<Int32, Nibbles<true>, Nibbles<false>, Int32>},                  \
    {NAME "/s32.u4.s4.s32", F<Int32, Nibbles<false>, Nibbles<true>, Int32>},

#define OF_BYTES(NAME, F)                                                                     \
    {NAME "/s32.s8.s8.s32", F<Int32, Bytes<i8>, Bytes<i8>, Int32>},                           \
    {NAME "/s32.u8.u8.s32", F<Int32, Bytes<u8>, Bytes<u8>, Int32>},

#define OF_FLOATS(NAME, F)                                                                    \
    {NAME "/f32.f16.f16.f32", F<Single<f32>, F16s, F16s, Single<f32>>},                       \
    {NAME "/f32.f16.f16.f16", F<Single<f32>, F16s, F16s, F16s>},                              \
    {NAME "/f16.f16.f16.f32", F<F16s, F16s, F16s, Single<f32>>},                              \
    {NAME "/f16.f16.f16.f16", F<F16s, F16s, F16s, F16s>},                                     \
    {NAME "/f32.bf16.bf16.f32", F<Single<f32>, BF16s, BF16s, Single<f32>>},                   \
    {NAME "/f32.tf32.tf32.f32", F<Single<f32>, Tf32, Tf32, Single<f32>>},

#define OF_DOUBLES(NAME, F)                                                                   \
    {NAME "/f64.f64.f64.f64", F<Single<f64>, Single<f64>, Single<f64>, Single<f64>>},

}  // namespace

std::vector<Entry> matrix_entries() {
    return {
        OF_FLOATS("mma", mma) OF_DOUBLES("mma", mma) OF_INTEGERS("mma", mma) OF_ALL_FP8("mma", mma)
        OF_FLOATS("mma_sparse", mma_sparse) OF_INTEGERS("mma_sparse", mma_sparse)
        OF_ALL_FP8("mma_sparse", mma_sparse)
        OF_FLOATS("wmma", wmma) OF_DOUBLES("wmma", wmma) OF_BYTES("wmma", wmma)
        {"more operands", more_operands},
        {"fragment_address", element_address<false>, ALL_MEET},
        {"column_address", element_address<true>, ALL_MEET},
        {"products_hold", of_the_judge, HOLDS_REGISTERS},
        {"factor_read", of_the_judge, READS_FACTOR}, {"factor_words", factor_words, TAKES_WORDS},
        {"products_commit", of_the_judge, COMMITS_PRODUCTS}, {"products_wait", of_the_judge, WAITS_FOR_PRODUCTS},
        {"matrix_rows", matrix_rows, ALL_MEET}, {"transpose_8x8", transpose},
    };
}

}  // namespace machine
