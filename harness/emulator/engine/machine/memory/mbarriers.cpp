// Operations of mbarriers: arrivals, and tests whether a phase has ended.

#include "mbarrier.h"
#include "turns.h"

namespace machine {
namespace {

// Checks the number of arrivals that each phase of an mbarrier is to wait for.
void check_count(Context& c, const Op& op) {
    const u32* counts = c.row<u32>(op.source[0]);
    each_lane(c.active, [&](int i) {
        if (counts[i] == 0 || counts[i] > Mbarrier::MOST) throw Suspicion{BAD_COUNT, op.site, i};
    });
}

// Tells the checks about an arrival. `is_first`: whether it is the first at this address among the
// warp's lanes; `are_all`: whether all of the warp's lanes have now arrived there, in one phase.
void tell(const Context& c, const u8* place, bool is_first, bool are_all, bool ends) {
    const i64 address = place - c.shared;
    if (is_first || are_all) c.checks->arrive(address, *c.warp, are_all);
    if (ends) c.checks->end_phase(address);
}

// Arrivals at an mbarrier, and bytes that are expected or have arrived. `Releases`: they publish what was done before.
// `Within`: they must not end the phase.
template <bool Drops, bool Releases, bool Within = false>
void arrive(Context& c, const Op& op) {
    const u64 *counts = c.row<u64>(op.source[1]), *more_bytes = c.row<u64>(op.source[2]);
    u64* result = op.result[0] >= 0 ? c.row<u64>(op.result[0]) : nullptr;
    if (c.checks) c.checks->begin_arrivals();
    const int last = 31 - __builtin_clz(c.active);
    const u8* before = nullptr;  // where the lane before this one has arrived
    bool together = c.active == c.warp->threads;
    // The lanes that arrive at the first one's mbarrier in its current phase, if any copies report to one.
    const bool has_flights = c.checks && Releases && c.checks->has_flights;
    u32 in_phase = 0, phase = 0;
    const u8* first = nullptr;
    bool over = false;
    in_turn<sizeof(u64)>(c, op, [&](int i, u8* place, bool) {
        if (!c.judged && (place < c.shared || place >= c.shared + c.launch->shared_bytes))
            throw Suspicion{LEFT_TO_THE_JUDGE, op.site, i};
        u64 word;
        std::memcpy(&word, place, sizeof word);
        Mbarrier state = Mbarrier::of(word);
        if (!state.update(static_cast<i64>(counts[i]), static_cast<i64>(more_bytes[i]), Drops))
            throw Suspicion{NOBODY_TO_ARRIVE, op.site, i};
        const u64 updated = state.word();
        if (Within && !same_phase(word, updated)) throw Suspicion{PHASE_ENDS, op.site, i};
        std::memcpy(place, &updated, sizeof updated);
        if (result) result[i] = word;
        if (!c.checks) return;
        const bool is_first = place != before, ends = !same_phase(word, updated);
        together &= !before || !is_first;
        before = place;
        if (has_flights) {
            if (!first) first = place, phase = c.checks->phase(place - c.shared);
            if (place == first && !over) in_phase |= u32(1) << i;
            over |= place == first && ends;
        }
        if (Releases)
            tell(c, place, is_first, together && i == last, ends);
        else if (ends)
            c.checks->end_phase(place - c.shared);
        together &= !ends;
    });
    if (has_flights) c.checks->publish(first - c.shared, *c.warp, in_phase, phase);
}

// Reads the words of mbarriers to test whether phases have ended.
void load_phase(Context& c, const Op& op) {
    Access access = addressed(c, op, sizeof(u64));
    const i32 space = resolved(op, access);
    const u8* start = c.shared;
    if (space == SHARED) {
        inside(op.site, access, c.launch->shared_bytes, sizeof(u64));
        count_shared(c, op.site, shared_cost(c, op, access, true));
        note_shared_reads(c, op, access);
    } else if (c.judged && space == GLOBAL) {  // where nothing is known of a phase
        const Buffer& buffer = buffer_of(c, op, access, sizeof(u64), READ);
        count_global(c, op, buffer, access, sectors_of(c, op, access), READ);
        start = buffer.data - buffer.base;
    } else if (!c.judged) {
        throw Suspicion{LEFT_TO_THE_JUDGE, op.site, __builtin_ctz(c.active)};
    }
    u64* words = op.result[0] >= 0 ? c.row<u64>(op.result[0]) : nullptr;
    each_lane(access.active, [&](int i) {
        const u8* place = (space == LOCAL ? local_of(c, i) : start) + access.address[i];
        if (words) std::memcpy(&words[i], place, sizeof *words);
    });
    if (!c.checks) return;
    const bool at_one = access.low == access.high;
    if (at_one) return c.checks->test(access.low, *c.warp, c.active, c.active == c.warp->threads);
    each_lane(access.active, [&](int i) { c.checks->test(access.address[i], *c.warp, u32(1) << i, false); });
}

}  // namespace

std::vector<Entry> mbarrier_entries() {
    return {
        {"ld.phase/8", load_phase, LOADS},
        {"atom.arrive/u64", arrive<false, true>, ARRIVES}, {"atom.arrive_drop/u64", arrive<true, true>, ARRIVES},
        {"atom.arrive.within/u64", arrive<false, true, true>, ARRIVES},
        {"atom.arrive_drop.within/u64", arrive<true, true, true>, ARRIVES},
        {"atom.arrive.relaxed/u64", arrive<false, false>, ARRIVES},
        {"atom.arrive_drop.relaxed/u64", arrive<true, false>, ARRIVES},
        {"mbarrier_count", check_count},
        {"atom.arrive_in_many/u64", arrive<false, true>, ARRIVES_IN_MANY}
    };
}

}  // namespace machine
