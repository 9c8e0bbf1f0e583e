// Products of a warpgroup: HGMMA, QGMMA and IGMMA. Each warp computes its sixteen of the 64 rows immediately, so
// that there is nothing left to wait for.
//
// Words are distributed over the lanes as for HMMA; the words of an operand in shared memory are
// where its descriptor says. If the first operand is sparse, its rows have the same words and are
// twice as deep, as are the second operand's.

#include <optional>

#include "memory/tensors/matrix_descriptor.h"
#include "products.h"
#include "products_wait.h"
#include "tensor_cores/sparse_factor.h"

namespace sass {
namespace {

using machine::Descriptor;

enum : i32 {
    HALF_SUMS = 1 << 12, NEGATES_A = 1 << 14, NEGATES_B = 1 << 15,
    TURNS_A = 1 << 16, TURNS_B = 1 << 17, A_IN_MEMORY = 1 << 18, ENDS_GROUP = 1 << 19, SPARSE = 1 << 20,
};
constexpr int WORDS = 8;  // of a row in a slice, of any type
constexpr int ROWS_READ = LANES / WORDS;  // rows whose words fill a register of a warp
constexpr int WAVEFRONT_BYTES = 128;

bool in_shared(const Context& c, u32 address, size_t bytes) {
    return address >= static_cast<u32>(c.launch->shared_start) && address + bytes <= c.block->shared.size();
}

template <class T> T read_shared(const Context& c, u32 address, int lane) {
    if (!in_shared(c, address, sizeof(T))) throw Fault{OUTSIDE, lane, address};
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

// Reads a row's words in a slice. Four words are consecutive in memory unless the operand is turned.
void read_row(const Context& c, const Descriptor& matrix, bool turned, int row, int first, u32* words) {
    constexpr u32 UNIT_WORDS = Descriptor::UNIT / sizeof(u32);
    for (u32 w = 0; w < WORDS; w += UNIT_WORDS) {
        const u32 at = static_cast<u32>(first) + w;
        const u32 address = turned ? 0 : matrix.by_depth(row, static_cast<int>(4 * at));
        if (!turned && in_shared(c, address, Descriptor::UNIT))
            std::memcpy(words + w, c.block->shared.data() + address, Descriptor::UNIT);
        else
            for (u32 i = 0; i < UNIT_WORDS; i++)
                words[w + i] = word_at(c, matrix, turned, row, static_cast<int>(at + i));
    }
}

// An operand in shared memory takes a wavefront per 128 bytes, whatever its layout and swizzle:
// each warp's own rows of the first operand, and all of the second once per warpgroup. This agrees
// with an H200's counts of dense products.
void count_factors(Context& c, int groups, bool a_in_memory, int slices) {
    constexpr int ROW_BYTES = WORDS * sizeof(u32);
    const int rows = (a_in_memory ? ROWS : 0) + (c.warp->number % 4 == 0 ? COLUMNS * groups * slices : 0);
    c.counts.wavefronts[c.at] += rows * ROW_BYTES / WAVEFRONT_BYTES;
    c.counts.wavefronts_ideal[c.at] += rows * ROW_BYTES / WAVEFRONT_BYTES;
}

// Checks that the part of an operand that a warp reads is in the block's shared memory, and reports
// it to the judge.
void tell(const Context& c, const Descriptor& matrix, bool turned, int first, int rows, int slices) {
    if (!c.judge) return;
    for (u32 i = 0; i < LANES; i++)
        matrix.each_unit(turned, i, first, rows, slices, [&](u32 at) {
            read_shared<std::array<u8, Descriptor::UNIT>>(c, at, static_cast<int>(i));
        });
    c.judge->read_factor(c, matrix, turned, first, rows, slices);
}

// The columns of a sparse operand's elements, in the rows of a warp.
struct Places {
    static constexpr int MOST_STORED = WORDS * MOST_HELD;

    Places(const Context& c, const Instruction& n, int source, Type type) {
        const int stored = WORDS * held(type);
        const machine::SparseFactor factor(word_of(c, n, source, 0), static_cast<int>(n.immediate), 32 / held(type),
                                           2 * stored);
        for (int r = 0; r < ROWS; r++)
            for (int k = 0; k < stored; k++) {
                of[r][k] = factor.column(r, k);
                if (of[r][k] < 0) undefined_metadata(c, r);
            }
    }
    int of[ROWS][MOST_STORED];
};

// Sources: A if it is in registers, the descriptors, the previous sums, the metadata of a sparse
// operand. The second operand's descriptor follows the space for the first one's, even if the first
// operand is in registers.
void multiply(Context& c, const Instruction& n) {
    const i32 flags = n.flags;
    const int groups = flags & 63;
    const Type a_type = first_type(flags), b_type = second_type(flags);
    const bool in_memory = flags & A_IN_MEMORY, adds = c.predicate(n, 0) & c.on;
    const int at = in_memory ? 0 : 1, depth = WORDS * held(a_type);
    const int slices = flags & SPARSE ? 2 : 1;
    const auto descriptor = [&](int number) { return Descriptor(wide_of(c, n, at, 2 * number, 0)); };
    count_factors(c, groups, in_memory, slices);
    const int first_row = c.warp->number % WARPS_OF_GROUP * ROWS;
    if (in_memory) tell(c, descriptor(0), flags & TURNS_A, first_row, ROWS, 1);
    tell(c, descriptor(1), flags & TURNS_B, 0, COLUMNS * groups, slices);
    Factors factors;
    const f64 sign = !(flags & NEGATES_A) == !(flags & NEGATES_B) ? 1 : -1;
    u32 words[LANES];
    f64 elements[LANES * MOST_HELD];
    for (int r = 0; r < ROWS; r += ROWS_READ) {
        for (int i = 0; i < ROWS_READ; i++)
            if (in_memory)
                read_row(c, descriptor(0), flags & TURNS_A, first_row + r + i, 0, words + i * WORDS);
            else
                for (int w = 0; w < WORDS; w++)
                    words[i * WORDS + w] = word_of(c, n, 0, r / 8 + w / 4 * 2)[(r + i) % 8 * 4 + w % 4];
        read_elements(a_type, words, elements);
        for (int i = 0; i < ROWS_READ; i++)
            for (int k = 0; k < depth; k++) factors.a[r + i][k] = sign * elements[i * depth + k];
    }
    const Descriptor second = descriptor(1);
    if (second.has_half(flags & TURNS_B, slices)) throw machine::Accusation{machine::HALF_OF_ROWS, c.at, c.warp->number * LANES, {}};
    const Sums sums{(flags & HALF_SUMS) != 0, a_type >= UNSIGNED, (flags & CLAMPS) != 0};
    std::optional<Places> places;
    if (flags & SPARSE) places.emplace(c, n, at + 2, a_type);
    for (int group = 0; group < groups; group++) {
        for (int slice = 0; slice < slices; slice++)
            for (int col = 0; col < COLUMNS; col += ROWS_READ) {
                for (int i = 0; i < ROWS_READ; i++)
                    read_row(c, second, flags & TURNS_B, COLUMNS * group + col + i, slice * WORDS, words + i * WORDS);
                read_elements(b_type, words, elements);
                for (int i = 0; i < ROWS_READ; i++)
                    for (int k = 0; k < depth; k++)
                        factors.b[slice * depth + k][col + i] = elements[i * depth + k];
            }
        const int first = sums.words() * group;
        const auto before = [&](int word) { return adds ? word_of(c, n, at + 1, first + word) : nullptr; };
        if (places)
            sums.add(c, n, factors, depth, first, before, [&](int row, int k) { return places->of[row][k]; });
        else
            sums.add(c, n, factors, depth, first, before);
    }
}

// A group may also be ended by an instruction that multiplies no columns. On an H100, it takes the wavefronts of a
// product with one group of columns.
void gmma(Context& c, const Instruction& n) {
    if (!c.on) return;
    if (n.flags & 63)
        multiply(c, n);
    else
        count_factors(c, 1, true, 1);
    if (!(n.flags & ENDS_GROUP)) return;
    c.warp->products++;
    look_at_products(c, *c.block);
}

}  // namespace

std::vector<Entry> warpgroup_entries() { return {{"GMMA", gmma}}; }

}  // namespace sass
