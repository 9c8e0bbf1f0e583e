#include "execution.h"

#include <algorithm>

#include "rows.h"

namespace machine {

inline void Execution::handle(const Known& about, const Op& op, const Party& party) {
    try {
        about.handler(blocks_.c, op);
    } catch (const Suspicion& found) {
        const int lane = geometry_.lane(party.warp, found.lane);
        if (found.reason == PART_OF_A_WARP) throw Accusation{NOT_WHOLE_WARP, op.site, lane, {}};
        if (found.reason == BAD_METADATA) throw Accusation{UNDEFINED_METADATA, op.site, lane, {}};
        if (found.reason == BAD_COUNT)
            throw Accusation{NOT_A_COUNT, op.site, lane, {blocks_.c.row<u32>(op.source[0])[found.lane]}};
        if (found.reason == NO_TEXTURE || found.reason == OUTSIDE_SURFACE) {
            const i64 handle = blocks_.c.row<i64>(op.source[0])[found.lane];
            if (found.reason == NO_TEXTURE) throw Accusation{NOT_A_TEXTURE, op.site, lane, {handle}};
            const auto number = [&](int n) -> i64 {
                return op.source[n] < 0 ? 0 : blocks_.c.row<i32>(op.source[n])[found.lane];
            };
            throw Accusation{BEYOND_SURFACE, op.site, lane,
                             {handle, number(1), number(2), number(3), op.width * op.count}};
        }
        if (found.reason != MATRIX_ROW) throw;
        throw Accusation{MISALIGNED_MATRIX_ROW, op.site, lane,
                         {blocks_.c.row<i64>(op.source[0])[found.lane]}};
    }
}

void Execution::run(i32 first, i32 last, const Selection& lanes) {
    for (i32 n = first; n < last;) {
        i32 end = n;
        while (end < last && known()[launch_.ops[end].handler].role == COMPUTES) end++;
        if (end > n) compute(n, end, lanes);
        if (end < last) act(launch_.ops[end], lanes);
        n = end + 1;
    }
}

// Operations that affect only registers run warp by warp.
void Execution::compute(i32 first, i32 end, const Selection& lanes) {
    const Op* const ops = launch_.ops;
    const Known* const all = known().data();
    for (const Party& party : lanes) {
        blocks_.enter(party.warp, party.lanes);
        const bool concerned = uninitialised_.holds(party.warp);  // computing adds no unwritten values
        for (i32 n = first; n < end; n++) {
            const Op& op = ops[n];
            const Known& about = all[op.handler];
            if (products_.follows()) products_.pass(op, party.warp, party.lanes, about.way.flow, true);
            if (concerned) uninitialised_.flow(blocks_.c, party.warp, op, about.way);
            handle(about, op, party);
        }
    }
}

// Operations that other threads may notice run for all warps at once.
void Execution::act(const Op& op, const Selection& lanes) {
    const Known& about = known()[op.handler];
    if (products_.follows() && about.role != HOLDS_REGISTERS)
        for (const Party& party : lanes)
            products_.pass(op, party.warp, party.lanes, PACKED, false, in_memory_of_thread(op, party));
    switch (about.role) {
        case LOADS: accesses_.execute(op, READ, lanes); return;
        case STORES:
            accesses_.execute(op, WRITE, lanes);
            if (op.space != GLOBAL) uninitialised_.tell();
            return;
        case UPDATES:
        case ARRIVES: accesses_.execute(op, UPDATE, lanes); return;
        case ARRIVES_IN_MANY: accesses_.arrive_in_many(op, lanes); return;
        case DISCARDS: accesses_.discard(op, lanes); return;
        case ISSUES_COPY: accesses_.issue_copy(op, lanes); return;
        case COMMITS_COPIES: accesses_.commit_copies(lanes); return;
        case WAITS_FOR_COPIES: accesses_.wait_for_copies(op, lanes); return;
        case COPIES_STRUCT: accesses_.copy_struct(op, lanes); return;
        case HANDS_OVER_COPIES: accesses_.hand_copies_to_mbarrier(op, lanes); return;
        case COPIES_BULK: accesses_.copy_bulk(op, lanes); return;
        case COPIES_TENSOR: accesses_.copy_tensor(op, lanes); return;
        case COMMITS_BULK: accesses_.commit_bulk_copies(lanes); return;
        case WAITS_FOR_BULK: accesses_.wait_for_bulk_copies(op, lanes); return;
        case FENCES:
            if (op.width && products_.follows()) products_.fence(lanes);
            if (launch_.checks && op.immediate)
                each_of(lanes, [&](int w, int i) {
                    races_.proxies.fence(geometry_.lane(w, i), races_.log.now());
                });
            if (launch_.checks && op.count)
                races_.fence(lanes, judged_.traits[op.site] & REACHES_ALL);
            return;
        case ARRIVES_IN_CLUSTER:
            each_of(lanes, [&](int w, int i) {
                const int lane = geometry_.lane(w, i);
                const bool releases = op.immediate;
                clusters_.arrive(op.site, lane, releases ? races_.log.now() : races_.ordering.fenced_for_all(lane));
            });
            return;
        case HOLDS_REGISTERS:
            if (launch_.checks) products_.hold(op, lanes);
            return;
        case READS_FACTOR: accesses_.read_factor(op, lanes); return;
        case TAKES_WORDS: accesses_.take_words(op, lanes); return;
        case COMMITS_PRODUCTS:
            if (products_.follows()) products_.commit(lanes);
            accesses_.commit_products(lanes);
            return;
        case WAITS_FOR_PRODUCTS:
            if (products_.follows()) products_.wait(op.count, lanes);
            accesses_.wait_for_products(op, lanes);
            return;
        case SETS_REGISTERS: pool_.set(op, lanes); return;
        case MARKS: return;
        case PRINTS: print(op, lanes); return;
        case FAILS: fail(op, lanes); return;
        case ENTERS_FRAME: check_frame(op, lanes); break;
        case MEETS: meet({{&op, &lanes}}, lanes); break;
        default:
            if (launch_.checks) {
                for (const Party& party : lanes)
                    races_.ordering.some_lanes(party.warp, party.lanes, races_.log.now());
                races_.after_locks(lanes, true);
            }
    }
    compute_one(op, about, lanes);
}

// Whether a load or a store accesses local memory, judging by its first lane.
bool Execution::in_memory_of_thread(const Op& op, const Party& party) const {
    const Role role = known()[op.handler].role;
    if (role != LOADS && role != STORES) return false;
    if (op.space != GENERIC) return op.space == LOCAL;
    const auto* addresses = reinterpret_cast<const i64*>(blocks_.warps[party.warp].registers + op.source[0]);
    return space_of(addresses[__builtin_ctz(party.lanes)] + op.immediate) == LOCAL;
}

void Execution::compute_one(const Op& op, const Known& about, const Selection& lanes) {
    for (const Party& party : lanes) {
        blocks_.enter(party.warp, party.lanes);
        if (uninitialised_.holds(party.warp) && about.role != MEETS)
            uninitialised_.flow(blocks_.c, party.warp, op, Way{});
        handle(about, op, party);
    }
}

// --- lanes that meet at a warp-wide instruction whose mask names them ------------------------------

i32 Execution::meeting_of(const Block& block) const {
    i32 n = block.first;
    while (known()[launch_.ops[n].handler].role != MEETS) n++;
    return n;
}

void Execution::execute_together(const std::vector<Attendance>& all) {
    Comers comers;
    Mask everybody(geometry_.all_warps());
    for (const Attendance& each : all) {
        const Block& block = launch_.blocks[each.block];
        const i32 meeting = meeting_of(block);
        run(block.first, meeting, each.lanes);
        comers.push_back({&launch_.ops[meeting], &each.lanes});
        for (const Party& party : each.lanes) everybody[party.warp] |= party.lanes;
    }
    const Selection together = selected(everybody);
    meet(comers, together);
    exchange(comers, together);
    for (size_t n = 0; n < all.size(); n++) {
        const Block& block = launch_.blocks[all[n].block];
        run(static_cast<i32>(comers[n].op - launch_.ops) + 1, block.last, all[n].lanes);
    }
}

// Those of the comers that are lanes of one warp.
std::vector<Execution::OfWarp> Execution::of_warp(const Comers& comers, int warp) {
    std::vector<OfWarp> out;
    for (const Comer& comer : comers)
        for (const Party& party : *comer.lanes)
            if (party.warp == warp) out.push_back({comer.op, party.lanes});
    return out;
}

// Checks the masks, and follows what the lanes learn from each other. `all`: the lanes of all comers.
void Execution::meet(const Comers& comers, const Selection& all) {
    if (launch_.checks) {
        Mask masks(geometry_.all_warps());
        for (const Comer& comer : comers)
            each_of(*comer.lanes, [&](int w, int i) {
                const u32 mask = named(*comer.op, w, i);
                if (!(mask >> i & 1))
                    throw Accusation{LANE_NOT_NAMED, comer.op->site, geometry_.lane(w, i), {i, mask}};
                masks[w] |= mask;
            });
        const Op& first = *comers[0].op;
        for (const Party& party : all) {
            races_.ordering.some_lanes(party.warp, party.lanes, races_.log.now());
            masks_.met(known()[first.handler].family, party.warp, party.lanes, masks[party.warp],
                       exited_[party.warp], first.site);
        }
        races_.after_locks(all, true);
    }
    // A shuffle passes its first operand on without using it; all other operands are used.
    const bool shuffles = comers[0].op->count == 3;
    for (const Comer& comer : comers)
        for (int n = shuffles; n <= comer.op->count; n++)
            uninitialised_.use_row(*comer.lanes, comer.op->source[n], comer.op->site);
    if (shuffles) return shuffle_ids(comers, all);
    for (const Comer& comer : comers)
        for (const Party& party : *comer.lanes)
            for (const i32 row : comer.op->result)
                if (row >= 0) uninitialised_.forget(party.warp, row, party.lanes);
}

// Follows the origins of the values that a shuffle returns. A value from a lane that does not take
// part counts as uninitialised.
void Execution::shuffle_ids(const Comers& comers, const Selection& all) {
    u32 read = 0;
    bool begun = false;
    for (const Party& party : all) {
        const int w = party.warp;
        const Op* by[LANES];
        std::fill_n(by, LANES, comers[0].op);
        if (comers.size() > 1)
            for (const OfWarp& each : of_warp(comers, w)) each_lane(each.lanes, [&](int i) { by[i] = each.op; });
        Origin origins[LANES];
        const u32 gone = exited_[w] | ~geometry_.lanes_of(w);
        each_lane(party.lanes, [&](int i) {
            bool in_range;
            const int wanted = shuffle_source(*by[i], w, i, in_range);
            const int source = party.lanes >> wanted & 1 ? wanted : i;
            origins[i] = uninitialised_.of(w, by[source]->source[0], source);
            if (!launch_.checks || !in_range || named(*by[i], w, i) & ~gone & u32(1) << wanted) return;
            if (!begun) read = uninitialised_.begin(ABSENT_LANE, by[i]->site, {});
            begun = true;
            origins[i] = {uninitialised_.add(read, geometry_.lane(w, i), wanted), {ALL_BITS, true}};
        });
        each_lane(party.lanes, [&](int i) {
            uninitialised_.put(w, by[i]->result[0], i, origins[i]);
            uninitialised_.put(w, by[i]->result[1], i, {});
        });
    }
}

// Executes the instruction by which the comers meet, once in each warp.
void Execution::exchange(const Comers& comers, const Selection& all) {
    const Known& about = known()[comers[0].op->handler];
    for (const Party& party : all) {
        const std::vector<OfWarp> own = of_warp(comers, party.warp);
        blocks_.enter(party.warp, party.lanes);
        if (own.size() == 1) {
            handle(about, *own[0].op, party);
            continue;
        }
        Op op = *own[0].op;
        u8* const registers = blocks_.c.registers;
        const auto bytes = [&](int n) { return n == 0 ? about.way.bytes : 4; };
        for (int n = 0; n < SPARE_RESULTS; n++) op.result[n] = (SPARE_SOURCES + n) * SPARE_ROW;
        for (int n = 0; n <= op.count; n++) {
            op.source[n] = n * SPARE_ROW;
            for (const OfWarp& each : own)
                each_lane(each.lanes, [&](int i) {
                    std::memcpy(spare_ + op.source[n] + i * bytes(n),
                                registers + each.op->source[n] + i * bytes(n), bytes(n));
                });
        }
        blocks_.c.registers = spare_;
        handle(about, op, party);
        blocks_.c.registers = registers;
        for (const OfWarp& each : own)
            each_lane(each.lanes, [&](int i) {
                for (int n = 0; n < SPARE_RESULTS; n++)
                    if (each.op->result[n] >= 0)
                        std::memcpy(registers + each.op->result[n] + i * 4, spare_ + op.result[n] + i * 4, 4);
            });
    }
}

int Execution::shuffle_source(const Op& op, int w, int i, bool& in_range) const {
    const auto value = [&](int n) {
        return reinterpret_cast<const u32*>(blocks_.warps[w].registers + op.source[n])[i];
    };
    return source_of_shuffle(static_cast<Shuffle>(op.immediate), i, value(1), value(2),
                             in_range);
}

void Execution::check_frame(const Op& op, const Selection& lanes) {
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site);
    each_of(lanes, [&](int w, int i) {
        const auto value = [&](int n) {
            return reinterpret_cast<const i64*>(blocks_.warps[w].registers + op.source[n])[i];
        };
        if (value(0) + value(1) > judged_.stack_end - op.immediate)
            throw Accusation{STACK_USED_UP, op.site, geometry_.lane(w, i), {op.immediate}};
    });
}

// --- the system ---------------------------------------------------------------------------------

void Execution::print(const Op& op, const Selection& lanes) {
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site);
    each_of(lanes, [&](int w, int i) {
        const auto value = [&](int n) {
            return reinterpret_cast<const u64*>(blocks_.warps[w].registers + op.source[n])[i];
        };
        const int lane = geometry_.lane(w, i);
        const i64 block = geometry_.in_grid(blocks_.first_block + geometry_.block_of(lane));
        const i32 count = judged_.print(block, lane, value(0), value(1));
        if (count < 0) throw Accusation{PRINTED_TOO_MUCH, op.site, lane, {}};
        if (op.result[0] >= 0)
            reinterpret_cast<i32*>(blocks_.warps[w].registers + op.result[0])[i] = count;
        uninitialised_.put(w, op.result[0], i, {});
    });
}

void Execution::fail(const Op& op, const Selection& lanes) {
    for (const i32 row : op.source) uninitialised_.use_row(lanes, row, op.site);
    const Party& first = lanes[0];
    const int i = __builtin_ctz(first.lanes);
    const auto value = [&](int n) {
        return reinterpret_cast<const i64*>(blocks_.warps[first.warp].registers +
                                            op.source[n])[i];
    };
    throw Accusation{ASSERTED, op.site, geometry_.first_of(lanes),
                     {geometry_.first_of(lanes), value(0), value(1)}};
}

}  // namespace machine
