// Bulk copies between global and shared memory, and the mbarriers and groups that say when they are done.
//
// The bytes move when a copy is issued. The flights record which threads may access them, and since
// when.

#include "judge/accesses.h"
#include "judge/asynchronous/stores_of_lanes.h"

#include "memory/mbarrier.h"
#include "memory/tensors/bulk_sectors.h"
#include "memory/reductions.h"

namespace machine {

// --- mbarriers ----------------------------------------------------------------------------------

// Arrivals at mbarriers, and bytes that are expected or have arrived. Any of these may end a phase.
void Accesses::arrive(const Op& op, const Request& request) {
    std::map<const u8*, Mbarrier> states;
    for (const Touch& touch : request.touches) {
        u64 word;
        std::memcpy(&word, place(request, touch), sizeof word);
        states.emplace(place(request, touch), Mbarrier::of(word));
    }
    move(op, request);
    const bool drops = std::strstr(entries()[op.handler].name, "drop");
    for (const Touch& touch : request.touches) {
        Mbarrier& state = states.at(place(request, touch));
        const i64 more = static_cast<i64>(in_row(op, op.source[2], touch));
        const u64 parity = state.parity;
        const i64 arrivals = static_cast<i64>(in_row(op, op.source[1], touch)), word = races_.word_of_block(touch);
        state.update(arrivals, more, drops);
        races_.flights.count_bytes(word, more, op.site);
        waits_.came(word, op.site, arrivals, more);
        if (state.parity == parity) continue;
        races_.phase_over(touch);
        waits_.phase_over(word);
    }
}

// Notes tests that have found a phase over: the test's own difference of the word and the phase waited for is negative.
// Its operations are those of the load's site that follow it (`_mbarrier_test_wait` in program/decode/mbarriers.py).
void Accesses::note_waits(const Op& op, const Request& request) {
    const u16 wanted = OF_MBARRIER | IS_LOAD;
    if ((judged_.traits[op.site] & wanted) != wanted) return;
    for (const Op* next = &op + 1; next < launch_.ops + launch_.op_count && next->site == op.site; next++) {
        if (std::strncmp(entries()[next->handler].name, "xor/", 4) || next->source[0] != op.result[0]) continue;
        for (const Touch& touch : request.touches) {
            const u64 now = in_row(op, op.result[0], touch), phase = in_row(op, next->source[1], touch);
            if (static_cast<i64>(now ^ phase) < 0) waits_.over(races_.word_of_block(touch), touch.address, op.site);
        }
        return;
    }
}

// Arrives at the mbarrier at the same address in each block that the mask, the last operand, names by rank. The
// copy before it has checked that these blocks exist.
void Accesses::arrive_in_many(const Op& op, const Selection& lanes) {
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site);
    for (int rank = 0; rank < MOST_RANKS; rank++) {
        Touches touches;
        each_of(lanes, [&](int w, int i) {
            const u8* registers = blocks_.warps[w].registers;
            const auto operand = [&](int n) { return reinterpret_cast<const i64*>(registers + op.source[n])[i]; };
            if (!(operand(3) >> rank & 1)) return;
            const int lane = geometry_.lane(w, i), block = geometry_.in_window(geometry_.block_of(lane), rank + 1);
            touches.push_back({(operand(0) - SHARED_WINDOW) % WINDOW_BYTES, w, lane, block});
        });
        if (!touches.empty()) in_one_space(op, UPDATE, SHARED, std::move(touches));
    }
}

std::vector<i64> Accesses::waited_for(int lane) {
    const auto [word, address] = races_.flights.last_tested(lane);
    if (word == Flights::NO_MBARRIER) return {};
    u64 held;
    std::memcpy(&held, blocks_.shared_of(geometry_.block_of(lane)) + address, sizeof held);
    const Mbarrier state = Mbarrier::of(held);
    const PhaseBytes bytes = races_.flights.bytes(word);
    return {address, state.pending, state.expected, bytes.expected, bytes.came,
            bytes.expecting, bytes.coming, races_.flights.phases_ended(word)};
}

// --- bulk copies --------------------------------------------------------------------------------

// Each lane copies its own bytes, in units whose width equals the required alignment. Operands: the
// target, the source, the size, the mbarrier, and a mask of blocks; in each of these blocks, the
// target and the mbarrier are at the same address.
void Accesses::copy_bulk(const Op& op, const Selection& lanes) {
    constexpr int UNIT = 16;
    const bool to_shared = op.immediate, to_many = op.immediate == IN_MANY_BLOCKS;
    const BulkReduction* const reduction = reduction_of(op);
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site);
    StoresOfLanes stores;
    each_of(lanes, [&](int w, int i) {
        const u8* registers = blocks_.warps[w].registers;
        const auto address = [&](int n) {
            const i64 at = reinterpret_cast<const i64*>(registers + op.source[n])[i];
            return to_many && n != 1 ? at % WINDOW_BYTES : at;
        };
        const i64 size = reinterpret_cast<const u32*>(registers + op.source[2])[i];
        const int lane = geometry_.lane(w, i);
        if (size % UNIT) throw Accusation{COPIED_IN_PART, op.site, lane, {size, UNIT}};
        if (size > launch_.shared_bytes)  // checked before any units are listed
            throw Accusation{OUT_OF_BLOCK_MEMORY, op.site, lane,
                             {to_shared ? WRITE : READ, size, address(to_shared ? 0 : 1),
                              SHARED_MEMORY, launch_.shared_bytes}};
        if (!to_shared && !reduction && stores.repeated(w, {address(0), address(1), size})) return;
        if (!size) {
            blocks_.c.counts.bulk_copies[op.site]++;
            return;
        }
        Request from{op.site, PLAIN, READ, UNIT, 1, SHARED_MEMORY, 0, {}}, to = from;
        to.verb = WRITE;
        if (reduction) to.verb = UPDATE, to.kind = ATOMIC;
        for (i64 at = 0; at < size; at += UNIT) {
            from.touches.push_back({address(1) + at, w, lane});
            to.touches.push_back({address(0) + at, w, lane});
        }
        place_units(from, to_shared && op.immediate != BETWEEN_BLOCKS);
        place_units(to, !to_shared);
        std::vector<u8> bytes(size);
        for (size_t n = 0; n < from.touches.size(); n++)
            std::memcpy(bytes.data() + n * UNIT, place(from, from.touches[n]), UNIT);
        const std::vector<int> targets = targets_of(op, 4, w, i);
        const bool is_sent = op.immediate == BETWEEN_BLOCKS, loads = to_shared && !is_sent;
        const bool stays = is_sent && home_of(geometry_, to.touches[0]) == geometry_.block_of(lane);
        count_bulk(blocks_.c.counts, op.site, {{address(!loads), size, address(loads), 0, size}},
                   {loads, to_many ? static_cast<int>(targets.size()) : 0, is_sent, stays, reduction != nullptr});
        for (const int block : targets) {
            if (to_many)
                for (Touch& touch : to.touches) touch.block = block;
            Touch mbarrier{to_shared ? address(3) : 0, w, lane, block};
            if (to_shared && !to_many) mbarrier = mbarrier_of(op.site, address(3), to.touches[0]);
            bulk(op.site, from, to, bytes, reduction);
            if (!launch_.checks) continue;
            if (!to_shared) {
                join_group(op.site, from, to);
                continue;
            }
            if (geometry_.cluster > 1) of_others(op, to);
            report_to_mbarrier(op.site, mbarrier, from, to);
        }
    });
}

// The mbarrier that a copy to one block reports to. Both must be in the memory of the same block.
Touch Accesses::mbarrier_of(i32 site, i64 address, const Touch& target) const {
    Touch mbarrier{address, target.warp, target.lane};
    into_window(site, mbarrier);
    const int filled = home_of(geometry_, target), there = home_of(geometry_, mbarrier);
    if (filled != there)
        throw Accusation{MBARRIER_ELSEWHERE, site, target.lane,
                         {geometry_.in_grid(blocks_.first_block + filled),
                          geometry_.in_grid(blocks_.first_block + there)}};
    return mbarrier;
}

// Finds and checks the memory of a copy's units, which begin at addresses of global or of shared
// memory. Only the memory that is written may belong to another block of the cluster.
void Accesses::place_units(Request& request, bool outside) {
    if (outside) {
        check_buffers(request.touches, request.site, request.width(), request.verb);
        request.memory = buffer_of(request.touches[0].address, request.width());
        request.base = launch_.buffers[request.memory].base;
        for (Touch& touch : request.touches) touch.address -= request.base;
        return;
    }
    for (Touch& touch : request.touches) {
        Touch there = touch;
        into_window(request.site, there);
        if (request.verb != READ || home_of(geometry_, there) == geometry_.block_of(touch.lane)) touch = there;
    }
    check_block_memory(request);
}

// `bytes` go to the accesses in `to`, in order. For a box, some of them may have no source.
void Accesses::bulk(i32 site, const Request& from, const Request& to, const std::vector<u8>& bytes,
                    const BulkReduction* reduction) {
    Buffer* const source = from.memory == SHARED_MEMORY ? nullptr : &launch_.buffers[from.memory];
    Buffer* const target = to.memory == SHARED_MEMORY ? nullptr : &launch_.buffers[to.memory];
    if (judged_.observed) {
        if (source && !from.touches.empty()) observe(from);
        if (target && !to.touches.empty()) observe(to);
    }
    if (launch_.checks) {
        const auto watch = [&](const Request& request) {
            const bool writes = request.verb == WRITE;
            races_.access(request, stamps_of(request.memory), unwritten_.cells_of(request),
                          writes ? bytes.data() : nullptr, writes ? unchanged(request, bytes) : std::vector<u8>());
        };
        const auto use = [&](const Unwritten::Origins& origins) {
            for (size_t n = 0; n < origins.size(); n++)
                uninitialised_.use(origins[n].id, from.touches[0].lane, site);
        };
        Unwritten::Origins origins;
        if (!source) {
            const auto cells = unwritten_.cells_of(from);
            origins = unwritten_.read(from, cells);
            if (target || reduction) use(origins);  // storing to global memory uses the values
            watch(from);
            races_.proxies.look(from, stamps_of(SHARED_MEMORY), cells, races_.log, geometry_,
                                [&](int other, i64 when, int lane) { return races_.knows(lane, other, when); });
        } else if (source->watched && !from.touches.empty()) {
            watch(from);
        }
        if (target) {
            if (reduction && target->filled) use(unwritten_.read(to, *target));
            if (target->watched && !to.touches.empty()) watch(to);
            if (target->filled)
                for (const Touch& touch : to.touches) std::memset(target->filled + touch.address, 1, to.width());
        } else {
            if (reduction) use(unwritten_.read(to, unwritten_.cells_of(to)));
            watch(to);
            Request known = to;  // what a copy brings from unwritten words, it does not write
            if (!origins.empty()) {
                known.touches.clear();
                for (size_t n = 0; n < to.touches.size(); n++)
                    if (!origins[n]) known.touches.push_back(to.touches[n]);
            }
            unwritten_.write(known, unwritten_.cells_of(known));
        }
    }
    const auto mark = [](u8* sectors, const Request& request) {
        for (const Touch& touch : request.touches) sectors[touch.address >> SECTOR_SHIFT] = 1;
    };
    if (source) mark(source->sectors_read, from);
    if (target) mark(target->sectors_written, to);
    if (target && reduction) mark(target->sectors_read, to);
    for (size_t n = 0; n < to.touches.size(); n++) {
        u8* const place_of_unit = place(to, to.touches[n]);
        const u8* const given = bytes.data() + n * to.width();
        if (reduction)
            reduction->apply(place_of_unit, given, to.width());
        else
            std::memcpy(place_of_unit, given, to.width());
    }
}

// --- copies in flight ---------------------------------------------------------------------------

// A copy's units as ranges of words.
Ranges Accesses::ranges_of(const Request& request) {
    Ranges out;
    for (const Touch& touch : request.touches) {
        const Ranges one = range_of(request.memory, home_of(geometry_, touch), touch.address, request.width(),
                                    request.verb != READ);
        out.insert(out.end(), one.begin(), one.end());
    }
    return out;
}

// Until the phase is over, no thread may touch the target or write the source.
void Accesses::report_to_mbarrier(i32 site, const Touch& mbarrier, const Request& from, const Request& to) {
    const i64 word = races_.word_of_block(mbarrier);
    const u32 number =
        races_.flights.begin_in_phase(site, mbarrier.lane, word, mbarrier.address, to.verb == UPDATE);
    races_.flights.put(ranges_of(from), number, from.memory != SHARED_MEMORY);
    races_.flights.put(ranges_of(to), number, false);
}

// Until the thread has waited for the group, no thread may write the source. Until it has waited for more than
// the reads, no thread may touch the target. A reduction into the target is atomic and stamped as such.
void Accesses::join_group(i32 site, const Request& from, const Request& to) {
    const int lane = from.touches[0].lane;
    Group group{site, lane, committed_bulk_[lane], races_.flights.begin(site, lane),
                races_.flights.begin(site, lane), ranges_of(from),
                to.verb == UPDATE ? Ranges() : ranges_of(to)};
    group.target = group.to.empty() ? nullptr : &stamps_of(to.memory);
    races_.flights.put(group.from, group.reading, false);
    races_.flights.put(group.to, group.writing, true);
    bulk_groups_.push_back(std::move(group));
}

void Accesses::commit_bulk_copies(const Selection& lanes) {
    each_of(lanes, [&](int w, int i) { committed_bulk_[geometry_.lane(w, i)]++; });
}

// All but each lane's newest groups, as many as `width` says, have been read or, unless only reads are waited
// for, also written.
void Accesses::wait_for_bulk_copies(const Op& op, const Selection& lanes) {
    if (!launch_.checks || bulk_groups_.empty()) return;
    const bool only_read = op.immediate;
    std::vector<u8> waits(geometry_.all_lanes());
    each_of(lanes, [&](int w, int i) { waits[geometry_.lane(w, i)] = 1; });
    const auto is_done = [&](Group& group) {
        if (!waits[group.lane] || group.group >= committed_bulk_[group.lane] - op.width) return false;
        if (group.reading)
            races_.land(group.site, group.lane, group.reading, {}, nullptr, group.from,
                        &stamps_of(SHARED_MEMORY));
        group.reading = 0;
        if (only_read) return false;
        races_.land(group.site, group.lane, group.writing, group.to, group.target, {}, nullptr);
        return true;
    };
    bulk_groups_.erase(std::remove_if(bulk_groups_.begin(), bulk_groups_.end(), is_done), bulk_groups_.end());
}

}  // namespace machine
