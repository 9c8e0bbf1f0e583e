#include "unwritten.h"

#include <cstring>

#include "races/judge.h"
#include "rows_of.h"
#include "scheduler/entries.h"

namespace sass {
namespace {

constexpr int MOST_WORDS = 8, MOST_WORDS_OF_PRODUCTS = 256;
constexpr i32 BY_OR = 16, BY_XOR = 32, EXTENDS = 128;  // `flags` of a comparison

struct Named {
    const char* name;
    Unwritten::Known known;
};

constexpr Named NAMED[] = {
    {"MOV", {Unwritten::MOVES, 1}}, {"IADD3", {Unwritten::ADDS, 1}}, {"IADD3.CARRY", {Unwritten::ADDS, 1}},
    {"ADD2", {Unwritten::ADDS, 1}}, {"IMAD", {Unwritten::ADDS, 1}}, {"IMAD.WIDE", {Unwritten::COMPUTES, 2}},
    {"IMAD.HI", {Unwritten::COMPUTES, 1}}, {"LEA", {Unwritten::COMPUTES, 1}}, {"LEA.HI", {Unwritten::FORGETS, 1}},
    {"IABS", {Unwritten::COMPUTES, 1}}, {"POPC", {Unwritten::COMPUTES, 1}}, {"IMNMX", {Unwritten::COMPUTES, 1}},
    {"FADD", {Unwritten::COMPUTES, 1}}, {"FMUL", {Unwritten::COMPUTES, 1}}, {"FFMA", {Unwritten::COMPUTES, 1}},
    {"FMNMX", {Unwritten::COMPUTES, 1}}, {"MUFU", {Unwritten::COMPUTES, 1}}, {"DADD", {Unwritten::COMPUTES, 2}},
    {"DMUL", {Unwritten::COMPUTES, 2}}, {"DFMA", {Unwritten::COMPUTES, 2}}, {"I2F", {Unwritten::COMPUTES, 2}},
    {"F2I", {Unwritten::COMPUTES, 2}}, {"F2F", {Unwritten::COMPUTES, 2}},
    {"ISETP", {Unwritten::COMPARES, 0}}, {"FSETP", {Unwritten::COMPARES, 0}}, {"DSETP", {Unwritten::COMPARES, 0}},
    {"LOAD", {Unwritten::LOADS, 0}}, {"STORE", {Unwritten::STORES, 0}}, {"ATOMIC", {Unwritten::UPDATES, 4}},
    {"SEL", {Unwritten::FORGETS, 1}}, {"LOP3", {Unwritten::FORGETS, 1}}, {"PRMT", {Unwritten::FORGETS, 1}},
    {"SHF", {Unwritten::FORGETS, 1}}, {"S2R", {Unwritten::FORGETS, 2}}, {"SHFL", {Unwritten::SHUFFLES, 1}},
    {"VOTE", {Unwritten::FORGETS, 1}}, {"PLOP3", {Unwritten::FORGETS, 0}}, {"R2UR", {Unwritten::FORGETS, 1}},
    {"REDUX", {Unwritten::REDUCES, 1}}, {"SGXT", {Unwritten::FORGETS, 1}}, {"BREV", {Unwritten::FORGETS, 1}}, {"FLO", {Unwritten::FORGETS, 1}},
    {"BMSK", {Unwritten::FORGETS, 1}}, {"NOTHING", {Unwritten::FORGETS, 0}}, {"MOV.64", {Unwritten::FORGETS, 2}},
    {"LDC", {Unwritten::FORGETS, 4}}, {"R2P", {Unwritten::FORGETS, 0, true}},
};

Unwritten::Known known(const char* name) {
    for (const Named& each : NAMED)
        if (!std::strcmp(each.name, name)) return each.known;
    const bool multiplies = std::strstr(name, "MMA") != nullptr;
    return {Unwritten::FORGETS, multiplies ? MOST_WORDS_OF_PRODUCTS : MOST_WORDS};
}

bool is_zero(const Source& s) { return s.constant && s.row == 0; }

}  // namespace

Unwritten::Unwritten(const Launch& launch) : launch_(launch) {
    for (const Entry& entry : entries()) known_.push_back(known(entry.name));
    for (int n = 0; n < launch.buffer_count; n++) follows_global_ |= launch.buffers[n].filled != nullptr;
}

// The lanes none of whose bytes at an offset from their addresses have been written.
u32 Unwritten::unset(const Context& c, const Access& access, i32 space, int at, int bytes,
                     const machine::Stamps* stamps, Read* reads) const {
    u32 out = 0;
    if (space == SHARED ? !stamps : space != GLOBAL || !follows_global_) return 0;
    each_lane(access.active, [&](int i) {
        i64 address = access.address[i] + at;
        i32 memory = machine::SHARED_MEMORY;
        bool written = false;
        if (space == SHARED) {
            address = in_window(address);
            const int grain = stamps->grain;
            for (int b = 0; b < bytes; b += grain) written |= stamps->written[(address + b) / grain] != 0;
        } else {
            const Buffer* const buffer = buffer_at(c, address);
            if (!buffer || !buffer->filled) return;
            address -= buffer->base, memory = static_cast<i32>(buffer - launch_.buffers);
            for (int b = 0; b < bytes; b++) written |= address + b >= buffer->size || buffer->filled[address + b];
        }
        if (written) return;
        out |= 1u << i;
        reads[i] = {c.at, memory, bytes, address};
    });
    return out;
}

void Unwritten::loaded(const Context& c, const Instruction& n, const Access& access, i32 space,
                       const machine::Stamps* stamps) {
    const int words = std::max(1, n.width / machine::WORD_BYTES), bytes = std::min(n.width, i32(machine::WORD_BYTES));
    Read reads[LANES];
    for (int w = 0; w < words; w++) {
        const u32 lanes = unset(c, access, space, w * bytes, bytes, stamps, reads);
        if (!lanes && !c.warp->follows) continue;
        c.warp->follows = true;
        Row& row = of(*c.warp).rows[n.result[0] + LANES * w];
        row.lanes = (row.lanes & ~c.on) | lanes;
        row.made &= ~c.on;
        each_lane(lanes, [&](int i) { row.from[i] = reads[i]; });
    }
}

void Unwritten::updated(const Context& c, const Instruction& n, const Access& access, i32 space,
                        const machine::Stamps* stamps) {
    Read reads[LANES];
    const u32 lanes = unset(c, access, space, 0, n.width, stamps, reads);
    if (lanes) use(c, __builtin_ctz(lanes), reads[__builtin_ctz(lanes)]);
    if (space != GLOBAL || !follows_global_) return;
    each_lane(access.active, [&](int i) {
        const Buffer* const buffer = buffer_at(c, access.address[i]);
        if (buffer->filled) fill(*buffer, access.address[i], n.width);
    });
}

void Unwritten::forget(Warp& warp) {
    warps_.erase(&warp);
    warp.follows = false;
}

void Unwritten::use(const Context& c, int lane, const Read& read) {
    if (found) return;
    const auto [thread, first_block] = who(c, lane);
    found = machine::Accusation{machine::NEVER_WRITTEN, read.site, thread,
                                {read.address, c.at, read.bytes, read.memory}, first_block};
}

void Unwritten::use_row(const Context& c, const Row* row, u32 lanes) {
    if (!row || !(row->lanes & lanes)) return;
    const int lane = __builtin_ctz(row->lanes & lanes);
    use(c, lane, row->from[lane]);
}

// Adds lanes of a source to the result's.
void Unwritten::join(const Row* row, u32 lanes, bool computes) {
    if (!row) return;
    const u32 more = row->lanes & lanes;
    each_lane(more & ~result_.lanes, [&](int i) { result_.from[i] = row->from[i]; });
    result_.lanes |= more;
    result_.made |= computes ? more : row->made & more;
}

// Each lane gets the value of another, if that one takes part.
void Unwritten::shuffle(const Context& c, const Instruction& n) {
    const Row* const row = row_of(c, n.source[0]);
    if (!row) return;
    const u32 *by = c.source(n.source[1]), *clamp = c.source(n.source[2]);
    each_lane(c.on, [&](int i) {
        const u32 from = 1u << source_of_shuffle(n.flags, i, by[i], clamp[i]);
        if (!(row->lanes & c.on & from)) return;
        result_.lanes |= 1u << i;
        if (row->made & from) result_.made |= 1u << i;
        result_.from[i] = row->from[__builtin_ctz(from)];
    });
}

// All lanes get what is computed from the values of those that take part.
void Unwritten::reduce(const Context& c, const Instruction& n) {
    const Row* const row = row_of(c, n.source[0]);
    if (!row || !(row->lanes & c.active)) return;
    result_.lanes = result_.made = EVERYBODY;
    for (Read& from : result_.from) from = row->from[__builtin_ctz(row->lanes & c.active)];
}

// The lanes in which a comparison's other predicate decides the result alone.
u32 Unwritten::decided(const Context& c, const Instruction& n) const {
    if (n.flags & EXTENDS) return EVERYBODY;
    const u32 other = c.predicate(n, 0);
    return n.flags & BY_XOR ? 0 : n.flags & BY_OR ? other : ~other;
}

void Unwritten::before(const Context& c, const Instruction& n) {
    const Known& about = known_[n.handler];
    result_.lanes = result_.made = 0;
    switch (about.way) {
        case FORGETS: return;
        case LOADS:
        case STORES:
        case UPDATES:
            use_row(c, row_of(c, n.source[0]), c.on);
            use_row(c, row_of(c, n.source[1]), c.on);
            if (about.way == LOADS) return;
            use_row(c, &of(*c.warp).predicates[n.guard], c.active);
            for (int w = 0; w < std::max(1, n.width / machine::WORD_BYTES); w++) {
                Source word = n.source[2];
                word.row += LANES * w;
                const Row* const value = row_of(c, word);
                if (value && about.way == UPDATES) use_row(c, value, c.on);
                if (value && about.way == STORES && n.space == GLOBAL) use_row(c, value, c.on & value->made);
            }
            return;
        case ADDS: {
            // A sum or product in which all but one operand is zero is a move.
            int operands = 0;
            for (int s = 0; s < n.source_count; s++) operands += !is_zero(n.source[s]);
            for (int s = 0; s < n.source_count; s++) join(row_of(c, n.source[s]), c.on, operands > 1);
            return;
        }
        case SHUFFLES: shuffle(c, n); return;
        case REDUCES: reduce(c, n); return;
        default:
            for (int s = 0; s < n.source_count; s++) join(row_of(c, n.source[s]), c.on, about.way != MOVES);
            if (about.way == COMPARES) result_.lanes &= ~decided(c, n);
    }
}

void Unwritten::after(const Context& c, const Instruction& n) {
    const Known& about = known_[n.handler];
    if (about.way == LOADS) return;
    OfWarp& own = of(*c.warp);
    const auto set = [&](Row& row, u32 lanes) {
        row.lanes = (row.lanes & ~c.on) | lanes;
        row.made = (row.made & ~c.on) | (lanes & result_.made);
        each_lane(lanes, [&](int i) { row.from[i] = result_.from[i]; });
    };
    if (about.all_predicates)
        for (Row& predicate : own.predicates) predicate.lanes &= ~c.on;
    if (about.words)
        for (const i32 result : n.result)
            for (auto& [at, row] : own.rows)
                if (at >= result && at < result + LANES * about.words) row.lanes &= ~c.on, row.made &= ~c.on;
    for (const i32 number : n.result_predicate)
        if ((number & ALWAYS) != ALWAYS) set(own.predicates[number], about.way == COMPARES ? result_.lanes : 0);
    if (result_.lanes && about.words) set(own.rows[n.result[0]], result_.lanes);
}

void Unwritten::branch(const Context& c, const Instruction& n) {
    if (n.control == BRANCH || n.control == EXIT) use_row(c, &of(*c.warp).predicates[n.guard], c.active);
}

void followed(Context& c, const Instruction& n) {
    const Handler handler = entries()[n.handler].handler;
    if (!c.warp->follows) return handler(c, n);
    c.judge->unwritten.before(c, n);
    handler(c, n);
    c.judge->unwritten.after(c, n);
}

}  // namespace sass
