// Copies of structs within local memory, and `cp.async` from global to shared memory.

#include "judge/accesses.h"

#include <set>

namespace machine {

// --- structs ------------------------------------------------------------------------------------

// Uninitialised members and padding may be copied.
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

// Reads `width` bytes for each lane's access, as one load.
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
    for (size_t n = 0; n < touches.size(); n++) {
        const Buffer& buffer = launch_.buffers[buffer_of(touches[n].address, width)];
        const i64 offset = touches[n].address - buffer.base;
        std::memcpy(targets[n], buffer.data + offset, width);
        for (i64 at = offset; at < offset + width; at += i64(1) << SECTOR_SHIFT)
            buffer.sectors_read[at >> SECTOR_SHIFT] = 1;
    }
}

// The source beyond the bytes that are filled may not be readable, so a partly filled copy is read word by word
// and byte by byte. For the hardware it is one request per warp all the same.
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
                      committed_[lane], {}, 0, {}, {}, nullptr};
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
    for (size_t n = 0; n < sources.size();) {
        const int warp = sources[n].warp;
        Touches reading;
        for (; n < sources.size() && sources[n].warp == warp; n++)
            if (filled[n]) reading.push_back(sources[n]);
        if (!reading.empty()) count_request(op.site, reading, width);
    }
    std::vector<i64> addresses;
    for (const Touch& source : sources) addresses.push_back(source.address);
    take_off(copy, addresses, filled);
    count_landing(copy);
    copies_.push_back(std::move(copy));
}

// Between this point and the copy's landing, no thread may touch the target or write the source.
void Accesses::take_off(Copy& copy, const std::vector<i64>& sources, const std::vector<int>& filled) {
    Request request{copy.site, PLAIN, WRITE, copy.width, 1, SHARED_MEMORY, 0, {}};
    std::vector<u8> bytes;
    for (const UnderWay& each : copy.lanes) {
        request.touches.push_back({each.target, each.warp, each.lane});
        bytes.insert(bytes.end(), each.data, each.data + copy.width);
    }
    check_block_memory(request);
    if (!launch_.checks) return;
    races_.access(request, stamps_of(SHARED_MEMORY), unwritten_.cells_of(request), bytes.data(),
                  unchanged(request, bytes));
    for (size_t n = 0; n < copy.lanes.size(); n++) {
        UnderWay& each = copy.lanes[n];
        each.number = races_.flights.begin(copy.site, each.lane);
        const int block = geometry_.block_of(each.lane);
        each.to = range_of(SHARED_MEMORY, block, each.target, copy.width, true);
        races_.flights.put(each.to, each.number, false);
        if (!filled[n]) continue;
        const int buffer = buffer_of(sources[n], filled[n]);
        const i64 offset = sources[n] - launch_.buffers[buffer].base;
        each.from = range_of(buffer, block, offset, filled[n], false);
        if (!each.from.empty()) each.source = &stamps_of(buffer);
        races_.flights.put(each.from, each.number, true);
    }
}

// The words of an access, as a range in the stamps that note which copies write or read them; empty if the
// memory has no stamps.
Ranges Accesses::range_of(int memory, int block, i64 address, i64 bytes, bool written) {
    const auto found = stamps_.find(memory);
    if (found == stamps_.end()) return {};
    Stamps& stamps = found->second;
    const i64 before = memory == SHARED_MEMORY ? unwritten_.shared_words() * block : 0;
    const i64 first = address / stamps.grain, last = (address + bytes - 1) / stamps.grain;
    return {{(written ? stamps.being_written : stamps.being_read).get(), before + first, last - first + 1}};
}

// A copy's shared memory wavefronts are counted when it is issued, warp by warp.
void Accesses::count_landing(const Copy& copy) {
    for (size_t n = 0; n < copy.lanes.size();) {
        Access access{};
        access.width = copy.width;
        const int warp = copy.lanes[n].warp;
        for (; n < copy.lanes.size() && copy.lanes[n].warp == warp; n++) {
            const int i = geometry_.place_of(copy.lanes[n].lane);
            access.active |= u32(1) << i;
            access.address[i] = copy.lanes[n].target;
        }
        survey(access);
        count_shared(blocks_.c, copy.site, shared_wavefronts(access, false));
    }
}

void Accesses::commit_copies(const Selection& lanes) {
    each_of(lanes, [&](int w, int i) { committed_[geometry_.lane(w, i)]++; });
}

// Lands all but each lane's newest groups, as many as the immediate says; all groups if it is -1.
void Accesses::wait_for_copies(const Op& op, const Selection& lanes) {
    land(lanes, [&](const Copy& copy, const UnderWay& each) {
        if (op.immediate >= 0 && each.group >= committed_[each.lane] - op.immediate) return false;
        if (launch_.checks)
            races_.land(copy.site, each.lane, each.number, each.to, &stamps_of(SHARED_MEMORY), each.from,
                        each.source);
        return true;
    });
}

// The bytes land here. The mbarrier decides which threads may touch them.
void Accesses::hand_copies_to_mbarrier(const Op& op, const Selection& lanes) {
    land(lanes, [&](const Copy& copy, const UnderWay& each) {
        if (!launch_.checks) return true;
        const u8* registers = blocks_.warps[each.warp].registers + op.source[0];
        const int i = geometry_.place_of(each.lane);
        const i64 address = op.wide_base ? reinterpret_cast<const i64*>(registers)[i]
                                         : reinterpret_cast<const u32*>(registers)[i];
        const i64 within = address >= SHARED_WINDOW ? address - SHARED_WINDOW : address;
        const i64 word = races_.word_of_block({within, each.warp, each.lane});
        const u32 number = races_.flights.begin_in_phase(copy.site, each.lane, word, within);
        races_.flights.put(each.to, number, false);
        races_.flights.put(each.from, number, true);
        races_.flights.end(each.number);
        return true;
    });
}

// Lands those copies of the given lanes for which `lands` returns true.
template <class Lands>
void Accesses::land(const Selection& lanes, Lands lands) {
    std::vector<u8> waits(geometry_.all_lanes());
    each_of(lanes, [&](int w, int i) { waits[geometry_.lane(w, i)] = 1; });
    for (Copy& copy : copies_) {
        Request request{copy.site, PLAIN, WRITE, copy.width, 1, SHARED_MEMORY, 0, {}};
        std::vector<UnderWay> still;
        for (const UnderWay& each : copy.lanes) {
            if (!waits[each.lane] || !lands(copy, each)) {
                still.push_back(each);
                continue;
            }
            request.touches.push_back({each.target, each.warp, each.lane});
            std::memcpy(place(request, request.touches.back()), each.data, copy.width);
        }
        copy.lanes = std::move(still);
        if (launch_.checks && !request.touches.empty())
            unwritten_.write(request, unwritten_.cells_of(request));
    }
    copies_.erase(std::remove_if(copies_.begin(), copies_.end(),
                                 [](const Copy& copy) { return copy.lanes.empty(); }),
                  copies_.end());
}

}  // namespace machine
