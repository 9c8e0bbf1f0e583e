// Barriers in shared memory: arrivals, bytes reported, and lanes that wait for the end of a phase.
//
// `memory/mbarrier.h` defines phases and when they end, as for PTX. This file defines the word, which code creates and
// inspects: ptxas computes a new one from the number of arrivals, reads from a state how many are pending, and
// compares its highest bit with a phase. From the highest bit down: the phase, 20 bits that count up to 2^20 with each
// arrival, 22 bits for the bytes still expected, 20 bits from which the next phase counts. The lowest bit is used here
// to mark a word that was initialised.

#pragma once

#include "addresses.h"
#include "memory/mbarrier.h"
#include "races/judge.h"

namespace sass {

struct MbarrierWord {
    static constexpr int PENDING_AT = 43, BYTES_AT = 21, EXPECTED_AT = 1;
    static constexpr u64 COUNT = u64(1) << machine::Mbarrier::COUNT_BITS, WAS_SET_UP = 1;
    static constexpr int BYTES_BITS = PENDING_AT - BYTES_AT;

    static u64 field(i64 count, int at) { return (COUNT - static_cast<u64>(count)) % COUNT << at; }
    static i64 count(u64 word, int at) {
        return static_cast<i64>((COUNT - (word >> at & machine::Mbarrier::MOST)) % COUNT);
    }
    static machine::Mbarrier read(u64 word) {
        const i64 bytes = static_cast<i64>(word << (64 - PENDING_AT)) >> (64 - BYTES_BITS);
        return {count(word, PENDING_AT), count(word, EXPECTED_AT), bytes, word >> machine::Mbarrier::PARITY_BIT};
    }
    static u64 written(const machine::Mbarrier& state) {
        const u64 bytes = static_cast<u64>(state.bytes) & ((u64(1) << BYTES_BITS) - 1);
        return state.parity << machine::Mbarrier::PARITY_BIT | field(state.pending, PENDING_AT) |
               bytes << BYTES_AT | field(state.expected, EXPECTED_AT) | WAS_SET_UP;
    }
    // Whether this is the word of a new mbarrier.
    static bool is_new(u64 word) {
        const i64 arrivals = count(word, EXPECTED_AT);
        return arrivals && word == (field(arrivals, EXPECTED_AT) | field(arrivals, PENDING_AT));
    }
};

constexpr int MBARRIER_BYTES = 8;

// The location of an mbarrier: its block and its address there.
struct MbarrierPlace {
    Block* block;
    u32 at;

    u64 word() const {
        u64 held;
        std::memcpy(&held, block->shared.data() + at, sizeof held);
        return held;
    }
    void write(u64 word) const { std::memcpy(block->shared.data() + at, &word, sizeof word); }

    // Whether it was initialised. Blackwell's code may store the word of a new one like any other value, and then let
    // the block look at its mbarriers again.
    bool is_set_up() const {
        const u64 held = word();
        if (held & MbarrierWord::WAS_SET_UP) return true;
        if (!block->looked || !MbarrierWord::is_new(held)) return false;
        write(held | MbarrierWord::WAS_SET_UP);
        block->phases.erase(at);
        return true;
    }
};

inline MbarrierPlace mbarrier_at(const Context& c, i64 address, int lane, bool everywhere) {
    if (address & (MBARRIER_BYTES - 1)) throw Fault{MISALIGNED, lane, address};
    const u32 at = static_cast<u32>(in_window(address));
    if (address >> RANK_SHIFT != c.block->rank && !everywhere) throw Fault{ANOTHER_BLOCK, lane, address};
    if (at < static_cast<u32>(c.launch->shared_start) || at + MBARRIER_BYTES > c.block->shared.size())
        throw Fault{OUTSIDE, lane, address};
    return {&block_at(c, address, lane, machine::UPDATE, MBARRIER_BYTES), at};
}

inline bool has_ended(u64 word, u32 phase) { return word >> machine::Mbarrier::PARITY_BIT != phase; }

// The waiting lanes whose phase has ended.
inline u32 ended_lanes(Block& block, const Warp& warp, u32 lanes) {
    u32 ended = 0;
    each_lane(lanes, [&](int i) {
        const u64 word = MbarrierPlace{&block, warp.tested[i]}.word();
        if (has_ended(word, warp.phase[i])) ended |= 1u << i;
    });
    return ended;
}

inline void set_lanes(Warp& warp, i32 number, u32 of, u32 lanes) {
    if ((number & ALWAYS) == ALWAYS) return;
    u32& held = warp.predicate[number];
    held = (held & ~of) | (lanes & of);
}

// Releases a group of lanes that waited for phases. The predicate says for which lanes the phase
// has ended.
inline void go_on_from_mbarrier(const Context& c, Block& block, Warp& warp, Part& part, u32 ended) {
    if (c.judge) c.judge->tested(block, warp, ended, part.at);
    set_lanes(warp, c.launch->instructions[part.at].result_predicate[0], part.wanted, ended);
    part.at++;
    part.state = READY;
    block.idle = false;
}

inline void look_again(const Context& c, Block& block) {
    for (Warp& warp : block.warps)
        for (Part& part : warp.parts) {
            if (part.state != AT_MBARRIER) continue;
            const u32 ended = ended_lanes(block, warp, part.wanted);
            if (ended) go_on_from_mbarrier(c, block, warp, part, ended);
        }
}

// Adds arrivals and expected bytes (negative: bytes that have arrived). Returns the word as it was before.
u64 tell(Context& c, const MbarrierPlace& place, int lane, i64 arrivals, i64 bytes, bool drops, bool may_end = true);

void arrive(Context& c, const Instruction& n);

}  // namespace sass
