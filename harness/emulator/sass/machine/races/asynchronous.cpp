// Passes Hopper's asynchronous operations on to the judge, as engine/machine/judge/ does for PTX.

#include "judge.h"

namespace sass {

using machine::Request;
using machine::Stamps;

// --- mbarriers ----------------------------------------------------------------------------------

void Judge::at_mbarrier(const Block& own, const Warp& warp, int lane, const Block& home, i64 at, i32 site,
                        machine::Verb verb) {
    constexpr int BYTES = 8;
    const int w = warp_of(own, warp);
    const Request request{site, machine::ATOMIC, verb, BYTES, 1, machine::SHARED_MEMORY, 0,
                          {touch_of(own, warp, lane, home, at)}};
    Stamps& held = stamps(machine::SHARED_MEMORY, order_of(home));
    races_.ordering.some_lanes(w, geometry_.lanes_of(w), races_.log.now());
    races_.access(request, held, {at / held.grain}, nullptr, {});
    visited(own, home, request.touches[0], site, verb == machine::UPDATE);
}

void Judge::arrive(const Context& c, int lane, const Block& home, i64 at) {
    at_mbarrier(*c.block, *c.warp, lane, home, at, c.at, machine::UPDATE);
}

void Judge::phase_over(const Context& c, int lane, const Block& home, i64 at) {
    races_.phase_over(touch_of(*c.block, *c.warp, lane, home, at));
}

void Judge::tested(const Block& block, const Warp& warp, u32 lanes, i32 at) {
    each_lane(lanes, [&](int i) { at_mbarrier(block, warp, i, block, warp.tested[i], at, machine::READ); });
}

// --- bulk copies --------------------------------------------------------------------------------

// Returns null for memory that no code writes.
Stamps* Judge::request_of(const Context& c, int lane, const Side& side, Request& request, std::vector<i64>& cells) {
    if (side.at.empty()) return nullptr;
    i64 base = 0;
    Stamps* held = nullptr;
    request.word = side.unit, request.memory = machine::SHARED_MEMORY;
    if (side.home) {
        held = &stamps(machine::SHARED_MEMORY, order_of(*side.home));
    } else {
        const Buffer* const buffer = buffer_at(c, side.at[0]);
        if (!buffer || !buffer->writable) return nullptr;
        request.memory = static_cast<int>(buffer - launch_.buffers);
        request.base = base = buffer->base;
        held = &stamps(request.memory, 0);
    }
    for (const i64 at : side.at) {
        request.touches.push_back(touch_of(*c.block, *c.warp, lane, side.home ? *side.home : *c.block, at - base));
        cells.push_back((at - base) / held->grain);
    }
    return held;
}

machine::Ranges Judge::ranges_of(Stamps* stamps, const std::vector<i64>& cells, int unit, bool written) {
    machine::Ranges out;
    if (!stamps) return out;
    u32* const flights = (written ? stamps->being_written : stamps->being_read).get();
    const i64 words = std::max(1, unit / stamps->grain);
    for (const i64 cell : cells) out.push_back({flights, cell, words});
    return out;
}

void Judge::bulk(const Context& c, int lane, const Side& from, const Side& to, const u8* values, bool reduces,
                 const Told* told) {
    const int w = warp_of(c), own = lane_of(c, lane);
    Request reads{c.at, machine::PLAIN, machine::READ, 1, 1, 0, 0, {}}, writes = reads;
    writes.verb = reduces ? machine::UPDATE : machine::WRITE;
    if (reduces) writes.kind = machine::ATOMIC;
    std::vector<i64> read, written;
    Stamps* const source = request_of(c, lane, from, reads, read);
    Stamps* const target = request_of(c, lane, to, writes, written);
    races_.ordering.some_lanes(w, geometry_.lanes_of(w), races_.log.now());
    if (source) races_.access(reads, *source, read, nullptr, {});
    if (source && from.home)
        races_.proxies.look(reads, *source, read, races_.log, geometry_,
                            [&](int other, i64 when, int later) { return knows(later, other, when); });
    if (target) {
        std::vector<u8> unchanged;
        for (size_t n = 0; !reduces && n < to.places.size(); n++)
            unchanged.push_back(!std::memcmp(to.places[n], values + n * to.unit, to.unit) &&
                                (!target->own || target->written[written[n]]));
        races_.access(writes, *target, written, reduces ? nullptr : values, unchanged);
    }
    const machine::Ranges out = ranges_of(source, read, from.unit, false);
    const machine::Ranges in = ranges_of(target, written, to.unit, true);
    if (told) {
        const machine::Touch at = touch_of(*c.block, *c.warp, lane, *told->home, told->at);
        const u32 number = races_.flights.begin_in_phase(c.at, own, races_.word_of_block(at), at.address, reduces);
        races_.flights.put(out, number, !from.home);
        races_.flights.put(in, number, false);
        return;
    }
    Group group{c.at, own, committed_bulk_[own], races_.flights.begin(c.at, own), races_.flights.begin(c.at, own),
                out, reduces ? machine::Ranges() : in, source, target};
    races_.flights.put(group.from, group.reading, false);
    races_.flights.put(group.to, group.writing, true);
    bulk_groups_.push_back(std::move(group));
}

void Judge::commit_bulk(const Context& c) {
    each_lane(c.on, [&](int i) { committed_bulk_[lane_of(c, i)]++; });
}

void Judge::wait_for_bulk(const Context& c, i64 newest, bool only_read) {
    const int first = lane_of(c, 0);
    const auto is_done = [&](Group& group) {
        const int i = group.lane - first;
        if (i < 0 || i >= LANES || !(c.on >> i & 1) || group.group >= committed_bulk_[group.lane] - newest) return false;
        if (group.reading) races_.land(group.site, group.lane, group.reading, {}, nullptr, group.from, group.source);
        group.reading = 0;
        if (only_read) return false;
        races_.land(group.site, group.lane, group.writing, group.to, group.target, {}, nullptr);
        return true;
    };
    bulk_groups_.erase(std::remove_if(bulk_groups_.begin(), bulk_groups_.end(), is_done), bulk_groups_.end());
}

void Judge::fence_of_proxies(const Context& c) {
    each_lane(c.on, [&](int i) { races_.proxies.fence(lane_of(c, i), races_.log.now()); });
}

// --- products of a warpgroup --------------------------------------------------------------------

void Judge::read_factor(const Context& c, const machine::Descriptor& matrix, bool turned, int first, int rows,
                        int slices) {
    constexpr int UNIT = static_cast<int>(machine::Descriptor::UNIT);
    const int w = warp_of(c);
    Request request{c.at, machine::PLAIN, machine::READ, UNIT, 1, machine::SHARED_MEMORY, 0, {}};
    Stamps& held = stamps(machine::SHARED_MEMORY, order_of(*c.block));
    std::vector<i64> cells;
    for (int i = 0; i < LANES; i++)
        matrix.each_unit(turned, i, first, rows, slices, [&](u32 address) {
            request.touches.push_back({address, w, geometry_.lane(w, i)});
            cells.push_back(address / held.grain);
        });
    races_.ordering.some_lanes(w, geometry_.lanes_of(w), races_.log.now());
    races_.access(request, held, cells, nullptr, {});
    races_.proxies.look(request, held, cells, races_.log, geometry_,
                        [&](int other, i64 when, int later) { return knows(later, other, when); });
    races_.swizzles.look(request, held, cells, matrix.width, races_.log);
    Product product{c.at, c.warp->products, races_.flights.begin(c.at, lane_of(c, 0)),
                    ranges_of(&held, cells, UNIT, false), &held};
    races_.flights.put(product.from, product.number, false);
    products_[w].push_back(std::move(product));
}

// A product is one operation by four warps, so it is over for each of them.
void Judge::wait_for_products(const Block& block, const Warp& warp, i64 groups) {
    std::vector<int> together;
    for (const Warp& other : block.warps) {
        if (other.number / 4 != warp.number / 4) continue;
        together.push_back(other.number);
        auto& reading = products_[warp_of(block, other)];
        const auto is_done = [&](const Product& each) {
            if (each.group >= groups) return false;
            races_.land(each.site, races_.flights[each.number].lane, each.number, {}, nullptr, each.from, each.source);
            return true;
        };
        reading.erase(std::remove_if(reading.begin(), reading.end(), is_done), reading.end());
    }
    races_.some_warps(chunk_block(block), together);
}

// --- clusters -----------------------------------------------------------------------------------

void Judge::arrive_in_cluster(const Context& c, int lane) {
    clusters_.arrive(c.at, lane_of(c, lane), races_.log.now());
}

void Judge::cluster_complete(const Cluster& cluster) {
    for (const Block* const block : cluster.blocks)
        if (block) {
            clusters_.settle(chunk_block(*block) - static_cast<int>(block->rank), gone_, races_.log.now());
            return;
        }
}

void Judge::waited_in_cluster(const Block& block, const Warp& warp, u32 lanes) {
    each_lane(lanes, [&](int i) { clusters_.waited(geometry_.lane(warp_of(block, warp), i)); });
}

}  // namespace sass
