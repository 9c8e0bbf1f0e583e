// The addresses that the lanes of a memory instruction access, their checks, and the cost.

#pragma once

#include "judge/chunk.h"
#include "memory/address_space.h"
#include "rows_of.h"
#include "sass.h"

namespace sass {

using machine::Access;
using machine::base_of;
using machine::space_of;

// An address in shared memory has the rank of its block in the cluster above these bits: `mapa` is a PRMT that inserts
// it, and a block's own addresses are computed from SR_CgaCtaId.
constexpr int RANK_SHIFT = 24;
static_assert(machine::WINDOW_BYTES == i64(1) << RANK_SHIFT);

inline i64 own_window(const Block& block) { return i64(block.rank) << RANK_SHIFT; }
inline i64 in_window(i64 address) { return address & (machine::WINDOW_BYTES - 1); }
inline int thread_of(const Context& c, int lane) { return c.warp->number * LANES + lane; }

// The block of the cluster that an address belongs to.
inline Block& block_at(const Context& c, i64 address, int lane, machine::Verb verb, i64 width) {
    const i64 rank = address >> RANK_SHIFT, blocks = static_cast<i64>(c.block->cluster->blocks.size());
    if (rank < 0 || rank >= blocks)
        throw machine::Accusation{machine::NO_SUCH_BLOCK, c.at, thread_of(c, lane), {rank, blocks}};
    if (Block* const found = c.block->cluster->blocks[rank]) return *found;
    const machine::BlockPlace place(*c.launch, static_cast<u64>(c.block->first + rank));
    throw machine::Accusation{machine::BLOCK_HAS_LEFT, c.at, thread_of(c, lane),
                              {verb, width, in_window(address) - c.launch->shared_start,
                               place.in_grid(*c.launch)}};
}

// The state space that a generic address belongs to, as a thread of a cluster sees it.
inline i32 space_in_cluster(const Context& c, i64 address) {
    const bool is_shared = address >= machine::SHARED_WINDOW && address < machine::LOCAL_WINDOW;
    return is_shared && c.block->cluster->blocks.size() > 1 ? i32(SHARED) : space_of(address);
}

enum Verb { READ, WRITE, UPDATE };

// `register + uniform register + immediate`: sources 0 and 1.
inline Access addressed(const Context& c, const Instruction& n) {
    Access access;
    access.active = c.on;
    access.width = n.width;
    const u32 *base = c.source(n.source[0]), *base_high = c.source_high(n.source[0]);
    const u32 *more = c.source(n.source[1]), *more_high = c.source_high(n.source[1]);
    if (n.is_wide) {
        for (int i = 0; i < LANES; i++) {
            const u64 high = n.is_wide & BASE_IS_WIDE ? base_high[i] : 0;
            const u64 above = n.is_wide & OFFSET_IS_WIDE ? more_high[i] : 0;
            access.address[i] = static_cast<i64>((high << 32 | base[i]) + (above << 32 | more[i]) +
                                                 static_cast<u64>(n.immediate));
        }
    } else {
        const u32 offset = static_cast<u32>(n.immediate);
        const int scale = n.source[0].half;
        for (int i = 0; i < LANES; i++) access.address[i] = (base[i] << scale) + more[i] + offset;
    }
    machine::survey(c.patterns[c.at], access, c.mask);
    return access;
}

inline void aligned(const Access& access, int to) {
    if (!(access.bits & (to - 1))) return;
    each_lane(access.active, [&](int i) {
        if (access.address[i] & (to - 1)) throw Fault{MISALIGNED, i, access.address[i]};
    });
}

// Reports the first lane whose access is not within [low, low + size).
[[noreturn]] inline void outside(const Access& access, i64 low, i64 size) {
    int lane = 0;
    each_lane(access.active, [&](int i) {
        const i64 at = access.address[i] - low;
        if ((at < 0 || at + access.width > size) && !lane) lane = i + 1;
    });
    lane = lane ? lane - 1 : __builtin_ctz(access.active);
    throw Fault{OUTSIDE, lane, access.address[lane]};
}

inline const Buffer* buffer_at(const Context& c, i64 address) {
    const i64 slot = (address >> machine::SLOT_BITS) - 1;
    if (slot < 0 || slot >= c.launch->buffer_count) return nullptr;
    const Buffer& buffer = c.launch->buffers[slot];
    return address >= buffer.base && address < buffer.base + buffer.size ? &buffer : nullptr;
}

// Halves and bytes have no compare-and-swap of their own, so the code uses the word that contains them.
inline i64 end_of(const Buffer& buffer, int width) {
    return buffer.base + buffer.size + (width == machine::WORD_BYTES ? buffer.slack : 0);
}

// The location of each lane's bytes. The lanes of one instruction may access different buffers.
struct Places {
    u8* at[LANES];
};

// Notes which bytes of a buffer are written.
inline void fill(const Buffer& buffer, i64 address, int width) {
    const i64 at = address - buffer.base;
    std::memset(buffer.filled + at, 1, std::min<i64>(width, buffer.size - at));
}
[[gnu::noinline]] inline void fill(const Buffer& buffer, const Access& access) {
    each_lane(access.active, [&](int i) { fill(buffer, access.address[i], access.width); });
}

inline void in_global(const Context& c, const Access& access, Verb verb, Places& places) {
    const Buffer* common = buffer_at(c, access.low);
    if (common && access.high + access.width <= end_of(*common, access.width)) {
        if (verb != READ && !common->writable)
            throw Fault{READ_ONLY, __builtin_ctz(access.active), access.low};
        // Integer rather than pointer arithmetic, because an inactive lane's address may be any number.
        const i64 offset = reinterpret_cast<i64>(common->data) - common->base;
        for (int i = 0; i < LANES; i++) places.at[i] = reinterpret_cast<u8*>(access.address[i] + offset);
        if (verb == WRITE && common->filled) fill(*common, access);
        return;
    }
    each_lane(access.active, [&](int i) {
        const i64 address = access.address[i];
        const Buffer* own = buffer_at(c, address);
        if (!own || address + access.width > end_of(*own, access.width)) throw Fault{OUTSIDE, i, address};
        if (verb != READ && !own->writable) throw Fault{READ_ONLY, i, address};
        if (verb == WRITE && own->filled) fill(*own, address, access.width);
        places.at[i] = own->data + (address - own->base);
    });
}

inline void in_shared_of_cluster(const Context& c, const Access& access, Places& places, machine::Verb verb) {
    const i64 size = static_cast<i64>(c.block->shared.size());
    each_lane(access.active, [&](int i) {
        Block& block = block_at(c, access.address[i], i, verb, access.width);
        const i64 at = in_window(access.address[i]);
        if (at < c.launch->shared_start || at + access.width > size) throw Fault{OUTSIDE, i, access.address[i]};
        places.at[i] = block.shared.data() + at;
    });
}

// `everywhere`: whether the instruction may access other blocks of the cluster.
inline void in_shared(const Context& c, const Access& access, Places& places, bool everywhere = false,
                      machine::Verb verb = machine::READ) {
    const i64 size = static_cast<i64>(c.block->shared.size()), first = own_window(*c.block);
    if (access.low - first < c.launch->shared_start || access.high + access.width - first > size) {
        if (everywhere && c.block->cluster->blocks.size() > 1)
            return in_shared_of_cluster(c, access, places, verb);
        outside(access, first + c.launch->shared_start, size - c.launch->shared_start);
    }
    u8* data = c.block->shared.data() - first;
    for (int i = 0; i < LANES; i++) places.at[i] = data + access.address[i];
}

inline void in_local(const Context& c, const Access& access, Places& places) {
    const i64 size = c.launch->local_bytes;
    if (access.low < 0 || access.high + access.width > size) outside(access, 0, size);
    u8* data = c.block->local.data() + size * LANES * c.warp->number;
    for (int i = 0; i < LANES; i++) places.at[i] = data + size * i + access.address[i];
}

// is_generic: whether the address is generic and may therefore be in another block's shared memory.
inline void in_space(const Context& c, i32 space, const Access& access, Verb verb, Places& places,
                     bool is_generic) {
    aligned(access, access.width);
    if (space == GLOBAL) {
        in_global(c, access, verb, places);
    } else if (space == SHARED) {
        in_shared(c, access, places, is_generic, static_cast<machine::Verb>(verb));
    } else {
        in_local(c, access, places);
    }
}

// The lanes whose generic addresses belong to a space.
inline u32 lanes_of(const Context& c, const Access& access, i32 space) {
    return access.active &
           lanes_where([&](int i) { return space_in_cluster(c, access.address[i]) == space; });
}

// Converts generic addresses to addresses in the space that they belong to. Returns MIXED if they do not all belong to
// one space, or are in no window.
inline i32 resolved(const Context& c, Access& access) {
    if (access.high < machine::SHARED_WINDOW) return GLOBAL;
    const i32 space = space_in_cluster(c, access.low);
    if (space == GLOBAL || space != space_in_cluster(c, access.high)) return MIXED;
    for (int i = 0; i < LANES; i++) access.address[i] -= base_of(space);
    access.low -= base_of(space), access.high -= base_of(space);
    return space;
}

// Finds the bytes of lanes that access different memories, each lane in its own.
inline void in_several(const Context& c, Access& access, Verb verb, Places& places) {
    for (const i32 space : {GLOBAL, SHARED, LOCAL}) {
        Access own = access;
        if (!(own.active = lanes_of(c, access, space))) continue;
        for (int i = 0; i < LANES; i++) own.address[i] -= base_of(space);
        machine::survey(own);
        Places found;
        in_space(c, space, own, verb, found, true);
        each_lane(own.active, [&](int i) { places.at[i] = found.at[i]; });
    }
    access.in_a_row = false;
}

// Finds and checks the bytes of an access. Returns the space that it goes to.
inline i32 place(Context& c, const Instruction& n, Access& access, Verb verb, Places& places) {
    const bool is_generic = n.space == GENERIC;
    const i32 space = is_generic ? resolved(c, access) : n.space;
    if (space == MIXED)
        in_several(c, access, verb, places);
    else
        in_space(c, space, access, verb, places, is_generic);
    return space;
}

inline void count_global(Context& c, i64 sectors) {
    c.counts.requests[c.at]++;
    c.counts.sectors[c.at] += sectors;
}

inline void count_shared(Context& c, machine::Wavefronts cost) {
    c.counts.shared_requests[c.at]++;
    c.counts.wavefronts[c.at] += cost.spent;
    c.counts.wavefronts_ideal[c.at] += cost.ideal;
    c.counts.ideal_uncertain[c.at] += cost.is_ideal_uncertain;
}

// The lanes that access another block's shared memory.
inline u32 lanes_elsewhere(const Context& c, const Access& access) {
    const i64 rank = c.block->rank;
    if (access.low >> RANK_SHIFT == rank && access.high >> RANK_SHIFT == rank) return 0;
    return access.active & lanes_where([&](int i) { return access.address[i] >> RANK_SHIFT != rank; });
}

inline Access only(const Access& access, u32 lanes) {
    Access out = access;
    out.active = lanes;
    if (lanes) machine::survey(out);
    return out;
}

inline i64 sectors_of_atomic(const Access& access) {
    return machine::global_atomic_sectors(access, machine::collisions(access), machine::global_sectors(access));
}

// Requests of 4 bytes a lane that go to several blocks cost what they cost in one (further_counters.csv.gz); no other
// width was read.
inline void count_spread(Context& c, const Access& access, bool is_spread) {
    c.counts.remote_uncertain[c.at] += is_spread && access.width != machine::WORD_BYTES;
}

inline void count_remote(Context& c, const Access& access, bool is_atomic) {
    c.counts.remote_requests[c.at]++;
    c.counts.remote_sectors[c.at] += is_atomic ? sectors_of_atomic(access) : machine::global_sectors(access);
    count_spread(c, access, access.low >> RANK_SHIFT != access.high >> RANK_SHIFT);
}

// Counts the lanes that access another block's shared memory, which take no wavefronts here. Returns the others.
inline Access without_remote(Context& c, const Access& access, u32 elsewhere, bool is_atomic) {
    count_remote(c, only(access, elsewhere), is_atomic);
    count_spread(c, access, access.active != elsewhere);
    return only(access, access.active & ~elsewhere);
}

// Counts a request some of whose lanes access another block's shared memory. It is rare, and apart from `count` so that
// loads and stores contain that one.
[[gnu::noinline, gnu::cold]] inline void count_elsewhere(Context& c, const Access& access, u32 elsewhere, bool is_load) {
    const Access own = without_remote(c, access, elsewhere, false);
    if (own.active) count_shared(c, machine::shared_wavefronts(own, is_load));
}

// The cost of a request whose lanes access different memories is not known.
inline void count(Context& c, const Access& access, i32 space, bool is_load) {
    if (space == MIXED) c.counts.mixed[c.at]++;
    if (space != GLOBAL && space != SHARED) return;
    if (const u32 elsewhere = space == SHARED ? lanes_elsewhere(c, access) : 0)
        return count_elsewhere(c, access, elsewhere, is_load);
    const i64 unit = space == GLOBAL ? i64(1) << machine::SECTOR_SHIFT : machine::WORD_BYTES;
    const machine::Wavefronts cost = machine::cost_of(c.patterns[c.at], access, unit, [&] {
        return space == GLOBAL ? machine::Wavefronts{machine::global_sectors(access), 0}
                               : machine::shared_wavefronts(access, is_load);
    });
    if (space == GLOBAL)
        count_global(c, cost.spent);
    else
        count_shared(c, cost);
}

// --- values -------------------------------------------------------------------------------------

// A value that spans several registers occupies consecutive rows; RZ is 0 in all of them.
struct Value {
    const u32* row;
    int step;
};

inline Value value_of(const Context& c, const Instruction& n, int which) {
    const Source& s = n.source[which];
    return {c.source(s), s.constant ? 0 : LANES};
}

}  // namespace sass
