// Bulk copies between global and shared memory, and the mbarriers and groups that say when they are done.
//
// The bytes move when a copy is issued. The flights say which threads may touch them, and from when on.

#include "judge/accesses.h"
#include "judge/asynchronous/stores_of_lanes.h"

#include "memory/mbarrier.h"
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
        state.update(static_cast<i64>(in_row(op, op.source[1], touch)), more, drops);
        races_.flights.count_bytes(races_.word_of_block(touch), more, op.site);
        if (state.parity != parity) races_.phase_over(touch);
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

// Each lane copies its own bytes, in units whose width equals the required alignment.
void Accesses::copy_bulk(const Op& op, const Selection& lanes) {
    constexpr int UNIT = 16;
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site);
    StoresOfLanes stores;
    each_of(lanes, [&](int w, int i) {
        const u8* registers = blocks_.warps[w].registers;
        const auto address = [&](int n) {
            return reinterpret_cast<const i64*>(registers + op.source[n])[i];
        };
        const i64 size = reinterpret_cast<const u32*>(registers + op.source[2])[i];
        const int lane = geometry_.lane(w, i);
        if (size % UNIT) throw Accusation{COPIED_IN_PART, op.site, lane, {size, UNIT}};
        if (size > launch_.shared_bytes)  // checked before any units are listed
            throw Accusation{OUT_OF_BLOCK_MEMORY, op.site, lane,
                             {op.immediate ? WRITE : READ, size, address(op.immediate ? 0 : 1),
                              SHARED_MEMORY, launch_.shared_bytes}};
        if (!size) return;
        if (!op.immediate && !reduction_of(op) && stores.repeated(w, {address(0), address(1), size})) return;
        Request from{op.site, PLAIN, READ, UNIT, 1, SHARED_MEMORY, 0, {}}, to = from;
        to.verb = WRITE;
        if (reduction_of(op)) to.verb = UPDATE, to.kind = ATOMIC;
        for (i64 at = 0; at < size; at += UNIT) {
            from.touches.push_back({address(1) + at, w, lane});
            to.touches.push_back({address(0) + at, w, lane});
        }
        Request& outside = op.immediate ? from : to;
        check_buffers(outside.touches, op.site, UNIT, outside.verb);
        outside.memory = buffer_of(outside.touches[0].address, UNIT);
        outside.base = launch_.buffers[outside.memory].base;
        for (Touch& touch : outside.touches) touch.address -= outside.base;
        check_block_memory(op.immediate ? to : from);
        std::vector<u8> bytes(size);
        for (size_t n = 0; n < from.touches.size(); n++)
            std::memcpy(bytes.data() + n * UNIT, place(from, from.touches[n]), UNIT);
        bulk(op.site, from, to, bytes, reduction_of(op));
        if (!launch_.checks) return;
        if (op.immediate)
            report_to_mbarrier(op.site, {address(3), w, lane}, from, to);
        else
            join_group(op.site, from, to);
    });
}

// `bytes` go to the touches of `to`, in order. For a box, some of them may have no source.
void Accesses::bulk(i32 site, const Request& from, const Request& to, const std::vector<u8>& bytes,
                    const BulkReduction* reduction) {
    const bool to_shared = to.memory == SHARED_MEMORY;
    const Request& outside = to_shared ? from : to;
    Buffer& buffer = launch_.buffers[outside.memory];
    if (judged_.observed && !outside.touches.empty()) observe(outside);
    if (launch_.checks) {
        const auto watch = [&](const Request& request, const std::vector<i64>& cells) {
            const bool writes = request.verb == WRITE;
            races_.access(request, stamps_of(request.memory), cells, writes ? bytes.data() : nullptr,
                          writes ? unchanged(request, bytes) : std::vector<u8>());
        };
        const auto inside = unwritten_.cells_of(to_shared ? to : from);
        if (!to_shared) {  // storing to global memory uses the values
            const auto use = [&](const Unwritten::Origins& origins) {
                for (size_t n = 0; n < origins.size(); n++)
                    uninitialised_.use(origins[n].id, from.touches[0].lane, site);
            };
            use(unwritten_.read(from, inside));
            watch(from, inside);
            races_.proxies.look(from, stamps_of(SHARED_MEMORY), inside, races_.log, geometry_,
                                [&](int other, i64 when, int lane) { return races_.knows(lane, other, when); });
            if (reduction && buffer.filled) use(unwritten_.read(to, buffer));
        }
        if (buffer.watched && !outside.touches.empty()) watch(outside, unwritten_.cells_of(outside));
        if (to_shared) {
            watch(to, inside);
            unwritten_.write(to, inside);
        } else if (buffer.filled) {
            for (const Touch& touch : to.touches)
                std::memset(buffer.filled + touch.address, 1, to.width());
        }
    }
    u8* const sectors = to_shared ? buffer.sectors_read : buffer.sectors_written;
    for (const Touch& touch : outside.touches) sectors[touch.address >> SECTOR_SHIFT] = 1;
    for (size_t n = 0; n < to.touches.size(); n++) {
        u8* const target = place(to, to.touches[n]);
        const u8* const given = bytes.data() + n * to.width();
        if (reduction) {
            buffer.sectors_read[to.touches[n].address >> SECTOR_SHIFT] = 1;
            reduction->apply(target, given, to.width());
        } else {
            std::memcpy(target, given, to.width());
        }
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
    const u32 number = races_.flights.begin_in_phase(site, mbarrier.lane, word, mbarrier.address);
    races_.flights.put(ranges_of(from), number, true);
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
