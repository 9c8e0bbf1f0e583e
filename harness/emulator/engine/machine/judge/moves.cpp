// The data that accesses move once they are judged: words to and from registers, warp by warp.

#include "accesses.h"

#include <algorithm>
#include <cstring>

namespace machine {

// Executes the access itself, warp by warp, and counts it.
void Accesses::move(const Op& op, const Request& request) {
    if (launch_.checks && judged_.traits[op.site] & IS_CAS && op.result[0] >= 0)
        swap(op, request);
    else
        move_all(op, request);
}

// A compare-and-swap may take a lock. The value that a lane found shows whether it has changed the word.
void Accesses::swap(const Op& op, const Request& request) {
    std::vector<u64> compared;
    for (const Touch& touch : request.touches) compared.push_back(in_row(op, op.source[1], touch));
    const std::vector<u64> put = given(op, request);
    move_all(op, request);
    for (size_t n = 0; n < request.touches.size(); n++) {
        const Touch& touch = request.touches[n];
        if (in_row(op, op.result[0], touch) == compared[n] && put[n] != compared[n])
            races_.take_lock(request, touch, compared[n]);
    }
}

u64 Accesses::in_row(const Op& op, i32 row, const Touch& touch) const {
    u64 value = 0;
    const int lane_bytes = op.width == 8 ? 8 : 4;
    std::memcpy(&value, blocks_.warps[touch.warp].registers + row +
                            geometry_.place_of(touch.lane) * lane_bytes,
                std::min(op.width, lane_bytes));
    return value;
}

// The value that a store, an exchange or a compare-and-swap writes to its first word, by access;
// empty for other atomics.
std::vector<u64> Accesses::given(const Op& op, const Request& request) const {
    std::vector<u64> out;
    const bool swaps = judged_.traits[op.site] & IS_CAS;
    const bool exchanges = !std::strncmp(entries()[op.handler].name, "atom.exch", 9);
    if (request.verb == READ || op.width > 8 || (request.verb == UPDATE && !swaps && !exchanges))
        return out;
    for (const Touch& touch : request.touches)
        out.push_back(in_row(op, op.source[swaps ? 2 : 1], touch));
    return out;
}

void Accesses::move_all(const Op& op, const Request& request) {
    for (size_t n = 0; n < request.touches.size();) {
        const int warp = request.touches[n].warp, block = request.touches[n].block;
        u32 lanes = 0;
        for (; n < request.touches.size() && request.touches[n].warp == warp &&
               request.touches[n].block == block;
             n++)
            lanes |= u32(1) << geometry_.place_of(request.touches[n].lane);
        if (mixed_.count(warp))
            handle_uncounted(op, warp, lanes, block);
        else
            handle(op, warp, lanes, block);
    }
}

// The same for accesses to several buffers; a warp's lanes still make only one request.
void Accesses::move_scattered(const Op& op, const Touches& touches, int width) {
    for (size_t n = 0; n < touches.size();) {
        const int warp = touches[n].warp;
        std::map<int, u32> by_buffer;
        Touches own;
        for (; n < touches.size() && touches[n].warp == warp; n++) {
            by_buffer[buffer_of(touches[n].address, width)] |=
                u32(1) << geometry_.place_of(touches[n].lane);
            own.push_back(touches[n]);
        }
        const bool is_mixed = mixed_.count(warp);
        const Counts counts = blocks_.c.counts;
        if (by_buffer.size() > 1 && op.space != UNCOUNTED && !is_mixed) {
            count_request(op.site, own, width);
            blocks_.c.counts.requests = blocks_.c.counts.sectors = uncounted_.data();
        }
        for (const auto& [number, lanes] : by_buffer) {
            if (is_mixed)
                handle_uncounted(op, warp, lanes);
            else
                handle(op, warp, lanes);
        }
        blocks_.c.counts = counts;
    }
}

void Accesses::discard(const Op& op, const Selection& lanes) {
    uninitialised_.use_row(lanes, op.source[0], op.site);
    const Touches lines = addressed(op, lanes);
    check_buffers(lines, op.site, DISCARDED_BYTES, WRITE);
    for (const Touch& line : lines) {
        const int memory = buffer_of(line.address, DISCARDED_BYTES);
        const Buffer& buffer = launch_.buffers[memory];
        const i64 first = line.address - buffer.base;
        Request request{op.site, PLAIN, WRITE, 16, 1, memory, buffer.base, {}};
        for (i64 at = 0; at < DISCARDED_BYTES; at += request.width())
            request.touches.push_back({first + at, line.warp, line.lane});
        const std::vector<u8> undefined(DISCARDED_BYTES, DISCARDED);
        if (judged_.observed) observe(request);
        if (launch_.checks && buffer.watched)
            races_.access(request, stamps_of(memory), unwritten_.cells_of(request), undefined.data(), {});
        std::memcpy(buffer.data + first, undefined.data(), DISCARDED_BYTES);
        if (buffer.filled) std::memset(buffer.filled + first, 0, DISCARDED_BYTES);
    }
}

Stamps& Accesses::stamps_of(int memory) { return stamps_.at(memory); }

u8* Accesses::place(const Request& request, const Touch& touch) {
    if (request.memory == LOCAL_MEMORY) return blocks_.local_of(touch.lane) + touch.address;
    if (request.memory == SHARED_MEMORY)
        return blocks_.shared_of(home_of(geometry_, touch)) + touch.address;
    return launch_.buffers[request.memory].data + touch.address;
}

// The bytes that a store writes, access by access.
std::vector<u8> Accesses::values(const Op& op, const Request& request) const {
    std::vector<u8> out(request.touches.size() * request.width());
    u8* to = out.data();
    for (const Touch& touch : request.touches)
        for (int word = 0; word < request.count; word++, to += request.word) {
            const int lane_bytes = request.word == 8 ? 8 : 4;
            std::memcpy(to, blocks_.warps[touch.warp].registers + op.source[word + 1] +
                                geometry_.place_of(touch.lane) * lane_bytes, request.word);
        }
    return out;
}

std::vector<u8> Accesses::unchanged(const Request& request, const std::vector<u8>& values) {
    std::vector<u8> out;
    if (values.empty()) return out;
    out.reserve(request.touches.size());
    const u8* value = values.data();
    for (const Touch& touch : request.touches) {
        out.push_back(std::memcmp(place(request, touch), value, request.width()) == 0);
        value += request.width();
    }
    return out;
}

}  // namespace machine
