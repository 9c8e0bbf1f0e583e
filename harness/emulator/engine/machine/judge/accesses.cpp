// Loads, stores and atomics of a chunk: where they go, whether they are allowed, and what they record.

#include "accesses.h"

#include <cstring>

namespace machine {
namespace {

bool is_arrival(const Op& op) {
    const Role role = entries()[op.handler].role;
    return role == ARRIVES || role == ARRIVES_IN_MANY;
}

}  // namespace

Accesses::Accesses(const Launch& launch, const Judged& judged, Blocks& blocks, Races& races,
                   Uninitialised& uninitialised)
    : launch_(launch), judged_(judged), blocks_(blocks), geometry_(blocks.geometry), races_(races),
      uninitialised_(uninitialised),
      unwritten_(launch, judged, blocks.geometry, uninitialised), waits_(judged.lines_of_waits),
      uncounted_(launch.site_count + 1) {
    committed_.resize(geometry_.all_lanes()), committed_bulk_.resize(geometry_.all_lanes());
    if (!launch.checks) return;
    for (int n = 0; n < launch.op_count; n++) {
        const Role role = entries()[launch.ops[n].handler].role;
        has_copies_ |= role == ISSUES_COPY || role == COPIES_BULK || role == COPIES_TENSOR ||
                       role == READS_FACTOR;
    }
    for (int n = 0; n < launch.buffer_count; n++) {
        const Buffer& buffer = launch.buffers[n];
        if (buffer.watched)
            stamps_.try_emplace(n, buffer.size / launch.global_grain + 1, launch.global_grain, false,
                                has_copies_);
    }
}

void Accesses::start() {
    copies_.clear(), bulk_groups_.clear(), visits_.clear(), waits_.start();
    products_.assign(geometry_.all_warps(), {});
    std::fill(committed_.begin(), committed_.end(), 0);
    std::fill(committed_bulk_.begin(), committed_bulk_.end(), 0);
    for (int block = 0; block < geometry_.blocks; block++)
        std::memset(blocks_.shared_of(block) + judged_.zeroed_at, 0, judged_.zeroed_bytes);
    if (!launch_.checks) return;
    stamps_.erase(SHARED_MEMORY);
    stamps_.try_emplace(SHARED_MEMORY, unwritten_.shared_words() * geometry_.blocks,
                        launch_.shared_grain, true, has_copies_);
    unwritten_.start();
}

// --- loads, stores, atomics ---------------------------------------------------------------------

void Accesses::execute(const Op& op, Verb verb, const Selection& lanes) {
    uninitialised_.use_row(lanes, op.source[0], op.site);
    Touches touches = addressed(op, lanes);
    if (op.space != GENERIC) {
        if (judged_.traits[op.site] & FILLS_CLUSTER)
            for (Touch& touch : touches) into_window(op.site, touch);
        in_one_space(op, verb, op.space, std::move(touches));
    } else {
        find_mixed(op, touches);
        for (const i32 space : {GLOBAL, SHARED, LOCAL}) {
            Touches part;
            for (Touch touch : touches)
                if (space_in(touch.address) == space) {
                    touch.address -= base_of(space);
                    if (space == SHARED) into_window(op.site, touch);
                    part.push_back(touch);
                }
            if (!part.empty()) in_one_space(op, verb, space, std::move(part));
        }
        mixed_.clear();
    }
    if (verb != UPDATE) return;
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site, false);
    each_of(lanes, [&](int w, int i) {
        for (const i32 row : op.result) uninitialised_.put(w, row, i, {});
    });
}

// The shared window covers the whole cluster's shared memory, with one window per block.
i32 Accesses::space_in(i64 address) const {
    if (address >= SHARED_WINDOW && address < LOCAL_WINDOW) return SHARED;
    return space_of(address);
}

void Accesses::into_window(i32 site, Touch& touch) const {
    const i64 window = touch.address / WINDOW_BYTES;
    if (window <= 0) return;
    const int own = geometry_.block_of(touch.lane), block = geometry_.in_window(own, window);
    if (block < 0) throw Accusation{NO_SUCH_BLOCK, site, touch.lane, {window - 1, geometry_.cluster}};
    touch.block = block;
    touch.address %= WINDOW_BYTES;
}

void Accesses::leave(int block) {
    if (!blocks_.has_left(block)) return;
    visits_.leave(block, geometry_, blocks_.first_block,
                  [&](int lane, int other, i64 when) { return races_.knows(lane, other, when); });
}

// Notes accesses to the shared memory of other blocks, which must not leave before these are over.
void Accesses::of_others(const Op& op, const Request& request) {
    for (const Touch& touch : request.touches) {
        const int block = home_of(geometry_, touch);
        if (block == geometry_.block_of(touch.lane)) continue;
        if (blocks_.has_left(block))
            throw Accusation{BLOCK_HAS_LEFT, op.site, touch.lane,
                             {request.verb, request.width(), touch.address,
                              geometry_.in_grid(blocks_.first_block + block)}};
        // An arrival is over once a wait has seen it.
        const bool arrives = is_arrival(op);
        visits_.note(block, touch, op.site, races_.log.now() - 1 - arrives);
    }
}

// Finds warps that access several memories, or another block's memory, in one request: its cost is not known.
void Accesses::find_mixed(const Op& op, const Touches& touches) {
    std::map<int, u32> spaces;
    for (const Touch& touch : touches) {
        u32& in = spaces[touch.warp];
        in |= u32(1) << space_in(touch.address);
        const i64 window = (touch.address - SHARED_WINDOW) / WINDOW_BYTES;
        const int own = geometry_.block_of(touch.lane);
        if (space_in(touch.address) == SHARED && geometry_.in_window(own, window) != own)
            in |= u32(1) << LOCAL | u32(1) << GENERIC;
    }
    for (const auto& [warp, in] : spaces) {
        if (!(in & (in - 1))) continue;
        mixed_.insert(warp);
        blocks_.c.counts.mixed[op.site]++;
    }
}

Touches Accesses::addressed(const Op& op, const Selection& lanes) {
    Touches out;
    out.reserve(lanes.size() * LANES);
    each_of(lanes, [&](int w, int i) {
        const u8* registers = blocks_.warps[w].registers + op.source[0];
        const i64 address =
            op.wide_base ? reinterpret_cast<const i64*>(registers)[i] + op.immediate
                         : reinterpret_cast<const u32*>(registers)[i] + static_cast<u32>(op.immediate);
        out.push_back({address, w, geometry_.lane(w, i)});
    });
    return out;
}

void Accesses::in_one_space(const Op& op, Verb verb, i32 space, Touches touches) {
    const int count = verb == UPDATE ? 1 : op.count;
    if (space != SHARED && space != LOCAL) {
        in_buffers(op, verb, std::move(touches), op.width, count);
        return;
    }
    const int memory = space == SHARED ? SHARED_MEMORY : LOCAL_MEMORY;
    Request request{op.site, op.kind, verb, op.width, count, memory, 0, std::move(touches)};
    in_block_memory(op, request);
}

void Accesses::in_block_memory(const Op& op, Request& request) {
    check_block_memory(request);
    if (launch_.checks) {
        const auto cells = unwritten_.cells_of(request);
        Unwritten::Origins origins;
        if (request.verb != WRITE) origins = unwritten_.read(request, cells);
        if (request.memory == SHARED_MEMORY) {
            std::vector<u8> bytes;
            if (request.verb == WRITE) bytes = values(op, request);
            if (op.kind != PLAIN && races_.locks_held()) request.given = given(op, request);
            races_.access(request, stamps_of(SHARED_MEMORY), cells, bytes.data(),
                          unchanged(request, bytes));
        }
        if (request.memory == SHARED_MEMORY && geometry_.cluster > 1) of_others(op, request);
        if (request.verb == WRITE) unwritten_.store(op, request, cells);
        if (is_arrival(op))
            arrive(op, request);
        else
            move(op, request);
        if (waits_.wanted() && request.verb == READ) note_waits(op, request);
        unwritten_.note(op, request, origins);
        return;
    }
    move(op, request);
}

void Accesses::in_buffers(const Op& op, Verb verb, Touches touches, int word, int count) {
    const int width = word * count;
    check_buffers(touches, op.site, width, verb);
    const int first = buffer_of(touches[0].address, width);
    const Buffer& buffer = launch_.buffers[first];
    const bool in_one = std::all_of(touches.begin(), touches.end(), [&](const Touch& touch) {
        return touch.address >= buffer.base && touch.address < buffer.base + buffer.size;
    });
    if (in_one) {
        Request request{op.site, op.kind, verb, word, count, first, buffer.base, std::move(touches)};
        for (Touch& touch : request.touches) touch.address -= buffer.base;
        of_buffer(&op, request);
        move(op, request);
        return;
    }
    std::map<int, Touches> by_buffer;
    for (const Touch& touch : touches) by_buffer[buffer_of(touch.address, width)].push_back(touch);
    for (auto& [number, part] : by_buffer) {
        const i64 base = launch_.buffers[number].base;
        for (Touch& touch : part) touch.address -= base;
        Request request{op.site, op.kind, verb, word, count, number, base, std::move(part)};
        of_buffer(&op, request);
    }
    move_scattered(op, touches, width);
}

// `op` is null for a copy, which has no registers.
void Accesses::of_buffer(const Op* op, Request& request) {
    if (judged_.observed) observe(request);
    if (!launch_.checks) return;
    Buffer& buffer = launch_.buffers[request.memory];
    if (buffer.watched) {
        std::vector<u8> bytes;
        if (request.verb == WRITE) bytes = values(*op, request);
        if (op && op->kind != PLAIN && races_.locks_held()) request.given = given(*op, request);
        races_.access(request, stamps_of(request.memory), unwritten_.cells_of(request), bytes.data(),
                      unchanged(request, bytes));
    }
    if (op && request.verb == WRITE) unwritten_.use_stored(*op, request);
    Unwritten::Origins origins;
    if (op && buffer.filled && request.verb != WRITE) origins = unwritten_.read(request, buffer);
    if (op) unwritten_.note(*op, request, origins);
    if (buffer.filled && request.verb != READ)
        for (const Touch& touch : request.touches)
            std::memset(buffer.filled + touch.address, 1, request.width());
}

// --- bounds -------------------------------------------------------------------------------------

// If an address was computed from uninitialised data, this fault is reported first.
void Accesses::check_block_memory(const Request& request) {
    const bool shared = request.memory == SHARED_MEMORY;
    const i64 size = shared ? launch_.shared_bytes : launch_.local_bytes, width = request.width();
    const auto accuse = [&](What what, const Touch& touch) {
        uninitialised_.settle();
        throw Accusation{what, request.site, touch.lane,
                         {request.verb, width, touch.address, request.memory, size}};
    };
    for (const Touch& touch : request.touches)
        if (touch.address < 0 || touch.address > size - width) accuse(OUT_OF_BLOCK_MEMORY, touch);
    for (const Touch& touch : request.touches)
        if (touch.address & (width - 1)) accuse(MISALIGNED_IN_BLOCK_MEMORY, touch);
}

int Accesses::buffer_of(i64 address, int width) const {
    const i64 slot = (address >> SLOT_BITS) - 1;
    if (slot < 0 || slot >= launch_.buffer_count) return -1;
    const Buffer& buffer = launch_.buffers[slot];
    const i64 offset = address - buffer.base;
    return offset < 0 || offset > buffer.size - width ? -1 : static_cast<int>(slot);
}

void Accesses::check_buffers(const Touches& touches, i32 site, int width, Verb verb) {
    const auto accuse = [&](What what, const Touch& touch) {
        uninitialised_.settle();
        throw Accusation{what, site, touch.lane, {verb, width, touch.address}};
    };
    for (const Touch& touch : touches)
        if (buffer_of(touch.address, width) < 0) accuse(OUT_OF_BUFFERS, touch);
    for (const Touch& touch : touches)
        if (touch.address & (width - 1)) accuse(MISALIGNED_IN_BUFFER, touch);
    for (const Touch& touch : touches)
        if (verb != READ && !launch_.buffers[buffer_of(touch.address, width)].writable)
            accuse(WRITE_TO_READ_ONLY, touch);
}

// --- moving -------------------------------------------------------------------------------------

// Executes the machine's own operation for lanes of one warp.
void Accesses::handle(const Op& op, int warp, u32 lanes, int block) {
    blocks_.enter(warp, lanes);
    const bool elsewhere = block >= 0;
    const i64 first = op.space == SHARED ? 0 : SHARED_WINDOW;
    i64* const addresses = elsewhere ? blocks_.c.row<i64>(op.source[0]) : nullptr;
    i64 before[LANES];
    if (elsewhere) {  // addresses become those that a thread of that block would use
        blocks_.c.shared = blocks_.shared_of(block);
        std::memcpy(before, addresses, sizeof before);
        each_lane(lanes, [&](int i) {
            addresses[i] -= (addresses[i] + op.immediate - first) / WINDOW_BYTES * WINDOW_BYTES;
        });
    }
    const auto put_back = [&] {
        for (const i32 row : op.result)
            if (row == op.source[0]) return;
        if (elsewhere) each_lane(lanes, [&](int i) { addresses[i] = before[i]; });
    };
    try {
        entries()[op.handler].handler(blocks_.c, op);
        put_back();
    } catch (const Suspicion& found) {
        if (found.reason != NOBODY_TO_ARRIVE && found.reason != PHASE_ENDS) throw;
        throw Accusation{found.reason == PHASE_ENDS ? ARRIVAL_ENDS_PHASE : TOO_MANY_ARRIVALS, op.site,
                         geometry_.lane(warp, found.lane), {}};
    }
}

void Accesses::handle_uncounted(const Op& op, int warp, u32 lanes, int block) {
    const Counts counts = blocks_.c.counts;
    for (i64** kind : of_sites(blocks_.c.counts)) *kind = uncounted_.data();
    handle(op, warp, lanes, block);
    blocks_.c.counts = counts;
}

void Accesses::count_request(i32 site, const Touches& touches, int width) {
    Access access{};
    access.width = width;
    for (const Touch& touch : touches) {
        const int i = geometry_.place_of(touch.lane);
        access.active |= u32(1) << i;
        access.address[i] = touch.address;
    }
    survey(access);
    blocks_.c.counts.requests[site]++;
    blocks_.c.counts.sectors[site] += global_sectors(access);
}

// --- observation --------------------------------------------------------------------------------

void Accesses::observe(const Request& request) {
    const Observed& seen = judged_.observed[request.memory];
    const auto note = [&](i32* sites, i64 byte) {
        if (!sites[byte]) sites[byte] = request.site + 1;
    };
    if (request.verb != WRITE)
        for (const Touch& touch : request.touches)
            for (i64 byte = touch.address; byte < touch.address + request.width(); byte++) {
                note(seen.read, byte);
                if (!seen.written[byte]) note(seen.read_before_write, byte);
            }
    if (request.verb != READ)
        for (const Touch& touch : request.touches)
            for (i64 byte = touch.address; byte < touch.address + request.width(); byte++)
                note(seen.written, byte);
}

}  // namespace machine
