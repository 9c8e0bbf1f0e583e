// Tensor-core instructions of a warp. Lane l holds row l / 4 of a fragment and the columns that
// start at l % 4, as the PTX manual shows for `mma.sync`.

#include <cmath>

#include "products.h"
#include "tensor_cores/sparse_factor.h"

namespace sass {
namespace {

enum : i32 { OF_BF16 = 1, OF_TF32 = 2, HALF_RESULT = 4 };

// Reads 16 rows of the first operand and 8 columns of the second. Four adjacent lanes hold one row
// or column. stored: the number of elements in a row of the first operand, which is less than the
// depth if the operand is sparse.
void fragments(const Context& c, const Instruction& n, Type a_type, Type b_type, int stored, int depth,
               Factors& factors) {
    const int chunk = 4 * held(a_type);
    f64 elements[LANES * MOST_HELD];
    for (int k = 0; k < stored / chunk; k++)
        for (int half = 0; half < 2; half++) {
            read_elements(a_type, word_of(c, n, 0, 2 * k + half), elements);
            for (int r = 0; r < 8; r++)
                std::memcpy(factors.a[8 * half + r] + k * chunk, elements + r * chunk, chunk * sizeof(f64));
        }
    for (int k = 0; k < depth / chunk; k++) {
        read_elements(b_type, word_of(c, n, 1, k), elements);
        for (int col = 0; col < COLUMNS; col++)
            for (int m = 0; m < chunk; m++) factors.b[k * chunk + m][col] = elements[col * chunk + m];
    }
}

void add_product(Context& c, const Instruction& n, Sums sums, Type a_type, Type b_type, int depth) {
    Factors factors;
    fragments(c, n, a_type, b_type, depth, depth, factors);
    sums.add(c, n, factors, depth, 0, [&](int word) { return word_of(c, n, 2, word); });
}

// The immediate is the sparsity selector, which says which threads supply the metadata.
void add_sparse_product(Context& c, const Instruction& n, Sums sums, Type a_type, Type b_type, int stored) {
    constexpr int METADATA = 3;
    Factors factors;
    fragments(c, n, a_type, b_type, stored, 2 * stored, factors);
    const machine::SparseFactor places(word_of(c, n, METADATA, 0), static_cast<int>(n.immediate), 32 / held(a_type),
                                       2 * stored);
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < stored; k++)
            if (places.column(r, k) < 0) undefined_metadata(c, r);
    sums.add(c, n, factors, stored, 0, [&](int word) { return word_of(c, n, 2, word); },
             [&](int row, int k) { return places.column(row, k); });
}

using AddProduct = void(Context&, const Instruction&, Sums, Type, Type, int);

// The flags' second byte is the depth or, if the first operand is sparse, the number of its stored
// elements per row: 4 or 8 for TF32, 8 or 16 for halves.
template <AddProduct add> void hmma(Context& c, const Instruction& n) {
    const Type type = n.flags & OF_TF32 ? TF32 : n.flags & OF_BF16 ? BRAIN : HALF;
    add(c, n, {(n.flags & HALF_RESULT) != 0, false, false}, type, type, n.flags >> 8);
}

// The flags' types and clamping are encoded as for a warpgroup's product; the bits below are the same number.
template <AddProduct add> void imma(Context& c, const Instruction& n) {
    add(c, n, {false, true, (n.flags & CLAMPS) != 0}, first_type(n.flags), second_type(n.flags), n.flags & 63);
}

// Multiplies 8 × 4 doubles by 4 × 8; each step is rounded as by DFMA.
void dmma(Context& c, const Instruction& n) {
    constexpr int DEPTH = 4;
    const auto number = [&](int which, int at, int i) {
        return bits_of<f64>(wide_of(c, n, which, 2 * at, i));
    };
    u64 sums[2][LANES];
    for (int i = 0; i < LANES; i++)
        for (int e = 0; e < 2; e++) {
            f64 sum = number(2, e, i);
            for (int k = 0; k < DEPTH; k++)
                sum = std::fma(number(0, 0, i / 4 * 4 + k), number(1, 0, (i % 4 * 2 + e) * 4 + k), sum);
            sums[e][i] = bits_of<u64>(canonical(sum));
        }
    for (int word = 0; word < 4; word++)
        write(c, c.result(n, 0, word), [&](int i) {
            return static_cast<u32>(sums[word / 2][i] >> 32 * (word % 2));
        });
}

}  // namespace

std::vector<Entry> matrix_entries() {
    return {
        {"HMMA", hmma<add_product>}, {"IMMA", imma<add_product>}, {"DMMA", dmma},
        {"HMMA.SP", hmma<add_sparse_product>}, {"IMMA.SP", imma<add_sparse_product>},
    };
}

}  // namespace sass
