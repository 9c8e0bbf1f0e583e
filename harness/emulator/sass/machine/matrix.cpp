// Tensor-core instructions of a warp. Lane l has the row l / 4 of a fragment and the columns from l % 4
// on, as the PTX manual draws them for `mma.sync`.

#include "products.h"

namespace sass {
namespace {

enum : i32 { OF_BF16 = 1, OF_TF32 = 2, HALF_RESULT = 4 };

// The depth is the flags' second byte: 4 or 8 of TF32, 8 or 16 of halves.
void hmma(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    const Type type = flags & OF_TF32 ? TF32 : flags & OF_BF16 ? BRAIN : HALF;
    const int depth = flags >> 8, chunk = 4 * held(type);
    Factors factors;
    for (int i = 0; i < LANES; i++) {
        const int group = i / 4, place = held(type) * (i % 4);
        for (int k = 0; k < depth / chunk; k++)
            for (int e = 0; e < held(type); e++) {
                const int column = k * chunk + place + e;
                const auto of = [&](int which, int word) {
                    return element(type, word_of(c, n, which, word)[i], e);
                };
                factors.a[group][column] = of(0, 2 * k);
                factors.a[group + 8][column] = of(0, 2 * k + 1);
                factors.b[column][group] = of(1, k);
            }
    }
    const Sums sums{(flags & HALF_RESULT) != 0, false, false};
    sums.add(c, n, factors, depth, 0, [&](int word, int i) { return word_of(c, n, 2, word)[i]; });
}

}  // namespace

std::vector<Entry> matrix_entries() { return {{"HMMA", hmma}}; }

}  // namespace sass
