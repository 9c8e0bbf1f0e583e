// Copies of a box between a tensor in global memory and shared memory, described by a tensor map.
//
// Each is a bulk copy, with a list of units in either memory, and flights say when it is done. The part of the
// box outside the tensor is filled in shared memory, and not written in global memory.

#include "judge/accesses.h"
#include "judge/asynchronous/stores_of_lanes.h"

#include "memory/tensors/bulk_sectors.h"

namespace machine {

// The tensor map of a copy. Its contents are checked, as a kernel may have changed them.
TensorMap Accesses::tensor_map(const Op& op, i64 where, int warp, int lane) {
    Request request{op.site, PLAIN, READ, TensorMap::ATOM, 1, 0, 0, {}};
    check_buffers({{where, warp, lane}, {where + TensorMap::OWN_ALIGNMENT, warp, lane}}, op.site,
                  TensorMap::OWN_ALIGNMENT, READ);
    for (i64 at = 0; at < TensorMap::BYTES; at += TensorMap::ATOM)
        request.touches.push_back({where + at, warp, lane});
    request.memory = buffer_of(where, TensorMap::BYTES);
    if (request.memory < 0) throw Accusation{OUT_OF_BUFFERS, op.site, lane, {READ, TensorMap::BYTES, where}};
    Buffer& buffer = launch_.buffers[request.memory];
    request.base = buffer.base;
    for (Touch& touch : request.touches) touch.address -= buffer.base;
    of_buffer(nullptr, request);
    const TensorMap map = TensorMap::at(buffer.data + (where - buffer.base));
    if (map.flaw()) throw Accusation{NOT_A_TENSOR_MAP, op.site, lane, {where, map.flaw()}};
    if (map.dimensions() != op.width || map.im2col != op.count)
        throw Accusation{OTHER_TENSOR_MAP, op.site, lane,
                         {map.dimensions(), map.im2col, op.width, op.count}};
    return map;
}

// The blocks whose shared memory a copy goes to: the thread's own, or those that a mask, the operand of the given
// number, names by rank.
std::vector<int> Accesses::targets_of(const Op& op, int masks, int warp, int i) const {
    const int lane = geometry_.lane(warp, i), own = geometry_.block_of(lane);
    if (op.immediate != IN_MANY_BLOCKS) return {own};
    const u8* const row = blocks_.warps[warp].registers + op.source[masks];
    const u32 mask = reinterpret_cast<const u32*>(row)[i] & 0xFFFF;
    std::vector<int> out;
    for (int rank = 0; rank < MOST_RANKS; rank++) {
        if (!(mask >> rank & 1)) continue;
        out.push_back(geometry_.in_window(own, rank + 1));
        if (out.back() < 0) throw Accusation{NO_SUCH_BLOCK, op.site, lane, {rank, geometry_.cluster}};
    }
    return out;
}

// Operands: the address in shared memory, the map, coordinates, im2col's offsets, the mbarrier, and a mask of
// blocks. The address and the mbarrier apply in each block that receives the box. The result is the number of
// bytes reported to the mbarrier.
void Accesses::copy_tensor(const Op& op, const Selection& lanes) {
    const bool to_shared = op.immediate, to_many = op.immediate == IN_MANY_BLOCKS;
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site);
    StoresOfLanes stores;
    each_of(lanes, [&](int w, int i) {
        const u8* registers = blocks_.warps[w].registers;
        const auto address = [&](int n) { return reinterpret_cast<const i64*>(registers + op.source[n])[i]; };
        i32 at[TensorMap::MOST_RANK] = {}, offsets[3] = {};
        for (int n = 0; n < op.width; n++) at[n] = reinterpret_cast<const i32*>(registers + op.source[2 + n])[i];
        for (int n = 0; n < op.kind; n++)
            offsets[n] = reinterpret_cast<const i32*>(registers + op.source[2 + op.width + n])[i] & 0xFFFF;
        const int lane = geometry_.lane(w, i);
        const TensorMap map = tensor_map(op, address(1), w, lane);
        if (const auto fault = map.place(at, !to_shared))
            throw Accusation{NO_SUCH_BOX, op.site, lane, {fault, at[0], at[1], at[2], at[3], at[4], map.rank}};
        for (int n = 0; n < op.kind; n++)
            if (offsets[n] >> map.offset_bits())
                throw Accusation{NO_SUCH_BOX, op.site, lane,
                                 {TensorMap::OFFSET_TOO_LARGE, offsets[0], offsets[1], offsets[2], 0, 0, op.kind}};
        const bool reduces = std::strncmp(entries()[op.handler].name, "reduce", 6) == 0;
        if (!to_shared && !reduces && stores.repeated(w, {address(0), address(1), at[0], at[1], at[2], at[3], at[4]}))
            return;
        // The reduction's name follows `reduce_tensor.`, as in `reduce_tensor.add`.
        const BulkReduction* const reduction =
            reduces ? reduction_of_elements(map, entries()[op.handler].name + 14) : nullptr;
        if (reduces && !reduction) throw Accusation{NO_REDUCTION_OF_TYPE, op.site, lane, {map.element}};
        const int unit = unit_of_rows(map, at[0]);
        const std::vector<BoxRow> rows = rows_of(map, at, offsets);
        Request outside{op.site, PLAIN, to_shared ? READ : WRITE, unit, 1, 0, 0, {}};
        Request inside{op.site, PLAIN, to_shared ? WRITE : READ, to_shared ? TensorMap::ATOM : unit, 1,
                       SHARED_MEMORY, 0, {}};
        if (reduction) outside.verb = UPDATE, outside.kind = ATOMIC;
        const i64 base = static_cast<i64>(map.address);
        // A copy to one block may go to another block of the cluster, in whose window its addresses then are.
        const auto in_block = [&](int n) { return to_many ? address(n) % WINDOW_BYTES : address(n); };
        Touch target{in_block(0), w, lane}, mbarrier{to_shared ? in_block(2 + op.width + op.kind) : 0, w, lane};
        if (to_shared && !to_many) {
            into_window(op.site, target);
            mbarrier = mbarrier_of(op.site, mbarrier.address, target);
        }
        const i64 first_place = target.address;
        i64 place_of_row = first_place;
        check_box(op, map, place_of_row, inside.verb, lane);
        for (const BoxRow& row : rows) {
            for (i64 n = row.low; n < row.high; n += unit) {
                outside.touches.push_back({base + row.from + n, w, lane});
                if (!to_shared) inside.touches.push_back({map.swizzled(place_of_row + n), w, lane});
            }
            for (i64 n = 0; to_shared && n < map.row_bytes(); n += TensorMap::ATOM)
                inside.touches.push_back({map.swizzled(place_of_row + n), w, lane});
            place_of_row += map.row_pitch();
        }
        in_one_buffer(outside, map.address);
        std::vector<u8> bytes(to_shared ? map.bytes() : outside.touches.size() * unit);
        if (to_shared) {
            fill_outside(map, bytes);
            const u8* const data = outside.touches.empty() ? nullptr : launch_.buffers[outside.memory].data;
            gather_rows(map, rows, data ? data + (base - outside.base) : nullptr, bytes);
        } else {
            for (size_t n = 0; n < inside.touches.size(); n++)
                std::memcpy(bytes.data() + n * unit, place(inside, inside.touches[n]), unit);
        }
        const Request &from = to_shared ? outside : inside, &to = to_shared ? inside : outside;
        const std::vector<int> targets = targets_of(op, 3 + op.width + op.kind, w, i);
        count_bulk(blocks_.c.counts, op.site, runs_of(map, rows, first_place),
                   {to_shared, to_many ? static_cast<int>(targets.size()) : 0});
        for (const int each : targets) {
            const int block = to_many ? each : target.block;
            for (Touch& touch : inside.touches) touch.block = block;
            if (to_many) mbarrier.block = block;
            if (to.touches.empty()) break;
            bulk(op.site, from, to, bytes, reduction);
            if (!launch_.checks) continue;
            if (!to_shared) {
                join_group(op.site, from, to);
                continue;
            }
            races_.swizzles.filled(races_.log, map.swizzle_bytes());
            if (geometry_.cluster > 1) of_others(op, inside);
            report_to_mbarrier(op.site, mbarrier, from, to);
        }
        if (op.result[0] >= 0) {
            u32* const result = reinterpret_cast<u32*>(blocks_.warps[w].registers + op.result[0]);
            result[i] = static_cast<u32>(map.bytes());
            uninitialised_.put(w, op.result[0], i, {});
        }
    });
}

// Checks the address of a box in shared memory.
void Accesses::check_box(const Op& op, const TensorMap& map, i64 where, Verb verb, int lane) {
    const i64 size = launch_.shared_bytes, width = map.room();
    if (where % TensorMap::ALIGNMENT)
        throw Accusation{MISALIGNED_IN_BLOCK_MEMORY, op.site, lane,
                         {verb, TensorMap::ALIGNMENT, where, SHARED_MEMORY, size}};
    if (where < 0 || where > size - width)
        throw Accusation{OUT_OF_BLOCK_MEMORY, op.site, lane, {verb, width, where, SHARED_MEMORY, size}};
}

// The part of a box inside the tensor must be inside the tensor's buffer.
void Accesses::in_one_buffer(Request& request, i64 address) {
    const int width = request.width();
    if (request.touches.empty()) return;
    check_buffers(request.touches, request.site, width, request.verb);
    request.memory = buffer_of(address, 1);
    for (const Touch& touch : request.touches)
        if (buffer_of(touch.address, width) != request.memory)
            throw Accusation{OUT_OF_BUFFERS, request.site, touch.lane, {request.verb, width, touch.address}};
    request.base = launch_.buffers[request.memory].base;
    for (Touch& touch : request.touches) touch.address -= request.base;
}

}  // namespace machine
