// The addresses of a warp's memory instruction, and how the access is counted.

#pragma once

#include "address_space.h"
#include "bank_and_sector_rules.h"
#include "machine.h"

namespace machine {

// --- addresses ----------------------------------------------------------------------------------

inline Pattern& pattern_of(const Context& c, const Op& op) {
    return c.patterns[&op - c.launch->ops];
}

template <class T>
inline bool all_equal(const T* row) {
    T apart = 0;
    for (int i = 1; i < LANES; i++) apart |= row[i] ^ row[0];
    return !apart;
}

inline Access addressed(const Context& c, const Op& op, int width) {
    Access access;
    access.active = c.active;
    access.width = width;
    Pattern& pattern = pattern_of(c, op);
    bool same;
    if (op.wide_base) {
        const i64* base = c.row<i64>(op.source[0]);
        same = all_equal(base);
        for (int i = 0; i < LANES; i++) access.address[i] = base[i] + op.immediate;
    } else {  // 32-bit addresses wrap around before they are widened
        const u32* base = c.row<u32>(op.source[0]);
        const u32 offset = static_cast<u32>(op.immediate);
        same = all_equal(base);
        for (int i = 0; i < LANES; i++) access.address[i] = base[i] + offset;
    }
    if (same && pattern.is_one_address(access.active))
        survey_one(pattern, access);
    else
        survey(pattern, access, c.mask);
    return access;
}

inline bool within(const Access& access, i64 window) {
    return access.low >= window && access.high < window + WINDOW_BYTES;
}

// The state space of generic addresses, which are converted to addresses in it.
inline i32 resolved(const Op& op, Access& access) {
    if (op.space != GENERIC) return op.space;
    if (access.high < SHARED_WINDOW) return GLOBAL;
    for (const auto& [space, window] : {std::pair{SHARED, SHARED_WINDOW}, {LOCAL, LOCAL_WINDOW}}) {
        if (!within(access, window)) continue;
        for (int i = 0; i < LANES; i++) access.address[i] -= window;
        access.low -= window, access.high -= window;
        return space;
    }
    throw Suspicion{MIXED_SPACES, op.site, 0};
}

inline void aligned(i32 site, const Access& access, int to) {
    if (access.bits & (to - 1)) throw Suspicion{MISALIGNED, site, 0};
}

// Addresses may have any value, so nothing is added to them here, which could overflow.
inline void within_bounds(i32 site, const Access& access, i64 base, i64 size) {
    if (access.low < base || access.high > base + size - access.width)
        throw Suspicion{OUTSIDE, site, 0};
}

// The one buffer that contains every lane's access. Accesses to several at once are rare.
inline Buffer& buffer_of(const Context& c, const Op& op, const Access& access, int unit,
                         Verb verb) {
    const i64 slot = (access.low >> SLOT_BITS) - 1;
    if (slot < 0 || slot >= c.launch->buffer_count) throw Suspicion{OUTSIDE, op.site, 0};
    Buffer& buffer = c.launch->buffers[slot];
    within_bounds(op.site, access, buffer.base, buffer.size);
    aligned(op.site, access, unit);
    if (verb != READ && !buffer.writable) throw Suspicion{READ_ONLY, op.site, 0};
    return buffer;
}

inline void inside(i32 site, const Access& access, i64 size, int unit) {
    within_bounds(site, access, 0, size);
    aligned(site, access, unit);
}

// --- counts -------------------------------------------------------------------------------------

// Several workers may mark a sector or byte at the same time, all with a 1.
inline void mark(u8& place) { __atomic_store_n(&place, u8(1), __ATOMIC_RELAXED); }

inline void mark(u8* sectors, const Buffer& buffer, const Access& access) {
    if (access.in_a_row) {
        const i64 first = (access.low - buffer.base) >> SECTOR_SHIFT;
        const i64 last = (access.high + access.width - 1 - buffer.base) >> SECTOR_SHIFT;
        for (i64 each = first; each <= last; each++) mark(sectors[each]);
        return;
    }
    each_lane(access.active,
              [&](int i) { mark(sectors[(access.address[i] - buffer.base) >> SECTOR_SHIFT]); });
}

inline Wavefronts shared_cost(const Context& c, const Op& op, const Access& access, bool is_load) {
    return cost_of(pattern_of(c, op), access, WORD_BYTES,
                   [&] { return shared_wavefronts(access, is_load); });
}

inline int sectors_of(const Context& c, const Op& op, const Access& access) {
    return cost_of(pattern_of(c, op), access, i64(1) << SECTOR_SHIFT,
                   [&] { return Wavefronts{global_sectors(access), 0}; }).spent;
}

inline void count_global(Context& c, const Op& op, const Buffer& buffer, const Access& access,
                         int sectors, Verb verb) {
    if (op.space == UNCOUNTED) return;
    c.counts.requests[op.site]++;
    c.counts.sectors[op.site] += sectors;
    if (verb == READ)
        mark(buffer.sectors_read, buffer, access);
    else
        mark(buffer.sectors_written, buffer, access);
}

inline void count_shared(Context& c, i32 site, const Wavefronts& cost) {
    c.counts.shared_requests[site]++;
    c.counts.wavefronts[site] += cost.spent;
    c.counts.wavefronts_ideal[site] += cost.ideal;
}

inline void count_collisions(Context& c, i32 site, u32 active, const Collisions& met) {
    c.counts.atomic_lanes[site] += __builtin_popcount(active);
    c.counts.atomic_addresses[site] += met.addresses;
    c.counts.atomic_most_lanes[site] = std::max<i64>(c.counts.atomic_most_lanes[site], met.most);
}

inline void count_global_atomic(Context& c, const Op& op, const Buffer& buffer,
                                Access access) {
    if (op.cost == NOT_COUNTED) return;
    const Collisions met = collisions(access);
    count_collisions(c, op.site, access.active, met);
    const bool vector = op.cost > VECTOR;
    if (vector) access.width *= op.cost - VECTOR;
    const int at_once = global_sectors(access);
    int sectors = at_once;
    if (op.cost != COMBINED) {
        sectors = global_atomic_sectors(access, met, at_once);
        if (vector) sectors = std::max(sectors, at_once);
    }
    c.counts.requests[op.site]++;
    c.counts.sectors[op.site] += sectors;
    c.counts.colliding[op.site] |= sectors != at_once;
    mark(buffer.sectors_read, buffer, access);
    mark(buffer.sectors_written, buffer, access);
}

}  // namespace machine
