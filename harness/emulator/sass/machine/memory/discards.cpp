// Lines of global memory that the code says it needs no longer.

#include "addresses.h"
#include "races/judge.h"

namespace sass {
namespace {

constexpr int PART_BYTES = 16;

// Leaves each lane's line of global memory undefined. The judge knows of accesses of up to 16 bytes.
void discard(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access access = addressed(c, n);
    access.width = machine::DISCARDED_BYTES;
    Places places;
    place(c, n, access, WRITE, places);
    each_lane(c.on, [&](int i) {
        const Buffer* const buffer = buffer_at(c, access.address[i]);
        if (buffer->filled) std::memset(buffer->filled + (access.address[i] - buffer->base), 0, access.width);
    });
    u8 undefined[LANES * PART_BYTES];
    std::memset(undefined, machine::DISCARDED, sizeof undefined);
    Access part = access;
    part.width = PART_BYTES;
    for (int at = 0; at < access.width; at += PART_BYTES) {
        if (c.judge) c.judge->access(c, part, GLOBAL, machine::WRITE, places, undefined);
        each_lane(c.on, [&](int i) {
            std::memset(places.at[i], machine::DISCARDED, PART_BYTES);
            places.at[i] += PART_BYTES, part.address[i] += PART_BYTES;
        });
    }
}

}  // namespace

std::vector<Entry> discard_entries() { return {{"DISCARD", discard}}; }

}  // namespace sass
