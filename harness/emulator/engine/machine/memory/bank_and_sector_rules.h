// The cost of a warp's memory instruction: wavefronts in shared memory, 32-byte sectors in global memory. Accesses are
// naturally aligned.
//
// The rules were derived from H200 readings (compute capability 9.0) with Nsight Compute, with one warp and one memory
// instruction per launch, and reproduce every reading in tests/data/h200_memory_instructions.csv.

#pragma once

#include <algorithm>

#include "machine.h"

namespace machine {

constexpr int BANKS = 32;
constexpr int WORD_BYTES = 4;
constexpr int SECTOR_SHIFT = 5;

// The addresses of a warp's access; the addresses of inactive lanes are meaningless.
struct Access {
    u32 active;
    int width;  // bytes per lane
    i64 address[LANES];
    i64 low, high;  // of the active lanes
    i64 bits;       // bits set in the first active lane's address or in any distance from it
    bool in_a_row;  // every lane is active and follows the one before
};

// Whether an access has a pattern's addresses, except for a shift. mask: all ones for an active lane.
template <class Mask>
bool repeats(const Pattern& pattern, const Access& access, i64 first, const Mask* mask) {
    if (pattern.active != access.active || first + pattern.low > first + pattern.high) return false;
    i64 changed = 0;
    if (access.active == EVERYBODY)
        for (int i = 0; i < LANES; i++)
            changed |= access.address[i] - first - pattern.relative[i];
    else
        for (int i = 0; i < LANES; i++)
            changed |= (access.address[i] - first - pattern.relative[i]) & static_cast<i32>(mask[i]);
    return !changed;
}

// Addresses may have any value. A pattern so wide that differences might wrap around never counts
// as repeated.
constexpr u64 WIDEST = u64(1) << 62;

inline void learn(Pattern& pattern, const Access& access, i64 first) {
    i64 low = first, high = first, off = 0;
    pattern.bits = 0;
    for (int i = 0; i < LANES; i++) {
        pattern.relative[i] = access.address[i] - first;
        off |= pattern.relative[i] - i64(i) * access.width;
    }
    each_lane(access.active, [&](int i) {
        low = std::min(low, access.address[i]);
        high = std::max(high, access.address[i]);
        pattern.bits |= pattern.relative[i];
    });
    pattern.active = static_cast<u64>(high - low) < WIDEST ? access.active : 0;
    pattern.low = low - first, pattern.high = high - first;
    pattern.in_a_row = access.active == EVERYBODY && off == 0 && low == first;
    pattern.unit = pattern.leader_count = 0;
    pattern.number++;
}

template <class Mask>
void survey(Pattern& pattern, Access& access, const Mask* mask) {
    const i64 first = access.address[__builtin_ctz(access.active)];
    if (!repeats(pattern, access, first, mask)) learn(pattern, access, first);
    access.low = first + pattern.low, access.high = first + pattern.high;
    access.bits = first | pattern.bits;
    access.in_a_row = pattern.in_a_row;
}

// For lanes that all have the same address, as in their last access.
inline void survey_one(const Pattern& pattern, Access& access) {
    access.low = access.high = access.address[0];
    access.bits = access.address[0] | pattern.bits;
    access.in_a_row = false;
}

// For an access that is not expected to be repeated.
inline void survey(Access& access) {
    Pattern once;
    survey<i32>(once, access, nullptr);
}

// The distinct values seen, at most one per lane of a warp, and a number for each.
class Seen {
   public:
    // The value's number, which is set to `initial` when the value is first seen.
    u8& number(i64 value, int initial) {
        int at = static_cast<int>((static_cast<u64>(value) * 0x9E3779B97F4A7C15u) >> 58);
        for (; used_ >> at & 1; at = (at + 1) % SLOTS)
            if (values_[at] == value) return numbers_[at];
        used_ |= u64(1) << at;
        values_[at] = value;
        return numbers_[at] = static_cast<u8>(initial);
    }

    // Adds a value, and returns how often it was seen before.
    int add(i64 value) { return number(value, 0)++; }

   private:
    static constexpr int SLOTS = 64;
    u64 used_ = 0;
    i64 values_[SLOTS];
    u8 numbers_[SLOTS];
};

// The number of distinct sectors that active lanes access; each lane's access is within one sector.
inline int global_sectors(const Access& access) {
    if (access.in_a_row) {
        const i64 last = access.high + access.width - 1;
        return static_cast<int>((last >> SECTOR_SHIFT) - (access.low >> SECTOR_SHIFT) + 1);
    }
    if (access.low >> SECTOR_SHIFT == access.high >> SECTOR_SHIFT) return 1;
    i64 before = -1;
    int steps = 0;
    bool ascends = true;
    each_lane(access.active, [&](int i) {
        const i64 sector = access.address[i] >> SECTOR_SHIFT;
        steps += sector != before;
        ascends &= sector >= before;
        before = sector;
    });
    if (ascends) return steps;
    Seen seen;
    int sectors = 0;
    each_lane(access.active,
              [&](int i) { sectors += seen.add(access.address[i] >> SECTOR_SHIFT) == 0; });
    return sectors;
}

// Lanes of an atomic with the same address take turns: the k-th of them is served in round k.
struct Collisions {
    u8 round[LANES];
    int addresses, most;
    u32 firsts;  // the lanes of round 0
};

inline Collisions collisions(const Access& access) {
    Collisions met{};
    Seen seen;
    each_lane(access.active, [&](int i) {
        const int before = seen.add(access.address[i]);
        met.round[i] = static_cast<u8>(before);
        met.addresses += before == 0;
        met.firsts |= static_cast<u32>(before == 0) << i;
        met.most = std::max(met.most, before + 1);
    });
    return met;
}

// Each round costs as many sectors as it has distinct ones.
inline int global_atomic_sectors(const Access& access, const Collisions& met, int at_once) {
    if (met.most <= 1) return at_once;
    Seen seen;
    int sectors = 0;
    each_lane(access.active, [&](int i) {
        sectors += seen.add((access.address[i] >> SECTOR_SHIFT) * LANES + met.round[i]) == 0;
    });
    return sectors;
}

// The number of distinct words that some of the lanes access in their fullest bank.
inline int fullest_bank(const Access& access, u32 lanes) {
    if (!lanes) return 0;
    const int words = std::max(1, access.width / WORD_BYTES);
    i64 held[BANKS][LANES * 4 / BANKS + LANES];
    u8 count[BANKS] = {};
    int most = 0;
    each_lane(lanes, [&](int i) {
        for (int w = 0; w < words; w++) {
            const i64 word = access.address[i] / WORD_BYTES + w;
            const int bank = word % BANKS;
            bool known = false;
            for (int k = count[bank] - 1; k >= 0 && !known; k--) known = held[bank][k] == word;
            if (known) continue;
            held[bank][count[bank]++] = word;
            most = std::max<int>(most, count[bank]);
        }
    });
    return most;
}

// Whether every one of these lanes i has the same address as lane i ^ 1, or every one the same as
// lane i ^ 2, where an inactive lane counts as equal.
inline bool agree(const Access& access, u32 lanes) {
    for (const int partner : {1, 2}) {
        bool all = true;
        each_lane(access.active & lanes, [&](int i) {
            const int other = i ^ partner;
            all &= !(access.active >> other & 1) || access.address[i] == access.address[other];
        });
        if (all) return true;
    }
    return false;
}

struct Wavefronts {
    int spent, ideal;
    bool is_ideal_uncertain = false;  // no rule gives `ideal`
};

// A warp is served in pieces, each for some of the lanes. Accesses of up to 4 bytes are one piece. 8-byte accesses are
// two half-warps, which a load joins if they agree (see above). 16-byte accesses are four quarters of a warp; a load
// joins the two quarters of a half-warp if they agree, and never the halves. A load of whole pieces joins nothing if that
// saves no wavefront. A piece takes as many wavefronts as its fullest bank has distinct words, ideally one.
//
// If joining saves no wavefront and some of the lanes are inactive, one kernel was read (nms/v4 on an H200): its loads are
// joined. That is no rule, so the ideal wavefronts are uncertain.
inline Wavefronts shared_wavefronts(const Access& access, bool is_load) {
    if (access.width <= WORD_BYTES) {
        const bool simple = access.in_a_row || access.low / WORD_BYTES == access.high / WORD_BYTES;
        return {simple ? 1 : fullest_bank(access, access.active), access.active != 0};
    }
    const int piece = LANES * WORD_BYTES / access.width;
    if (access.in_a_row) return {LANES / piece, LANES / piece};
    Wavefronts cost{0, 0};
    for (int first = 0; first < LANES; first += 2 * piece) {
        const u32 half = ((1u << piece) - 1) << first, other = half << piece, whole = half | other;
        int apart = 0, pieces = 0;
        for (const u32 lanes : {access.active & half, access.active & other}) {
            apart += fullest_bank(access, lanes);
            pieces += lanes != 0;
        }
        const bool may_join = is_load && pieces == 2 && agree(access, whole);
        const int joined = may_join ? fullest_bank(access, access.active & whole) : apart;
        const bool is_joined = joined < apart || (may_join && (access.active & whole) != whole);
        cost.spent += std::min(joined, apart);
        cost.ideal += is_joined ? 1 : pieces;
        cost.is_ideal_uncertain |= is_joined && joined >= apart;
    }
    return cost;
}

// The cost of an access, which is computed only if it differs from the operation's last access.
template <class Cost>
Wavefronts cost_of(Pattern& pattern, const Access& access, i64 unit, Cost cost) {
    const i64 first = access.address[__builtin_ctz(access.active)] & (unit - 1);
    if (pattern.unit != unit || pattern.first != first) {
        const Wavefronts costs = cost();
        pattern.unit = unit, pattern.first = first;
        pattern.spent = costs.spent, pattern.ideal = costs.ideal;
        pattern.is_ideal_uncertain = costs.is_ideal_uncertain;
    }
    return {pattern.spent, pattern.ideal, pattern.is_ideal_uncertain};
}

// Lanes are served one at a time in each bank, even for the same word; a compare-and-swap takes two wavefronts per
// lane. COUNTS_UP is the compiler's POPC.INC form (add the constant 1, result unused), which costs the same as a store.
// There is no rule for adding floats, which is a loop in machine code.
inline Wavefronts shared_atomic_wavefronts(const Access& access, const Collisions& met, i32 cost) {
    if (cost == COMBINED) return {1, 1};
    if (cost == COUNTS_UP && access.width < WORD_BYTES) {
        Access words = access;
        words.width = WORD_BYTES;
        return {fullest_bank(words, access.active), 1};
    }
    int in_bank[BANKS] = {}, most = 0;
    each_lane(cost == COUNTS_UP ? met.firsts : access.active, [&](int i) {
        most = std::max(most, ++in_bank[static_cast<u64>(access.address[i]) / WORD_BYTES % BANKS]);
    });
    return cost == COMPARES ? Wavefronts{2 * most, 2} : Wavefronts{most, 1};
}

}  // namespace machine
