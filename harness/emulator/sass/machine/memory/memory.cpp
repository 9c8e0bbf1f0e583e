// Loads, stores and copies, including loads from constant banks.

#include <algorithm>

#include "addresses.h"
#include "mbarriers.h"
#include "races/judge.h"

namespace sass {
namespace {

enum : i32 { SIGN_EXTENDS = 1 };

template <int WORDS> void gather(Context& c, const Instruction& n, const Places& places) {
    u32* r = c.result(n);
    each_lane(c.on, [&](int i) {
        u32 words[WORDS];
        std::memcpy(words, places.at[i], sizeof words);
        for (int w = 0; w < WORDS; w++) r[LANES * w + i] = words[w];
    });
}

// Gives every lane the words at one address.
void broadcast(Context& c, const Instruction& n, const u8* at) {
    for (int w = 0; w < n.width / 4; w++) {
        u32 word;
        std::memcpy(&word, at + 4 * w, 4);
        write(c, c.result(n, 0, w), [&](int) { return word; });
    }
}

void load(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access access = addressed(c, n);
    Places places;
    const i32 space = place(c, n, access, READ, places);
    count(c, access, space, true);
    if (c.judge) c.judge->load(c, n, access, space, places);
    if (n.width >= 4) {
        const int words = n.width / 4;
        if (c.full && words == 1 && access.in_a_row && space != LOCAL) {
            std::memcpy(c.result(n), places.at[0], LANES * 4);
            return;
        }
        if (access.low == access.high && space != LOCAL)
            broadcast(c, n, places.at[__builtin_ctz(c.on)]);
        else if (words == 1)
            gather<1>(c, n, places);
        else if (words == 2)
            gather<2>(c, n, places);
        else
            gather<4>(c, n, places);
        return;
    }
    u32* r = c.result(n);
    each_lane(c.on, [&](int i) {
        if (n.width == 2) {
            u16 raw;
            std::memcpy(&raw, places.at[i], 2);
            r[i] = n.flags & SIGN_EXTENDS ? static_cast<u32>(static_cast<i16>(raw)) : raw;
        } else {
            const u8 raw = *places.at[i];
            r[i] = n.flags & SIGN_EXTENDS ? static_cast<u32>(static_cast<i8>(raw)) : raw;
        }
    });
}

void judge_store(Context& c, const Instruction& n, const Access& access, i32 space,
                 const Places& places, const Value& value) {
    u8 bytes[LANES * 16];
    each_lane(c.on, [&](int i) {
        for (int w = 0; w < std::max(1, n.width / 4); w++)
            std::memcpy(bytes + 16 * i + 4 * w, value.row + value.step * w + i, 4);
    });
    c.judge->access(c, access, space, machine::WRITE, places, bytes);
}

void store(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access access = addressed(c, n);
    Places places;
    const i32 space = place(c, n, access, WRITE, places);
    count(c, access, space, false);
    const Value value = value_of(c, n, 2);
    if (c.judge) judge_store(c, n, access, space, places, value);
    if (n.width < 4) {
        each_lane(c.on, [&](int i) { std::memcpy(places.at[i], value.row + i, n.width); });
        return;
    }
    for (int w = 0; w < n.width / 4; w++)
        each_lane(c.on, [&](int i) {
            std::memcpy(places.at[i] + 4 * w, value.row + value.step * w + i, 4);
        });
}

// A lane's 256 bits are two values of 128 bits, and one sector. A load skips the words whose bit in
// its mask is not set; the other words go to adjacent registers.
constexpr int WIDE_WORDS = 8, WORDS_OF_PART = 4, PART_BYTES = 16;

void judge_wide(Context& c, const Access& access, i32 mode, const Places& places, const u8* bytes) {
    for (int part = 0; part < 2; part++) {
        Access half = access;
        Places there = places;
        half.width = PART_BYTES;
        for (int i = 0; i < LANES; i++) half.address[i] += part * PART_BYTES, there.at[i] += part * PART_BYTES;
        machine::survey(half);
        if (mode == machine::READ)
            c.judge->access(c, half, GLOBAL, machine::READ, there);
        else
            c.judge->access(c, half, GLOBAL, machine::WRITE, there, bytes + part * LANES * PART_BYTES);
    }
}

void load_256(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access access = addressed(c, n);
    Places places;
    const i32 space = place(c, n, access, READ, places);
    count(c, access, space, true);
    if (c.judge) judge_wide(c, access, machine::READ, places, nullptr);
    u32 words[WIDE_WORDS][LANES] = {};
    each_lane(c.on, [&](int i) {
        for (int w = 0; w < WIDE_WORDS; w++) std::memcpy(&words[w][i], places.at[i] + 4 * w, 4);
    });
    for (int part = 0; part < 2; part++) {
        int next = 0;
        for (int w = WORDS_OF_PART * part; w < WORDS_OF_PART * (part + 1); w++) {
            if (!(n.flags >> w & 1)) continue;
            u32* r = c.result(n, !part, next++);  // the upper half is named first
            write(c, r, [&](int i) { return words[w][i]; });
        }
    }
}

void store_256(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access access = addressed(c, n);
    Places places;
    const i32 space = place(c, n, access, WRITE, places);
    count(c, access, space, false);
    const Value parts[] = {value_of(c, n, 2), value_of(c, n, 3)};
    u8 bytes[2 * LANES * PART_BYTES];
    each_lane(c.on, [&](int i) {
        for (int w = 0; w < WIDE_WORDS; w++) {
            const Value& part = parts[w / WORDS_OF_PART];
            const int word = w % WORDS_OF_PART;
            std::memcpy(bytes + (w / WORDS_OF_PART * LANES + i) * PART_BYTES + 4 * word,
                        part.row + part.step * word + i, 4);
        }
    });
    if (c.judge) judge_wide(c, access, machine::WRITE, places, bytes);
    each_lane(c.on, [&](int i) {
        for (int part = 0; part < 2; part++)
            std::memcpy(places.at[i] + part * PART_BYTES, bytes + (part * LANES + i) * PART_BYTES, PART_BYTES);
    });
}

enum : i32 { TRANSPOSED = 1 };

// The rows of a matrix, 16 bytes each, at the addresses in eight lanes, starting at lane 8 m. They
// cost as much as a separate request by these lanes.
Access rows_of_matrix(const Context& c, const Access& all, int m, Places& places, machine::Wavefronts& cost) {
    Access rows = all;
    rows.active = 0xFFu << 8 * m;
    rows.width = 16;
    machine::survey(rows);
    aligned(rows, 16);
    in_shared(c, rows, places);
    cost.spent += machine::fullest_bank(rows, rows.active);
    cost.ideal++;
    return rows;
}

// Matrices of 8 x 8 halves from shared memory, or their transposes: LDSM.

void ldsm(Context& c, const Instruction& n) {
    if (!c.on) return;
    const int matrices = n.flags >> 4;
    Access all = addressed(c, n);
    u32 out[4][LANES];
    machine::Wavefronts cost{0, 0};
    for (int m = 0; m < matrices; m++) {
        Places places;
        const Access rows = rows_of_matrix(c, all, m, places, cost);
        if (c.judge) c.judge->access(c, rows, SHARED, machine::READ, places);
        u16 held[8][8];
        for (int r = 0; r < 8; r++) std::memcpy(held[r], places.at[8 * m + r], 16);
        for (int i = 0; i < LANES; i++) {
            const int row = i / 4, column = 2 * (i % 4);
            out[m][i] = n.flags & TRANSPOSED
                            ? machine::pair(held[column][row], held[column + 1][row])
                            : machine::pair(held[row][column], held[row][column + 1]);
        }
    }
    count_shared(c, cost);
    for (int m = 0; m < matrices; m++)
        write(c, c.result(n, 0, m), [&](int i) { return out[m][i]; });
}

// The opposite direction, to shared memory: STSM.
void stsm(Context& c, const Instruction& n) {
    if (!c.on) return;
    const int matrices = n.flags >> 4;
    Access all = addressed(c, n);
    const Value value = value_of(c, n, 2);
    machine::Wavefronts cost{};
    for (int m = 0; m < matrices; m++) {
        Places places;
        const Access rows = rows_of_matrix(c, all, m, places, cost);
        u16 held[8][8];
        for (int i = 0; i < LANES; i++) {
            const u32 word = value.row[value.step * m + i];
            const int row = i / 4, column = 2 * (i % 4);
            if (n.flags & TRANSPOSED)
                held[column][row] = machine::low(word), held[column + 1][row] = machine::high(word);
            else
                held[row][column] = machine::low(word), held[row][column + 1] = machine::high(word);
        }
        u8 bytes[LANES * 16];
        for (int r = 0; r < 8; r++) std::memcpy(bytes + 16 * (8 * m + r), held[r], 16);
        if (c.judge) c.judge->access(c, rows, SHARED, machine::WRITE, places, bytes);
        for (int r = 0; r < 8; r++) std::memcpy(places.at[8 * m + r], held[r], 16);
    }
    count_shared(c, cost);
}

// The 32-bit addresses of an asynchronous copy's target, which is a second memory operand.
Access shared_target(const Context& c, const Instruction& n) {
    Access access;
    access.active = c.on;
    access.width = n.width;
    const u32 *base = c.source(n.source[2]), *more = c.source(n.source[3]);
    for (int i = 0; i < LANES; i++) access.address[i] = base[i] + more[i] + static_cast<u32>(n.target);
    machine::survey(access);
    return access;
}

// Reads a copy's sources, together for all lanes that read the same number of bytes (`filled`, by lane).
void read_sources(Context& c, const Instruction& n, Access from, u32 copies, const int* filled,
                  u8 (*data)[16]) {
    for (u32 left = copies; left;) {
        Access part = from;
        part.width = filled[__builtin_ctz(left)];
        part.active = left & lanes_where([&](int i) { return filled[i] == part.width; });
        left &= ~part.active;
        machine::survey(part);
        Places source;
        in_global(c, part, READ, source);
        each_lane(part.active, [&](int i) { std::memcpy(data[i], source.at[i], part.width); });
        if (!c.judge) continue;
        part.width = (part.width + machine::WORD_BYTES - 1) / machine::WORD_BYTES * machine::WORD_BYTES;
        c.judge->access(c, part, GLOBAL, machine::READ, source);
    }
}

// Bytes after those that are copied are zeros: all bytes if the predicate is false, and with ZFILL as many as the
// lowest bits of the address say. The bytes land when their thread waits for them. If no lane copies, no request is
// made. A sector of global memory that lands in two sectors of shared memory is fetched for each of them.
void copy(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access from = addressed(c, n), to = shared_target(c, n);
    const u32 copies = c.on & c.predicate(n, 0);
    bool has_zeros = copies != c.on;
    int filled[LANES];
    for (int i = 0; i < LANES; i++) {
        const i64 zeros = n.flags & FILLS ? from.address[i] & (n.width - 1) : 0;
        from.address[i] -= zeros;
        has_zeros |= c.on >> i & 1 && zeros;
        filled[i] = copies >> i & 1 ? static_cast<int>(n.width - zeros) : 0;
    }
    u8 data[LANES][16] = {};
    Places target;
    aligned(to, n.width);
    in_shared(c, to, target);
    if (copies) {
        Access landing = to;
        from.active = landing.active = copies;
        machine::survey(from);
        machine::survey(landing);
        aligned(from, n.width);
        read_sources(c, n, from, copies, filled, data);
        count_global(c, std::max(machine::global_sectors(from), machine::global_sectors(landing)));
    }
    machine::Wavefronts cost = machine::shared_wavefronts(to, false);
    // On an H200 ncu reads more than the rule gives where some of the bytes are zeros (conv2d/v7_winograd).
    cost.is_ideal_uncertain |= has_zeros;
    count_shared(c, cost);
    if (c.judge) c.judge->access(c, to, SHARED, machine::WRITE, target, data[0]);
    each_lane(c.on, [&](int i) {
        UnderWay each{i, n.width, c.at, c.warp->committed[i], to.address[i], 0, {}};
        std::memcpy(each.data, data[i], n.width);
        if (c.judge) each.number = c.judge->take_off(c, each, from.address[i], filled[i]);
        c.warp->copies.push_back(each);
    });
}

void commit_copies(Context& c, const Instruction&) {
    each_lane(c.on, [&](int i) { c.warp->committed[i]++; });
}

// Lands all but each lane's newest groups, as many as the immediate says.
void wait_for_copies(Context& c, const Instruction& n) {
    std::vector<UnderWay>& all = c.warp->copies;
    size_t kept = 0;
    for (const UnderWay& each : all) {
        if (!(c.on >> each.lane & 1) || each.group >= c.warp->committed[each.lane] - n.immediate) {
            all[kept++] = each;
            continue;
        }
        std::memcpy(c.block->shared.data() + in_window(each.target), each.data, each.width);
        if (c.judge) c.judge->land(c, each);
    }
    all.resize(kept);
}

// Bulk copies move their bytes when they are issued, so only the judge needs to know about their groups.
void wait_for_groups(Context& c, const Instruction& n) {
    wait_for_copies(c, n);
    if (c.judge) c.judge->wait_for_bulk(c, n.immediate, c.launch->kinds[c.at] == DONE_READING);
}

// Reports to an mbarrier that all copies of each lane have landed: by an arrival, or by one byte that it was told to
// expect before this instruction.
void tell_of_copies(Context& c, const Instruction& n) {
    if (!c.on) return;
    i64 committed[LANES];
    std::memcpy(committed, c.warp->committed, sizeof committed);
    Instruction all = n;
    all.immediate = 0;
    commit_copies(c, n);
    wait_for_copies(c, all);
    std::memcpy(c.warp->committed, committed, sizeof committed);
    arrive(c, n);
}

void membar(Context& c, const Instruction&) {
    if (c.judge && c.on) c.judge->fence(c);
}

// Whether generic addresses belong to a state space: shared memory is that of the thread's own
// block (S) or of the cluster (D, `isspacep.shared::cluster`).
void qspc(Context& c, const Instruction& n) {
    const Access access = addressed(c, n);
    c.set_predicate(n, 0, lanes_where([&](int i) {
        const i64 address = access.address[i];
        const bool is_shared = address >= machine::SHARED_WINDOW && address < machine::LOCAL_WINDOW;
        if (n.flags == OF_CLUSTER) return is_shared;
        if (n.flags == OF_SHARED)
            return is_shared && (address - machine::SHARED_WINDOW) >> RANK_SHIFT == c.block->rank;
        return !is_shared && space_of(address) == (n.flags == OF_LOCAL ? LOCAL : GLOBAL);
    }));
}

// --- constants ----------------------------------------------------------------------------------

// Loads from a bank at the sum of a register and an immediate. Data past a bank's end reads as 0.
void ldc(Context& c, const Instruction& n) {
    const u32* base = c.source(n.source[0]);
    const u8* bank = c.launch->banks[n.space];
    const i64 size = c.launch->bank_sizes[n.space];
    const int words = std::max(1, n.width / 4), bytes = std::min(n.width, 4);
    u32 out[4][LANES] = {};
    for (int i = 0; i < LANES; i++) {
        for (int w = 0; w < words; w++) {
            const i64 at = static_cast<u32>(base[i] + static_cast<u32>(n.immediate)) + 4 * w;
            if (at + bytes <= size) std::memcpy(&out[w][i], bank + at, bytes);
            if ((n.flags & SIGN_EXTENDS) && bytes < 4) {
                const int off = 32 - 8 * bytes;
                out[w][i] = static_cast<u32>(static_cast<i32>(out[w][i] << off) >> off);
            }
        }
    }
    for (int w = 0; w < words; w++) write(c, c.result(n, 0, w), [&](int i) { return out[w][i]; });
}

}  // namespace

std::vector<Entry> memory_entries() {
    return {
        {"LOAD", load}, {"STORE", store}, {"LOAD.256", load_256}, {"STORE.256", store_256}, {"LDSM", ldsm}, {"STSM", stsm}, {"LDGSTS", copy}, {"QSPC", qspc},
        {"LDGDEPBAR", commit_copies}, {"ARRIVES", tell_of_copies}, {"DEPBAR.LE", wait_for_groups},
        {"LDC", ldc}, {"MEMBAR", membar},
    };
}

}  // namespace sass
