#include "unwritten.h"

namespace machine {
namespace {

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
}

// Words of shared memory are counted on from block to block, those of local memory from thread to
// thread.
std::vector<i64> Unwritten::cells_of(const Request& request) const {
    const bool shared = request.memory == SHARED_MEMORY, local = request.memory == LOCAL_MEMORY;
    const int grain = shared ? launch_.shared_grain : local ? launch_.local_grain : launch_.global_grain;
    const i64 own = shared ? shared_words_ : local ? local_words_ : 0;
    std::vector<i64> cells;
    cells.reserve(request.touches.size());
    for (const Touch& touch : request.touches) {
        const i64 row = shared ? geometry_.block_of(touch.lane) : touch.lane;
        cells.push_back(row * own + touch.address / grain);
    }
    return cells;
}

Unwritten::Memory Unwritten::memory_of(const Request& request) const {
    if (request.memory == SHARED_MEMORY) return {shared_cells_.get(), launch_.shared_grain};
    return {local_cells_.get(), launch_.local_grain};
}

// --- reading ------------------------------------------------------------------------------------

// An id for each word read: 0 where it was written, the one that the cell has (`known`), or a new one.
template <class IsWritten, class Known>
Unwritten::Ids Unwritten::read_words(const Request& request, IsWritten is_written, Known known) {
    const size_t touches = request.touches.size();
    Ids ids;
    for (int word = 0; word < request.count; word++) {
        u32 read = 0;
        bool begun = false;
        for (size_t n = 0; n < touches; n++) {
            if (is_written(n, word)) continue;
            if (ids.empty()) ids.resize(touches * request.count);
            Id& id = ids[n * request.count + word];
            id = known(n, word);
            if (id) continue;
            if (!begun)
                read = uninitialised_.begin(NEVER_WRITTEN, request.site,
                                            {request.word, request.memory});
            begun = true;
            id = uninitialised_.add(read, request.touches[n].lane,
                                    request.touches[n].address + word * request.word);
            if (is_written(n, 0)) id |= PADDING;
        }
    }
    return ids;
}

Unwritten::Ids Unwritten::read(const Request& request, const std::vector<i64>& cells) {
    const Memory memory = memory_of(request);
    const int each = std::max(1, request.word / memory.grain);
    const auto first = [&](size_t n, int word) {
        return memory.cells + cells[n] + static_cast<i64>(word) * each;
    };
    const auto is_written = [&](size_t n, int word) {
        const Id* cell = first(n, word);
        return std::any_of(cell, cell + each, [](Id id) { return id == WRITTEN; });
    };
    return read_words(request, is_written, [&](size_t n, int word) { return *first(n, word); });
}

Unwritten::Ids Unwritten::read(const Request& request, const Buffer& buffer) {
    const auto is_written = [&](size_t n, int word) {
        const u8* at = buffer.filled + request.touches[n].address + word * request.word;
        return std::any_of(at, at + request.word, [](u8 byte) { return byte != 0; });
    };
    return read_words(request, is_written, [](size_t, int) { return Id{0}; });
}

void Unwritten::note(const Op& op, const Request& request, const Ids& ids) {
    if (request.verb == WRITE) return;
    for (size_t n = 0; n < request.touches.size(); n++) {
        const Touch& touch = request.touches[n];
        const int i = geometry_.place_of(touch.lane);
        if (request.verb == UPDATE) {
            if (!ids.empty()) uninitialised_.use(ids[n], touch.lane, op.site);
            continue;
        }
        if (ids.empty() && !uninitialised_.concerns(touch.warp)) continue;
        for (int word = 0; word < request.count; word++)
            uninitialised_.put(touch.warp, op.result[word], i,
                               ids.empty() ? 0 : ids[n * request.count + word]);
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
            const Id id = uninitialised_.of(touch.warp, op.source[word + 1],
                                            geometry_.place_of(touch.lane));
            if (id) std::fill_n(memory.cells + cells[n] + static_cast<i64>(word) * each, each, id);
        }
}

// But for padding behind what is written.
void Unwritten::use_stored(const Op& op, const Request& request) {
    for (int word = 0; word < request.count; word++)
        for (const Touch& touch : request.touches) {
            const int i = geometry_.place_of(touch.lane);
            const Id id = uninitialised_.of(touch.warp, op.source[word + 1], i);
            if (word && id & PADDING && !uninitialised_.of(touch.warp, op.source[1], i)) continue;
            uninitialised_.use(id, touch.lane, op.site);
        }
}

}  // namespace machine
