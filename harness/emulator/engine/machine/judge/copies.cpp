// Copies: of structs within local memory, and between global and shared memory; and the mbarriers
// that say when those are done.

#include "accesses.h"

#include <set>

#include "memory/mbarrier.h"
#include "memory/reductions.h"

namespace machine {

// --- structs ------------------------------------------------------------------------------------

// Members and padding that nothing wrote may be copied.
void Accesses::copy_struct(const Op& op, const Selection& lanes) {
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site);
    Request reads{op.site, PLAIN, READ, op.count, 1, LOCAL_MEMORY, 0, {}}, writes = reads;
    writes.verb = WRITE;
    for (int at = 0; at < op.width; at += op.count) {
        const auto touched = [&](int from) {
            Touches out;
            each_of(lanes, [&](int w, int i) {
                const u8* registers = blocks_.warps[w].registers;
                const auto value = [&](int n) {
                    return reinterpret_cast<const i64*>(registers + op.source[n])[i];
                };
                out.push_back({value(from) + value(from + 1) + at, w, geometry_.lane(w, i)});
            });
            return out;
        };
        reads.touches = touched(0), writes.touches = touched(2);
        check_block_memory(reads);
        check_block_memory(writes);
        if (launch_.checks) unwritten_.write(writes, unwritten_.cells_of(writes));
    }
    for (const Party& party : lanes) {
        blocks_.enter(party.warp, party.lanes);
        entries()[op.handler].handler(blocks_.c, op);
    }
}

// --- asynchronous copies ------------------------------------------------------------------------

// Reads so many bytes for each touch, as one load.
void Accesses::load_bytes(i32 site, const Touches& touches, int width,
                          const std::vector<u8*>& targets) {
    check_buffers(touches, site, width, READ);
    std::map<int, Touches> by_buffer;
    for (const Touch& touch : touches) by_buffer[buffer_of(touch.address, width)].push_back(touch);
    for (auto& [number, part] : by_buffer) {
        const i64 base = launch_.buffers[number].base;
        for (Touch& touch : part) touch.address -= base;
        Request request{site, PLAIN, READ, width, 1, number, base, std::move(part)};
        of_buffer(nullptr, request);
    }
    for (size_t n = 0; n < touches.size();) {
        const int warp = touches[n].warp;
        Touches own;
        for (; n < touches.size() && touches[n].warp == warp; n++) {
            const Buffer& buffer = launch_.buffers[buffer_of(touches[n].address, width)];
            const i64 offset = touches[n].address - buffer.base;
            std::memcpy(targets[n], buffer.data + offset, width);
            for (i64 at = offset; at < offset + width; at += i64(1) << SECTOR_SHIFT)
                buffer.sectors_read[at >> SECTOR_SHIFT] = 1;
            own.push_back(touches[n]);
        }
        count_request(site, own, width);
    }
}

// What lies beyond the bytes that are filled may not be there to be read: then words and bytes are
// read one by one.
void Accesses::issue_copy(const Op& op, const Selection& lanes) {
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site);
    const int width = static_cast<int>(op.immediate);
    Copy copy{op.site, width, {}};
    Touches sources;
    std::vector<int> filled;
    each_of(lanes, [&](int w, int i) {
        const u8* registers = blocks_.warps[w].registers;
        const int lane = geometry_.lane(w, i);
        UnderWay each{w, lane, reinterpret_cast<const i64*>(registers + op.source[0])[i],
                      committed_[lane], {}};
        copy.lanes.push_back(each);
        sources.push_back({reinterpret_cast<const i64*>(registers + op.source[1])[i], w, lane});
        const u32 bytes = reinterpret_cast<const u32*>(registers + op.source[2])[i];
        filled.push_back(static_cast<int>(std::min<u32>(bytes, width)));
    });
    const auto load = [&](int of, int at, int bytes) {
        Touches part;
        std::vector<u8*> targets;
        for (size_t n = 0; n < filled.size(); n++)
            if (filled[n] == of) {
                part.push_back({sources[n].address + at, sources[n].warp, sources[n].lane});
                targets.push_back(copy.lanes[n].data + at);
            }
        load_bytes(op.site, part, bytes, targets);
    };
    const std::set<int> amounts(filled.begin(), filled.end());
    for (const int amount : amounts) {
        if (amount == width && amounts.size() == 1) {
            load(amount, 0, width);
            continue;
        }
        for (int at = 0; at < amount;) {
            const int unit = at + 4 <= amount ? 4 : 1;
            load(amount, at, unit);
            at += unit;
        }
    }
    copies_.push_back(std::move(copy));
}

void Accesses::commit_copies(const Selection& lanes) {
    each_of(lanes, [&](int w, int i) { committed_[geometry_.lane(w, i)]++; });
}

// Lands all but each lane's newest groups, so many as the immediate says; all if it is -1.
void Accesses::wait_for_copies(const Op& op, const Selection& lanes) {
    std::vector<u8> waits(geometry_.all_lanes());
    each_of(lanes, [&](int w, int i) { waits[geometry_.lane(w, i)] = 1; });
    for (Copy& copy : copies_) {
        Request request{copy.site, PLAIN, WRITE, copy.width, 1, SHARED_MEMORY, 0, {}};
        std::vector<u8> bytes;
        std::vector<UnderWay> still;
        for (const UnderWay& each : copy.lanes) {
            const bool lands = waits[each.lane] && (op.immediate < 0 ||
                                                    each.group < committed_[each.lane] - op.immediate);
            if (!lands) {
                still.push_back(each);
                continue;
            }
            request.touches.push_back({each.target, each.warp, each.lane});
            bytes.insert(bytes.end(), each.data, each.data + copy.width);
        }
        copy.lanes = std::move(still);
        if (request.touches.empty()) continue;
        check_block_memory(request);
        if (launch_.checks) {
            const auto cells = unwritten_.cells_of(request);
            races_.access(request, stamps_of(SHARED_MEMORY), cells, bytes.data(),
                          unchanged(request, bytes));
            unwritten_.write(request, cells);
        }
        for (size_t n = 0; n < request.touches.size();) {
            Access access{};
            access.width = copy.width;
            const int warp = request.touches[n].warp;
            for (; n < request.touches.size() && request.touches[n].warp == warp; n++) {
                const Touch& touch = request.touches[n];
                const int i = geometry_.place_of(touch.lane);
                access.active |= u32(1) << i;
                access.address[i] = touch.address;
                std::memcpy(place(request, touch), bytes.data() + n * copy.width, copy.width);
            }
            survey(access);
            const Wavefronts cost = shared_wavefronts(access, false);
            count_shared(blocks_.c, copy.site, cost);
        }
    }
    copies_.erase(std::remove_if(copies_.begin(), copies_.end(),
                                 [](const Copy& copy) { return copy.lanes.empty(); }),
                  copies_.end());
}

// --- mbarriers ----------------------------------------------------------------------------------

// Arrivals at mbarriers, some of which may end a phase.
void Accesses::arrive(const Op& op, const Request& request) {
    const auto words = [&] {
        std::vector<u64> out;
        for (const Touch& touch : request.touches) {
            u64 word;
            std::memcpy(&word, place(request, touch), sizeof word);
            out.push_back(word);
        }
        return out;
    };
    const std::vector<u64> before = words();
    move(op, request);
    const std::vector<u64> after = words();
    for (size_t n = 0; n < before.size(); n++)
        if (!same_phase(before[n], after[n])) races_.phase_over(request.touches[n]);
}

// --- bulk copies --------------------------------------------------------------------------------

// Each lane copies bytes of its own, as units that are as wide as they must be aligned.
void Accesses::copy_bulk(const Op& op, const Selection& lanes) {
    constexpr int UNIT = 16;
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site);
    each_of(lanes, [&](int w, int i) {
        const u8* registers = blocks_.warps[w].registers;
        const auto address = [&](int n) {
            return reinterpret_cast<const i64*>(registers + op.source[n])[i];
        };
        const i64 size = reinterpret_cast<const u32*>(registers + op.source[2])[i];
        const int lane = geometry_.lane(w, i);
        if (size % UNIT) throw Accusation{COPIED_IN_PART, op.site, lane, {size, UNIT}};
        if (size > launch_.shared_bytes)  // before there are units to be counted
            throw Accusation{OUT_OF_BLOCK_MEMORY, op.site, lane,
                             {op.immediate ? WRITE : READ, size, address(op.immediate ? 0 : 1),
                              SHARED_MEMORY, launch_.shared_bytes}};
        if (!size) return;
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
        bulk(op, from, to);
    });
}

void Accesses::bulk(const Op& op, const Request& from, const Request& to) {
    const bool to_shared = op.immediate;
    const BulkReduction* const reduction = reduction_of(op);
    const Request& outside = to_shared ? from : to;
    Buffer& buffer = launch_.buffers[outside.memory];
    std::vector<u8> bytes(from.touches.size() * from.width());
    for (size_t n = 0; n < from.touches.size(); n++)
        std::memcpy(bytes.data() + n * from.width(), place(from, from.touches[n]), from.width());
    if (judged_.observed) observe(outside);
    if (launch_.checks) {
        const auto watch = [&](const Request& request, const std::vector<i64>& cells) {
            const bool writes = request.verb == WRITE;
            races_.access(request, stamps_of(request.memory), cells, writes ? bytes.data() : nullptr,
                          writes ? unchanged(request, bytes) : std::vector<u8>());
        };
        const auto inside = unwritten_.cells_of(to_shared ? to : from);
        if (!to_shared) {  // to store it to global memory is to use it
            const auto use = [&](const Unwritten::Origins& origins) {
                for (size_t n = 0; n < origins.size(); n++)
                    uninitialised_.use(origins[n].id, from.touches[n].lane, op.site);
            };
            use(unwritten_.read(from, inside));
            watch(from, inside);
            if (reduction && buffer.filled) use(unwritten_.read(to, buffer));
        }
        if (buffer.watched) watch(outside, unwritten_.cells_of(outside));
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

}  // namespace machine
