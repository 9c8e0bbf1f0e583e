// Products of a warpgroup: which words they read in shared memory, and until when.

#include "judge/accesses.h"

#include "memory/tensors/matrix_descriptor.h"

namespace machine {

void Accesses::read_factor(const Op& op, const Selection& lanes) {
    uninitialised_.use_row(lanes, op.source[0], op.site);
    Request request{op.site, PLAIN, READ, static_cast<int>(Descriptor::UNIT), 1, SHARED_MEMORY, 0, {}};
    i64 width = 0;  // the same in all lanes
    for (const auto& [w, here] : lanes) {
        if (here != EVERYBODY)
            throw Accusation{NOT_WHOLE_WARP, op.site, geometry_.lane(w, __builtin_ctz(here)), {}};
        const u8* const registers = blocks_.warps[w].registers;
        for (u32 i = 0; i < LANES; i++) {
            const Descriptor matrix(reinterpret_cast<const u64*>(registers + op.source[0])[i]);
            const u32 first = reinterpret_cast<const u32*>(registers + op.source[1])[i];
            if (matrix.has_half(op.immediate & 0xFF, op.immediate >> 8))
                throw Accusation{HALF_OF_ROWS, op.site, geometry_.lane(w, 0), {}};
            width = matrix.width;
            matrix.each_unit(op.immediate & 0xFF, i, first, static_cast<u32>(op.count), op.immediate >> 8,
                             [&, warp = w](u32 address) {
                request.touches.push_back({address, warp, geometry_.lane(warp, static_cast<int>(i))});
            });
        }
    }
    check_block_memory(request);
    if (!launch_.checks) return;
    const auto cells = unwritten_.cells_of(request);
    Stamps& stamps = stamps_of(SHARED_MEMORY);
    races_.access(request, stamps, cells, nullptr, {});
    races_.proxies.look(request, stamps, cells, races_.log, geometry_,
                        [&](int other, i64 when, int lane) { return races_.knows(lane, other, when); });
    races_.swizzles.look(request, stamps, cells, width, races_.log);
    const bool unwritten = !unwritten_.all_written(request, cells);
    const i64 words = std::max<i64>(1, request.width() / stamps.grain);
    for (size_t n = 0; n < cells.size();) {
        const int w = request.touches[n].warp;
        Products& own = products_[w];
        Product product{op.site, own.committed, races_.flights.begin(op.site, request.touches[n].lane), {}};
        for (; n < cells.size() && request.touches[n].warp == w; n++)
            product.from.push_back({stamps.being_read.get(), cells[n], words});
        races_.flights.put(product.from, product.number, false);
        own.unwritten = unwritten;
        own.reading.push_back(std::move(product));
    }
}

// If an operand has uninitialised words, each lane's own words are checked one by one.
void Accesses::take_words(const Op& op, const Selection& lanes) {
    for (const Party& party : lanes) {
        handle(op, party.warp, party.lanes);
        if (!launch_.checks) continue;
        const u8* const registers = blocks_.warps[party.warp].registers;
        const u32 turned = op.immediate & 0xFF, turns = op.immediate >> 8;
        for (int n = 0; n < op.count; n++) {
            uninitialised_.forget(party.warp, op.result[n], party.lanes);
            if (op.result[n] < 0 || !products_[party.warp].unwritten) continue;
            Op one = op;
            one.result[0] = op.result[n];
            Request request{op.site, PLAIN, READ, 2, 1, SHARED_MEMORY, 0, {}}, other = request;
            for (u32 i = 0; i < LANES; i++) {
                const Descriptor matrix(reinterpret_cast<const u64*>(registers + op.source[0])[i]);
                const u32 row = reinterpret_cast<const u32*>(registers + op.source[1])[i] + op.width;
                const auto [low, high] = matrix.word_of_lane(turned, i, row, n, turns);
                const int lane = geometry_.lane(party.warp, static_cast<int>(i));
                request.touches.push_back({low, party.warp, lane});
                other.touches.push_back({high, party.warp, lane});
            }
            Unwritten::Origins origins = unwritten_.read(request, unwritten_.cells_of(request));
            if (origins.empty()) origins = unwritten_.read(other, unwritten_.cells_of(other));
            unwritten_.note(one, request, origins);
        }
    }
}

void Accesses::commit_products(const Selection& lanes) {
    for (const Party& party : lanes) products_[party.warp].committed++;
}

// All but the newest groups have been read. Threads that synchronise with the warp later know this,
// too.
void Accesses::wait_for_products(const Op& op, const Selection& lanes) {
    for (const Party& party : lanes) {
        Products& own = products_[party.warp];
        const auto is_done = [&](const Product& each) {
            if (each.group >= own.committed - op.count) return false;
            races_.land(each.site, races_.flights[each.number].lane, each.number, {}, nullptr, each.from,
                        &stamps_of(SHARED_MEMORY));
            return true;
        };
        auto& reading = own.reading;
        reading.erase(std::remove_if(reading.begin(), reading.end(), is_done), reading.end());
    }
}

}  // namespace machine
