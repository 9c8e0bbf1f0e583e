// Copies by the bulk copy unit: contiguous bytes (UBLKCP, UBLKRED), boxes described by a tensor map (UTMALDG, UTMASTG,
// UTMAREDG), and stores and reductions that signal an mbarrier (STAS, REDAS).
//
// Bytes move when a copy is issued, as for PTX. Operands in brackets are consecutive uniform registers: for shared
// memory, its address, then that of the mbarrier if there is one, then coordinates; for global memory or a map, an
// address of two words. The last operand has 16 bits for the size in units of 16 bytes, or for im2col's offsets, and
// above them the mask of the cluster's blocks that a copy goes to.

#include <algorithm>

#include "mbarriers.h"
#include "memory/tensors/bulk_sectors.h"
#include "memory/tensors/tensor_box.h"

namespace sass {
namespace {

using machine::TensorMap;

constexpr i64 UNIT = 16;
enum : i32 { OPERATION_SHIFT = 8, TYPE_SHIFT = 11, DIMENSIONS = 7 };

// --- operands -----------------------------------------------------------------------------------

u32 word_of(const Context& c, const Instruction& n, int source, int number = 0) {
    const Source& s = n.source[source];
    return s.constant ? c.constants[s.row] : c.rows[s.row + LANES * number];
}

i64 address_of(const Context& c, const Instruction& n, int source) {
    return static_cast<i64>(u64(word_of(c, n, source, 1)) << 32 | word_of(c, n, source));
}

int lane_of(const Context& c) { return __builtin_ctz(c.active); }

std::string operation_of(const Instruction& n) {
    static const char* const OPERATIONS[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
    return OPERATIONS[n.flags >> OPERATION_SHIFT & 7];
}

const machine::BulkReduction* reduction_of(const Instruction& n) {
    static const char* const TYPES[] = {"u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64"};
    if (!(n.flags & REDUCTION)) return nullptr;
    const std::string operation = operation_of(n);
    int type = n.flags >> TYPE_SHIFT & 7;
    const bool by_order = operation == "min" || operation == "max";
    if (!by_order && type < 4) type &= ~1;  // the same bits with and without sign
    return machine::reduction_named("reduce_bulk." + operation + "/" + TYPES[type]);
}

// --- the two memories ---------------------------------------------------------------------------

u8* in_global_memory(const Context& c, i64 address, i64 size, Verb verb) {
    const Buffer* const buffer = buffer_at(c, address);
    if (!buffer || address + size > buffer->base + buffer->size) throw Fault{OUTSIDE, lane_of(c), address};
    if (verb != READ && !buffer->writable) throw Fault{READ_ONLY, lane_of(c), address};
    return buffer->data + (address - buffer->base);
}

// The first byte of a block's shared memory. Checks that the bytes to be accessed are within it.
u8* in_shared_memory(const Context& c, Block& block, i64 at, i64 size) {
    if (at < c.launch->shared_start || at + size > static_cast<i64>(block.shared.size()))
        throw Fault{OUTSIDE, lane_of(c), own_window(block) + at};
    return block.shared.data();
}

void aligned_to(const Context& c, i64 address, i64 unit) {
    if (address % unit) throw Fault{MISALIGNED, lane_of(c), address};
}

// The blocks that a copy goes to: the one that an address belongs to, or those that a mask names by rank.
std::vector<Block*> targets_of(const Context& c, const Instruction& n, i64 address, u32 mask, i64 size) {
    if (!(n.flags & TO_MANY)) return {&block_at(c, address, lane_of(c), machine::WRITE, size)};
    std::vector<Block*> out;
    for (i64 rank = 0; rank < 16; rank++) {
        if (!(mask >> rank & 1)) continue;
        const i64 there = rank << RANK_SHIFT | in_window(address);
        out.push_back(&block_at(c, there, lane_of(c), machine::WRITE, size));
    }
    return out;
}

// Reports bytes to the mbarrier at the given address; if the copy goes to many blocks, at that address in the block
// that received them.
void tell_of_bytes(Context& c, const Instruction& n, i64 address, const Block& target, i64 size) {
    const i64 there = n.flags & TO_MANY ? own_window(target) | in_window(address) : address;
    tell(c, mbarrier_at(c, there, lane_of(c), true), lane_of(c), 0, -size, false);
}

// The mbarrier that a copy reports to, which must be in the block that the copy goes to.
Judge::Told told_of(const Context& c, const Instruction& n, i64 address, const Block& target) {
    const i64 there = n.flags & TO_MANY ? own_window(target) | in_window(address) : address;
    const MbarrierPlace place = mbarrier_at(c, there, lane_of(c), true);
    if (place.block != &target) {
        const auto in_grid = [&](const Block& block) {
            return machine::BlockPlace(*c.launch, static_cast<u64>(block.first + block.rank)).in_grid(*c.launch);
        };
        throw machine::Accusation{machine::MBARRIER_ELSEWHERE, c.at, thread_of(c, lane_of(c)),
                                  {in_grid(target), in_grid(*place.block)}};
    }
    return {place.block, place.at};
}

// How many blocks receive a multicast; 0 for any other copy.
int receivers(const Instruction& n, u32 last) { return n.flags & TO_MANY ? __builtin_popcount(last >> 16) : 0; }

// --- bytes in a row -----------------------------------------------------------------------------

void copy_bulk(Context& c, const Instruction& n) {
    const u32 last = word_of(c, n, 2);
    const i64 size = (last & 0xFFFF) * UNIT;
    const bool from_shared = n.flags & FROM_SHARED, to_shared = n.flags & TO_SHARED;
    const i64 from = from_shared ? word_of(c, n, 1) : address_of(c, n, 1);
    const i64 to = to_shared ? word_of(c, n, 0) : address_of(c, n, 0);
    aligned_to(c, from, UNIT);
    aligned_to(c, to, UNIT);
    const bool is_sent = from_shared && to_shared, stays = is_sent && to >> RANK_SHIFT == c.block->rank;
    machine::count_bulk(c.counts, c.at, {{in_window(from_shared ? from : to), size, from_shared ? to : from, 0, size}},
                        {!from_shared, receivers(n, last), is_sent, stays, (n.flags & REDUCTION) != 0});
    if (!size) return;
    std::vector<u8> bytes(size);
    const auto side = [&](const Block* home, i64 at, u8* place) {
        Judge::Side out{home, UNIT, {}, {}};
        for (i64 n = 0; n < size; n += UNIT) out.at.push_back(at + n), out.places.push_back(place + n);
        return out;
    };
    u8* given;
    if (from_shared) {
        if (from >> RANK_SHIFT != c.block->rank) throw Fault{ANOTHER_BLOCK, lane_of(c), from};
        given = in_shared_memory(c, *c.block, in_window(from), size) + in_window(from);
    } else {
        given = in_global_memory(c, from, size, READ);
    }
    std::memcpy(bytes.data(), given, size);
    const Judge::Side source = side(from_shared ? c.block : nullptr, from_shared ? in_window(from) : from, given);
    const machine::BulkReduction* const reduction = reduction_of(n);
    const auto put = [&](u8* place) {
        if (reduction)
            reduction->apply(place, bytes.data(), static_cast<int>(size));
        else
            std::memcpy(place, bytes.data(), size);
    };
    if (!to_shared) {
        u8* const place = in_global_memory(c, to, size, UPDATE);
        if (c.judge)
            c.judge->bulk(c, lane_of(c), source, side(nullptr, to, place), bytes.data(), reduction, nullptr);
        return put(place);
    }
    for (Block* const block : targets_of(c, n, to, last >> 16, size)) {
        u8* const place = in_shared_memory(c, *block, in_window(to), size) + in_window(to);
        const Judge::Told told = told_of(c, n, word_of(c, n, 0, 1), *block);
        if (c.judge)
            c.judge->bulk(c, lane_of(c), source, side(block, in_window(to), place), bytes.data(), reduction, &told);
        put(place);
        tell_of_bytes(c, n, word_of(c, n, 0, 1), *block, size);
    }
}

// --- boxes --------------------------------------------------------------------------------------

TensorMap map_of(const Context& c, const Instruction& n) {
    const i64 where = address_of(c, n, 1);
    aligned_to(c, where, TensorMap::OWN_ALIGNMENT);
    const u8* const bytes = in_global_memory(c, where, TensorMap::BYTES, READ);
    const TensorMap map = TensorMap::at(bytes);
    const auto accuse = [&](machine::What what, std::vector<i64> details) {
        throw machine::Accusation{what, c.at, thread_of(c, lane_of(c)), std::move(details)};
    };
    if (map.flaw()) accuse(machine::NOT_A_TENSOR_MAP, {where, map.flaw()});
    const int dimensions = n.flags & DIMENSIONS, im2col = (n.flags & BY_PIXELS) != 0;
    if (map.dimensions() != dimensions || map.im2col != im2col)
        accuse(machine::OTHER_TENSOR_MAP, {map.dimensions(), map.im2col, dimensions, im2col});
    return map;
}

struct Box {
    TensorMap map;
    std::vector<machine::BoxRow> rows;
    const Buffer* buffer;
    u8* tensor;  // its first byte
    i32 first;   // its first coordinate
};

// first: the operand's word at which coordinates begin. offsets: im2col's offsets, packed with equal numbers of bits.
Box box_of(const Context& c, const Instruction& n, int first, u32 offsets, Verb verb) {
    Box box{map_of(c, n), {}, nullptr, nullptr, 0};
    const TensorMap& map = box.map;
    i32 at[TensorMap::MOST_RANK] = {}, apart[3] = {};
    for (int d = 0; d < map.dimensions(); d++) at[d] = static_cast<i32>(word_of(c, n, 0, first + d));
    if (const auto fault = map.place(at, verb != READ))
        throw machine::Accusation{machine::NO_SUCH_BOX, c.at, thread_of(c, lane_of(c)),
                                  {fault, at[0], at[1], at[2], at[3], at[4], map.rank}};
    box.first = at[0];
    const int count = map.dimensions() - 2, bits = map.offset_bits();
    for (int k = 0; k < count; k++) apart[k] = static_cast<i32>(offsets >> k * bits & ((1u << bits) - 1));
    box.rows = machine::rows_of(map, at, apart);
    const i64 base = static_cast<i64>(map.address);
    box.buffer = buffer_at(c, base);
    for (const machine::BoxRow& row : box.rows) {
        if (row.low >= row.high) continue;
        const i64 from = base + row.from + row.low, end = base + row.from + row.high;
        if (!box.buffer || from < box.buffer->base || end > box.buffer->base + box.buffer->size)
            throw Fault{OUTSIDE, lane_of(c), from};
        if (verb != READ && !box.buffer->writable) throw Fault{READ_ONLY, lane_of(c), from};
    }
    if (box.buffer) box.tensor = box.buffer->data + (base - box.buffer->base);
    return box;
}

// The two sides of a copy, for the judge: the parts of rows inside the tensor, and the bytes in shared memory.
Judge::Side rows_of_tensor(const Box& box, int unit) {
    Judge::Side out{nullptr, unit, {}, {}};
    for (const machine::BoxRow& row : box.rows)
        for (i64 at = row.low; at < row.high; at += unit) {
            out.at.push_back(static_cast<i64>(box.map.address) + row.from + at);
            out.places.push_back(box.tensor + row.from + at);
        }
    return out;
}

Judge::Side rows_in_shared(const Box& box, const Block& home, i64 place, int unit, bool whole, u8* shared) {
    Judge::Side out{&home, unit, {}, {}};
    for (const machine::BoxRow& row : box.rows) {
        for (i64 at = whole ? 0 : row.low; at < (whole ? box.map.row_bytes() : row.high); at += unit) {
            out.at.push_back(box.map.swizzled(place + at));
            if (shared) out.places.push_back(shared + out.at.back());
        }
        place += box.map.row_pitch();
    }
    return out;
}

// Calls f(offset in the box's bytes, offset in shared memory, size) for each atom that a swizzle keeps together.
template <class F> void each_atom(const TensorMap& map, i64 place, F f) {
    for (i64 at = 0; at < map.bytes(); at += TensorMap::ATOM) {
        const i64 row = at / map.row_bytes();
        f(at, map.swizzled(place + row * map.row_pitch() + at % map.row_bytes()), TensorMap::ATOM);
    }
}

void load_box(Context& c, const Instruction& n) {
    const u32 last = n.source_count > 2 ? word_of(c, n, 2) : 0;
    const Box box = box_of(c, n, 2, last & 0xFFFF, READ);
    const i64 to = word_of(c, n, 0), size = box.map.bytes(), room = box.map.room();
    aligned_to(c, to, TensorMap::ALIGNMENT);
    machine::count_bulk(c.counts, c.at, runs_of(box.map, box.rows, in_window(to)), {true, receivers(n, last)});
    std::vector<u8> bytes(size);
    machine::fill_outside(box.map, bytes);
    machine::gather_rows(box.map, box.rows, box.tensor, bytes);
    for (Block* const block : targets_of(c, n, to, last >> 16, room)) {
        u8* const shared = in_shared_memory(c, *block, in_window(to), room);
        const Judge::Told told = told_of(c, n, word_of(c, n, 0, 1), *block);
        if (c.judge) {
            c.judge->bulk(c, lane_of(c), rows_of_tensor(box, machine::unit_of_rows(box.map, box.first)),
                          rows_in_shared(box, *block, in_window(to), TensorMap::ATOM, true, shared), bytes.data(),
                          false, &told);
            c.judge->swizzled(box.map.swizzle_bytes());
        }
        each_atom(box.map, in_window(to),
                  [&](i64 at, i64 place, i64 width) { std::memcpy(shared + place, bytes.data() + at, width); });
        tell_of_bytes(c, n, word_of(c, n, 0, 1), *block, size);
    }
}

void store_box(Context& c, const Instruction& n) {
    const Box box = box_of(c, n, 1, 0, UPDATE);
    const i64 from = word_of(c, n, 0), size = box.map.bytes();
    const machine::BulkReduction* reduction = nullptr;
    if (n.flags & REDUCTION) {
        reduction = machine::reduction_of_elements(box.map, operation_of(n));
        if (!reduction)
            throw machine::Accusation{machine::NO_REDUCTION_OF_TYPE, c.at, thread_of(c, lane_of(c)),
                                      {box.map.element}};
    }
    aligned_to(c, from, TensorMap::ALIGNMENT);
    if (from >> RANK_SHIFT != c.block->rank) throw Fault{ANOTHER_BLOCK, lane_of(c), from};
    const u8* const shared = in_shared_memory(c, *c.block, in_window(from), box.map.room());
    machine::count_bulk(c.counts, c.at, runs_of(box.map, box.rows, in_window(from)), {});
    std::vector<u8> bytes(size);
    each_atom(box.map, in_window(from),
              [&](i64 at, i64 place, i64 width) { std::memcpy(bytes.data() + at, shared + place, width); });
    if (c.judge) {
        const int unit = machine::unit_of_rows(box.map, box.first);
        const Judge::Side to = rows_of_tensor(box, unit);
        std::vector<u8> values;
        for (size_t r = 0; r < box.rows.size(); r++) {
            const u8* const row = bytes.data() + static_cast<i64>(r) * box.map.row_bytes();
            if (box.rows[r].low < box.rows[r].high) values.insert(values.end(), row + box.rows[r].low, row + box.rows[r].high);
        }
        if (!to.at.empty())
            c.judge->bulk(c, lane_of(c), rows_in_shared(box, *c.block, in_window(from), unit, false, nullptr), to,
                          values.data(), reduction, nullptr);
    }
    const u8* given = bytes.data();
    for (const machine::BoxRow& row : box.rows) {
        const i64 count = row.high - row.low;
        u8* const place = box.tensor + row.from + row.low;
        if (count > 0 && reduction)
            reduction->apply(place, given + row.low, static_cast<int>(count));
        else if (count > 0)
            std::memcpy(place, given + row.low, count);
        given += box.map.row_bytes();
    }
}

// --- stores that report to an mbarrier ----------------------------------------------------------

// The address has two words: the target's address and the mbarrier's. Both may be in another block.
void store_and_tell(Context& c, const Instruction& n) {
    Access access = addressed(c, n);
    const u32* const told = c.source_high(n.source[0]);
    const machine::BulkReduction* const reduction = reduction_of(n);
    Places places;
    aligned(access, n.width);
    in_shared(c, access, places, true, machine::WRITE);
    count_remote(c, access, reduction != nullptr);
    const Value value = value_of(c, n, 2);
    if (c.judge) {
        u8 given[UNIT * LANES];
        each_lane(c.on, [&](int i) {
            for (int w = 0; w < n.width / 4; w++)
                std::memcpy(given + UNIT * i + 4 * w, value.row + value.step * w + i, 4);
        });
        c.judge->access(c, access, SHARED, reduction ? machine::UPDATE : machine::WRITE, places,
                        reduction ? nullptr : given);
    }
    each_lane(c.on, [&](int i) {
        u8 bytes[UNIT];
        for (int w = 0; w < n.width / 4; w++) std::memcpy(bytes + 4 * w, value.row + value.step * w + i, 4);
        if (reduction)
            reduction->apply(places.at[i], bytes, n.width);
        else
            std::memcpy(places.at[i], bytes, n.width);
        tell(c, mbarrier_at(c, told[i], i, true), i, 0, -n.width, false);
    });
}

// --- groups -------------------------------------------------------------------------------------

void commit_bulk(Context& c, const Instruction&) {
    if (c.judge) c.judge->commit_bulk(c);
}

void fence_of_proxies(Context& c, const Instruction&) {
    if (c.judge) c.judge->fence_of_proxies(c);
}

}  // namespace

std::vector<Entry> bulk_entries() {
    return {{"BULK.COMMIT", commit_bulk}, {"FENCE.OF.PROXIES", fence_of_proxies}, {"BULK.COPY", copy_bulk}, {"BOX.LOAD", load_box}, {"BOX.STORE", store_box},
            {"STORE.AND.TELL", store_and_tell}};
}

}  // namespace sass
