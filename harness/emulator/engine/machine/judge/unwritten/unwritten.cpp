#include "unwritten.h"

namespace machine {
namespace {

// The bits of a word with this many bytes. In a word of more than 8 bytes, all bits count as one.
u64 bits_of(int bytes) { return bytes < 8 ? (u64(1) << 8 * bytes) - 1 : ALL_BITS; }

size_t words(i64 bytes, int grain) { return static_cast<size_t>((bytes + grain - 1) / grain); }

}  // namespace

Unwritten::Unwritten(const Launch& launch, const Judged& judged, const Geometry& geometry,
                     Uninitialised& uninitialised)
    : launch_(launch), judged_(judged), geometry_(geometry), uninitialised_(uninitialised),
      shared_words_(words(launch.shared_bytes, launch.shared_grain)),
      local_words_(words(launch.local_bytes, launch.local_grain)) {}

void Unwritten::start() {
    shared_cells_ = zeros<Id>(shared_words_ * geometry_.blocks);
    for (int block = 0; block < geometry_.blocks; block++)
        std::fill_n(shared_cells_.get() + shared_words_ * block + judged_.zeroed_at / launch_.shared_grain,
                    judged_.zeroed_bytes / launch_.shared_grain, WRITTEN);
    local_cells_ = zeros<Id>(local_words_ * geometry_.all_lanes());
    in_part_.clear();
}

// Words of shared memory are numbered consecutively from block to block, those of local memory from thread
// to thread.
std::vector<i64> Unwritten::cells_of(const Request& request) const {
    const bool shared = request.memory == SHARED_MEMORY, local = request.memory == LOCAL_MEMORY;
    const int grain = shared ? launch_.shared_grain : local ? launch_.local_grain : launch_.global_grain;
    const i64 own = shared ? shared_words_ : local ? local_words_ : 0;
    std::vector<i64> cells;
    cells.reserve(request.touches.size());
    for (const Touch& touch : request.touches) {
        const i64 row = shared ? home_of(geometry_, touch) : touch.lane;
        cells.push_back(row * own + touch.address / grain);
    }
    return cells;
}

Unwritten::Memory Unwritten::memory_of(const Request& request) const {
    if (request.memory == SHARED_MEMORY) return {shared_cells_.get(), launch_.shared_grain};
    return {local_cells_.get(), launch_.local_grain};
}

// --- reading ------------------------------------------------------------------------------------

// The origins of the uninitialised bits of each word read; `unwritten` says which bits these are.
// Their value already has an id (`known`), or gets one here. A word of more than 8 bytes, which
// only copies have, counts as written if any part of it is.
template <class Bits, class Known>
Unwritten::Origins Unwritten::read_words(const Request& request, Bits unwritten, Known known) {
    const size_t touches = request.touches.size();
    const u64 all = bits_of(request.word);
    Origins origins;
    for (int word = 0; word < request.count; word++) {
        u32 read = 0;
        bool begun = false;
        for (size_t n = 0; n < touches; n++) {
            const u64 bits = unwritten(n, word);
            if (!bits) continue;
            if (origins.empty()) origins.resize(touches * request.count);
            Origin& origin = origins[n * request.count + word];
            origin = {known(n, word), {bits, bits == all}};
            if (origin) continue;
            if (!begun)
                read = uninitialised_.begin(NEVER_WRITTEN, request.site,
                                            {request.word, request.memory});
            begun = true;
            origin.id = uninitialised_.add(read, request.touches[n].lane,
                                           request.touches[n].address + word * request.word);
            origin.id |= AS_READ;
        }
    }
    return origins;
}

bool Unwritten::all_written(const Request& request, const std::vector<i64>& cells) const {
    const Memory memory = memory_of(request);
    const int words = request.count * std::max(1, request.word / memory.grain);
    return std::all_of(cells.begin(), cells.end(), [&](i64 cell) {
        const Id* const first = memory.cells + cell;
        return std::all_of(first, first + words, [](Id id) { return id == WRITTEN; });
    });
}

Unwritten::Origins Unwritten::read(const Request& request, const std::vector<i64>& cells) {
    if (all_written(request, cells)) return {};
    const Memory memory = memory_of(request);
    const int each = std::max(1, request.word / memory.grain);
    const auto first = [&](size_t n, int word) {
        return memory.cells + cells[n] + static_cast<i64>(word) * each;
    };
    const auto unwritten = [&](size_t n, int word) {
        return unwritten_bits(first(n, word), each, std::min(memory.grain, request.word));
    };
    return read_words(request, unwritten, [&](size_t n, int word) {
        const Id* cell = first(n, word);
        return *std::find_if(cell, cell + each, [](Id id) { return id != WRITTEN; }) & ~IN_PART;
    });
}

u64 Unwritten::unwritten_bits(const Id* first, int cells, int cell_bytes) const {
    if (cells * cell_bytes > 8)
        return std::all_of(first, first + cells, [](Id id) { return id == 0 || !(id & IN_PART); }) ? ALL_BITS : 0;
    u64 bits = 0;
    for (int k = 0; k < cells; k++) {
        if (first[k] == WRITTEN) continue;
        const bool in_part = first[k] & IN_PART;
        bits |= (in_part ? in_part_.at(first + k) : bits_of(cell_bytes)) << 8 * k * cell_bytes;
    }
    return bits;
}

Unwritten::Origins Unwritten::read(const Request& request, const Buffer& buffer) {
    const auto unwritten = [&](size_t n, int word) {
        const u8* at = buffer.filled + request.touches[n].address + word * request.word;
        if (request.word > 8) return std::all_of(at, at + request.word, [](u8 filled) { return !filled; }) ? ALL_BITS : 0;
        u64 bits = 0;
        for (int k = 0; k < request.word; k++)
            if (!at[k]) bits |= u64(0xFF) << 8 * k;
        return bits;
    };
    return read_words(request, unwritten, [](size_t, int) { return Id{0}; });
}

// An atomic on a word that is written in part may concern only that part, like a compare-and-swap
// that implements one on two bytes.
void Unwritten::note(const Op& op, const Request& request, const Origins& origins) {
    if (request.verb == WRITE) return;
    for (size_t n = 0; n < request.touches.size(); n++) {
        const Touch& touch = request.touches[n];
        const int i = geometry_.place_of(touch.lane);
        if (request.verb == UPDATE) {
            if (!origins.empty() && origins[n].whole())
                uninitialised_.use(origins[n].id, touch.lane, op.site);
            continue;
        }
        if (origins.empty() && !uninitialised_.holds(touch.warp)) continue;
        for (int word = 0; word < request.count; word++)
            uninitialised_.put(touch.warp, op.result[word], i,
                               origins.empty() ? Origin{} : origins[n * request.count + word]);
    }
}

// --- writing ------------------------------------------------------------------------------------

void Unwritten::write(const Request& request, const std::vector<i64>& cells) {
    const Memory memory = memory_of(request);
    const int all = std::max(1, request.width() / memory.grain);
    for (const i64 cell : cells) std::fill_n(memory.cells + cell, all, WRITTEN);
}

void Unwritten::store(const Op& op, const Request& request, const std::vector<i64>& cells) {
    write(request, cells);
    const Memory memory = memory_of(request);
    const int each = std::max(1, request.word / memory.grain);
    for (int word = 0; word < request.count; word++)
        for (size_t n = 0; n < cells.size(); n++) {
            const Touch& touch = request.touches[n];
            const Origin origin = uninitialised_.of(touch.warp, op.source[word + 1],
                                                    geometry_.place_of(touch.lane));
            Id* const cell = memory.cells + cells[n] + static_cast<i64>(word) * each;
            const u64 all = bits_of(std::min(memory.grain, request.word));
            for (int k = 0; origin && k < each; k++) {
                const u64 bits = origin.whole() ? all : origin.unset.bits >> 8 * k * memory.grain & all;
                if (!bits) continue;
                if (bits != all) in_part_[cell + k] = bits;
                cell[k] = origin.id | (bits == all ? 0 : IN_PART);
            }
        }
}

// Except for the rest of a word that is written in part, and possibly for values stored as they were read.
void Unwritten::use_stored(const Op& op, const Request& request) {
    for (int word = 0; word < request.count; word++)
        for (const Touch& touch : request.touches) {
            if (!uninitialised_.concerns(touch.warp)) continue;
            const int i = geometry_.place_of(touch.lane);
            const Origin origin = uninitialised_.of(touch.warp, op.source[word + 1], i);
            const Id id = origin.whole() ? origin.id : 0;
            if (id && !(id & AS_READ))
                uninitialised_.use(id, touch.lane, op.site);
            else
                uninitialised_.store({touch.lane, request.memory, touch.address + word * request.word,
                                      request.word, id, op.site});
        }
}

}  // namespace machine
