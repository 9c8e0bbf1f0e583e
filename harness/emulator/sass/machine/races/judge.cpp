// Passes each lane's accesses on to the judge.

#include "judge.h"

#include <algorithm>

namespace sass {
namespace {

int threads_of(const Launch& launch) {
    return static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
}

}  // namespace

Judge::Judge(const Launch& launch)
    : unwritten(launch), launch_(launch), clusters_(shape_, geometry_), races_(judged_, geometry_, clusters_) {
    const i64 blocks = static_cast<i64>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    const i64 cluster = machine::blocks_of_cluster(launch);
    const int threads = threads_of(launch);
    chunk_ = std::clamp<i64>(MOST_LANES / threads / cluster * cluster, cluster, blocks);
    judged_.traits = launch.traits;
    std::copy_n(launch.grid, 3, shape_.grid);
    std::copy_n(launch.block, 3, shape_.block);
    std::copy_n(launch.cluster, 3, shape_.cluster);
    geometry_ = {static_cast<int>(chunk_), threads, (threads + LANES - 1) / LANES, static_cast<int>(cluster), &shape_};
    unwritten.who = [this](const Context& c, int lane) {
        return std::pair<int, i64>{lane_of(c, lane), static_cast<i64>(races_.log.first_block())};
    };
    clusters_.told = [this](int first_block, i64 released) { races_.cluster_met(first_block, released); };
}

void Judge::begin(i64 number) {
    if (number % chunk_) return;
    races_.start(static_cast<u64>(number));
    clusters_.start();
    gone_.assign(geometry_.all_warps(), 0);
    visits_.clear();
    committed_bulk_.clear(), bulk_groups_.clear();
    products_.assign(geometry_.all_warps(), {});
}

void Judge::left(const Block& block, const Warp& warp, u32 lanes) {
    gone_[warp_of(block, warp)] |= lanes;
    if (geometry_.cluster == 1) return;
    const int number = chunk_block(block), first = number * geometry_.warps;
    for (int w = first; w < first + geometry_.warps; w++)
        if (geometry_.lanes_of(w) & ~gone_[w]) return;
    visits_.leave(number, geometry_, order_of(block) - number,
                  [&](int lane, int other, i64 when) { return knows(lane, other, when); });
}

machine::Stamps& Judge::stamps(int memory, i64 block) {
    const bool own = memory == machine::SHARED_MEMORY;
    const int grain = own ? launch_.shared_grain : launch_.global_grain;
    const i64 size = own ? launch_.shared_bytes : launch_.buffers[memory].size;
    const auto add = [&](auto& held, auto key) -> machine::Stamps& {
        return held.try_emplace(key, static_cast<size_t>(size / grain + 1), grain, own,
                                launch_.has_copies != 0).first->second;
    };
    return own ? add(shared_, block) : add(buffers_, memory);
}

void Judge::access(const Context& c, const Access& access, i32 space, machine::Verb verb,
                   const Places& places, const u8* values) {
    const int warp = warp_of(c);
    using Place = std::pair<int, const Block*>;  // a memory, and for shared memory its block
    std::map<Place, machine::Request> requests;
    std::map<Place, std::vector<int>> lanes;
    each_lane(access.active, [&](int i) {
        i64 address = access.address[i], base = 0;
        const i32 where = space == MIXED ? space_of(address) : space;
        if (where == LOCAL) return;
        int memory = machine::SHARED_MEMORY;
        const Block* home = nullptr;
        if (where == SHARED) {
            if (space == MIXED) address -= base_of(SHARED);
            home = c.block->cluster->blocks[address >> RANK_SHIFT];
            address = in_window(address);
        } else {
            const Buffer* buffer = buffer_at(c, address);
            if (!buffer || !buffer->writable) return;
            memory = static_cast<int>(buffer - launch_.buffers);
            base = buffer->base, address -= base;
        }
        auto [found, is_new] = requests.try_emplace({memory, home});
        if (is_new)
            found->second = {c.at, launch_.kinds[c.at], verb, access.width, 1, memory, base, {}};
        found->second.touches.push_back({address, warp, geometry_.lane(warp, i),
                                         home && home != c.block ? chunk_block(*home) : -1});
        lanes[{memory, home}].push_back(i);
    });
    if (requests.empty()) return;
    races_.ordering.some_lanes(warp, geometry_.lanes_of(warp), races_.log.now());
    for (const auto& [place, request] : requests) {
        const auto [memory, home] = place;
        std::vector<i64> cells;
        std::vector<u8> bytes, unchanged;
        const int width = access.width;
        machine::Stamps& held = stamps(memory, home ? order_of(*home) : 0);
        for (const machine::Touch& touch : request.touches) cells.push_back(touch.address / held.grain);
        if (values)
            for (const int i : lanes[place]) {
                const u8* value = values + 16 * i;
                bytes.insert(bytes.end(), value, value + width);
                unchanged.push_back(!std::memcmp(places.at[i], value, width));
            }
        // If a store leaves uninitialised memory as it was, this is a coincidence.
        for (size_t n = 0; held.own && n < unchanged.size(); n++)
            for (int w = 0; w < std::max(1, width / held.grain); w++)
                unchanged[n] &= held.written[cells[n] + w] != 0;
        races_.access(request, held, cells, bytes.data(), unchanged);
        if (home) visited(*c.block, *home, request.touches[0], c.at);
    }
}

void Judge::load(const Context& c, const Instruction& n, const Access& access, i32 space, const Places& places) {
    this->access(c, access, space, machine::READ, places);
    unwritten.loaded(c, n, access, space, stamps_of_own(c, space));
}

void Judge::update(const Context& c, const Instruction& n, const Access& access, i32 space, const Places& places) {
    unwritten.updated(c, n, access, space, stamps_of_own(c, space));
    this->access(c, access, space, machine::UPDATE, places);
}

u32 Judge::take_off(const Context& c, const UnderWay& copy, i64 source, int bytes) {
    const auto words = [](machine::Stamps& held, machine::Held<u32>& flights, i64 address, i64 count) {
        const i64 first = address / held.grain, last = (address + count - 1) / held.grain;
        return machine::Ranges{{flights.get(), first, last - first + 1}};
    };
    const u32 number = races_.flights.begin(copy.at, lane_of(c, copy.lane));
    machine::Stamps& target = stamps(machine::SHARED_MEMORY, order_of(*c.block));
    OfCopy made{words(target, target.being_written, in_window(copy.target), copy.width), {}, nullptr};
    races_.flights.put(made.to, number, false);
    const Buffer* buffer = bytes ? buffer_at(c, source) : nullptr;
    if (buffer && buffer->writable) {
        made.source = &stamps(static_cast<int>(buffer - launch_.buffers), 0);
        made.from = words(*made.source, made.source->being_read, source - buffer->base, bytes);
        races_.flights.put(made.from, number, true);
    }
    copies_[number] = std::move(made);
    return number;
}

void Judge::land(const Context& c, const UnderWay& copy) {
    const OfCopy& made = copies_.at(copy.number);
    races_.land(copy.at, lane_of(c, copy.lane), copy.number, made.to,
                &stamps(machine::SHARED_MEMORY, order_of(*c.block)), made.from, made.source);
    copies_.erase(copy.number);
}

void Judge::fence(const Context& c) {
    races_.fence({{warp_of(c), c.on}}, launch_.kinds[c.at] == FENCE_OF_ALL);
}

// ptxas may turn one barrier of the source into several. Barriers at two different lines are two barriers.
void Judge::whole_barrier(i64 block, int alive, const std::vector<Waiting>& there) const {
    const Waiting& first = there[0];
    const int warp = static_cast<int>(in_chunk(block)) * geometry_.warps + first.warp;
    const auto accuse = [&](machine::What what, std::vector<i64> details) {
        throw machine::Accusation{what, first.at, geometry_.lane(warp, __builtin_ctz(first.lanes)),
                                  std::move(details), block - in_chunk(block)};
    };
    const auto lanes_at = [&](i32 line) {
        i64 lanes = 0;
        for (const Waiting& each : there)
            if (launch_.lines[each.at] == line) lanes += __builtin_popcount(each.lanes);
        return lanes;
    };
    const i32 line = launch_.lines[first.at];
    for (const Waiting& each : there) {
        const i32 other = launch_.lines[each.at];
        if (line >= 0 && other >= 0 && line != other)
            accuse(machine::BARRIERS_APART, {first.at, lanes_at(line), lanes_at(other), each.at});
    }
    if (alive < geometry_.threads)
        accuse(machine::BARRIER_LEFT, {first.at, alive, geometry_.threads - alive});
}

void Judge::met(i64 block, const std::vector<int>* warps, const std::vector<Arrival>& others) {
    const int number = static_cast<int>(in_chunk(block));
    if (warps) {
        races_.some_warps(number, *warps, others);
        return;
    }
    races_.ordering.whole_block(number, races_.log.now());
    clusters_.whole_block(number);
}

}  // namespace sass
