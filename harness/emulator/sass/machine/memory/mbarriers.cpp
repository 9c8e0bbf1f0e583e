// SYNCS: initialises mbarriers, arrives at them and reports bytes to them. Tests of a phase, after which lanes may
// wait, are in the scheduler.

#include "mbarriers.h"

#include <algorithm>

namespace sass {
namespace {

// Reports to the judge words that are written as by a store.
void tell_of_store(Context& c, Access access, const Value& value) {
    access.width = MBARRIER_BYTES;
    u8 bytes[16 * LANES] = {};
    Places places;
    each_lane(c.on, [&](int i) {
        const MbarrierPlace place = mbarrier_at(c, access.address[i], i, false);
        places.at[i] = place.block->shared.data() + place.at;
        const u32 words[] = {value.row[i], value.row[value.step + i]};
        std::memcpy(bytes + 16 * i, words, sizeof words);
    });
    if (c.judge) c.judge->access(c, access, SHARED, machine::WRITE, places, bytes);
}

// The code itself computes the word.
void set_up(Context& c, const Instruction& n) {
    const Access access = addressed(c, n);
    const Value value = value_of(c, n, 2);
    tell_of_store(c, access, value);
    each_lane(c.on, [&](int i) {
        const u64 word = static_cast<u64>(value.row[value.step + i]) << 32 | value.row[i];
        const MbarrierPlace place = mbarrier_at(c, access.address[i], i, false);
        if (!MbarrierWord::is_new(word)) throw Fault{NOT_COUNTED, i, access.address[i]};
        place.write(word | MbarrierWord::WAS_SET_UP);
        c.block->phases.erase(place.at);
    });
}

void invalidate(Context& c, const Instruction& n) {
    const Access access = addressed(c, n);
    tell_of_store(c, access, {c.constants, 0});
    each_lane(c.on, [&](int i) { mbarrier_at(c, access.address[i], i, false).write(0); });
}

// From now on the block's mbarriers may be words that were stored.
void look(Context& c, const Instruction&) { c.block->looked |= c.on != 0; }

}  // namespace

u64 tell(Context& c, const MbarrierPlace& place, int lane, i64 arrivals, i64 bytes, bool drops, bool may_end) {
    if (!place.is_set_up()) throw Fault{NO_MBARRIER, lane, place.at};
    const u64 before = place.word();
    if (c.judge) c.judge->arrive(c, lane, *place.block, place.at);
    machine::Mbarrier state = MbarrierWord::read(before);
    const u64 parity = state.parity;
    if (!state.update(arrivals, bytes, drops))
        throw machine::Accusation{machine::TOO_MANY_ARRIVALS, c.at, thread_of(c, lane), {}};
    if (state.parity != parity && !may_end)
        throw machine::Accusation{machine::ARRIVAL_ENDS_PHASE, c.at, thread_of(c, lane), {}};
    place.write(MbarrierWord::written(state));
    PhaseBytes& told = place.block->phases[place.at];
    if (bytes > 0) told.expected += bytes, told.expecting = c.at;
    if (bytes < 0) told.came -= bytes, told.coming = c.at;
    if (state.parity != parity) {
        told = PhaseBytes{0, 0, told.ended + 1};
        if (c.judge) c.judge->phase_over(c, lane, *place.block, place.at);
        place.block->cluster->ended++;
        look_again(c, *place.block);
    }
    return before;
}

// Lanes arrive one after another at mbarriers whose phases do not end by this. The results of all lanes at one
// mbarrier are the upper half of the word before, and the mask of these lanes: the code adds up who came before.
void arrive_together(Context& c, const Instruction& n) {
    const Access access = addressed(c, n);
    const u32* value = c.source(n.source[2]);
    u32 *low = c.result(n), *high = c.result(n, 0, 1);
    u32 given[LANES];
    std::copy_n(value, LANES, given);  // a result may be in the same register
    for (u32 left = c.on; left;) {
        const i64 address = access.address[__builtin_ctz(left)];
        u32 same = 0;
        each_lane(left, [&](int i) { same |= static_cast<u32>(access.address[i] == address) << i; });
        const MbarrierPlace place = mbarrier_at(c, address, __builtin_ctz(left), false);
        const u64 before = place.word();
        each_lane(same, [&](int i) {
            tell(c, place, i, given[i], 0, n.flags & DROPS, false);
            low[i] = same, high[i] = static_cast<u32>(before >> 32);
        });
        left &= ~same;
    }
}

// Lanes arrive one after another. Each lane's result is the word before its arrival.
void arrive(Context& c, const Instruction& n) {
    if (n.flags & TOGETHER) return arrive_together(c, n);
    const Access access = addressed(c, n);
    const i32 flags = n.flags;
    const u32* value = n.source_count > 2 ? c.source(n.source[2]) : c.constants;
    u32 *low = c.result(n), *high = c.result(n, 0, 1);
    each_lane(c.on, [&](int i) {
        const i64 given = value[i];
        const i64 arrivals = flags & ONE ? 1 : flags & GIVEN ? given : 0;
        const i64 one = flags & BYTE ? 1 : flags & LANDED ? -1 : 0;
        const i64 bytes = flags & EXPECTED ? given : flags & COMPLETED ? -given : one;
        const MbarrierPlace place = mbarrier_at(c, access.address[i], i, flags & ELSEWHERE);
        const u64 before = tell(c, place, i, arrivals, bytes, flags & DROPS);
        low[i] = static_cast<u32>(before), high[i] = static_cast<u32>(before >> 32);
    });
}

std::vector<Entry> mbarrier_entries() {
    return {{"SYNCS.SET", set_up}, {"SYNCS.CLEAR", invalidate}, {"SYNCS.LOOK", look}, {"SYNCS.ARRIVE", arrive}};
}

}  // namespace sass
