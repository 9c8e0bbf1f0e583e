// Warp-wide operations: shuffles, votes and reductions, special registers and convergence barriers.

#include "rows_of.h"

namespace sass {
namespace {

void shfl(Context& c, const Instruction& n) {
    const u32 *a = c.source(n.source[0]), *b = c.source(n.source[1]), *d = c.source(n.source[2]);
    u32 out[LANES], inside = 0;
    for (int i = 0; i < LANES; i++) {
        bool fits;
        out[i] = a[source_of_shuffle(n.flags, i, b[i], d[i], &fits)];
        inside |= static_cast<u32>(fits) << i;
    }
    write(c, c.result(n), [&](int i) { return out[i]; });
    c.set_predicate(n, 0, inside);
}

enum Vote : i32 { ANY, ALL, SAME };

// A vote into uniform registers is still a vote by the active lanes.
void vote(Context& c, const Instruction& n) {
    const u32 voters = n.uniform ? c.active : c.on;
    const u32 yes = c.predicate(n, 0) & voters;
    const bool outcome = n.flags == ANY ? yes != 0 : n.flags == ALL ? yes == voters
                                                                    : yes == 0 || yes == voters;
    write(c, c.result(n), [&](int) { return yes; });
    c.set_predicate(n, 0, outcome ? EVERYBODY : 0);
}

enum : i32 { MATCH_ALL = 1, OF_64_BITS = 2 };

void match(Context& c, const Instruction& n) {
    const u32* a = c.source(n.source[0]);
    const bool more = n.flags & OF_64_BITS && !n.source[0].constant;
    const auto value = [&](int i) { return static_cast<u64>(more ? a[LANES + i] : 0) << 32 | a[i]; };
    u32 out[LANES] = {}, all = 0;
    each_lane(c.on, [&](int i) {
        each_lane(c.on, [&](int k) { out[i] |= static_cast<u32>(value(k) == value(i)) << k; });
    });
    if (c.on && out[__builtin_ctz(c.on)] == c.on) all = c.on;
    if (n.flags & MATCH_ALL)
        for (u32& each : out) each = all;
    write(c, c.result(n), [&](int i) { return out[i]; });
    c.set_predicate(n, 0, all);
}

enum Reduction : i32 { SUM, LEAST, GREATEST, BITS_AND, BITS_OR, BITS_XOR, OF_SIGNED = 8 };

// Reduces over the active lanes, into a uniform register.
void redux(Context& c, const Instruction& n) {
    const u32* a = c.source(n.source[0]);
    u32 total = 0;
    bool first = true;
    each_lane(n.uniform ? c.active : c.on, [&](int i) {
        const u32 value = a[i];
        const bool less = n.flags & OF_SIGNED ? static_cast<i32>(value) < static_cast<i32>(total)
                                              : value < total;
        switch (n.flags & 7) {
            case SUM: total += value; break;
            case LEAST: total = first || less ? value : total; break;
            case GREATEST: total = first || !less ? value : total; break;
            case BITS_AND: total = first ? value : total & value; break;
            case BITS_OR: total |= value; break;
            default: total ^= value;
        }
        first = false;
    });
    write(c, c.result(n), [&](int) { return total; });
}

// The first lane's value of a vector register, for the warp. The predicate, which is not uniform,
// says for each lane whether its value differs from that: in a loop around a fetch, the lanes whose
// value does not differ fetch, and the others repeat.
void r2ur(Context& c, const Instruction& n) {
    const Operand a = operand(c, n, 0);
    const u32 value = a[__builtin_ctz(c.guarded)];
    const u32 differs = lanes_where([&](int i) { return a[i] != value; });
    write(c, c.result(n), [&](int) { return value; });
    const i32 number = n.result_predicate[0];
    if ((number & ALWAYS) == ALWAYS) return;
    u32& held = c.warp->predicate[number];
    const u32 before = n.flags & DIFFERS_ALSO ? held : 0;
    held = (held & ~c.guarded) | ((before | differs) & c.guarded);
}

// The number of the first lane, for the warp, and a predicate that is true only for that lane.
void elect(Context& c, const Instruction& n) {
    const u32 leader = __builtin_ctz(c.guarded);
    write(c, c.result(n), [&](int) { return leader; });
    const i32 number = n.result_predicate[0];
    if ((number & ALWAYS) == ALWAYS) return;
    u32& held = c.warp->predicate[number];
    held = (held & ~c.guarded) | 1u << leader;
}

// The address of an instruction.
void lepc(Context& c, const Instruction& n) {
    write_wide(c, n, [&](int) { return static_cast<u64>(n.immediate); });
}

enum Special : i32 {
    ZERO, TID_X, TID_Y, TID_Z, CTAID_X, CTAID_Y, CTAID_Z, LANEID, SHARED_WINDOW_HIGH, EQMASK, LTMASK,
    LEMASK, GTMASK, GEMASK, CLOCK, LOCAL_WINDOW_HIGH, CLOCK_HIGH,
    RANK_IN_CLUSTER,
};

u32 special(const Context& c, i32 which, int lane) {
    const u32* size = c.launch->block;
    const u32 thread = static_cast<u32>(c.warp->number * LANES + lane);
    switch (which) {
        case TID_X: return thread % size[0];
        case TID_Y: return thread / size[0] % size[1];
        case TID_Z: return thread / (size[0] * size[1]);
        case CTAID_X: return c.block->index[0];
        case CTAID_Y: return c.block->index[1];
        case CTAID_Z: return c.block->index[2];
        case LANEID: return static_cast<u32>(lane);
        case SHARED_WINDOW_HIGH: return 1u << 14;
        case LOCAL_WINDOW_HIGH: return (1u << 14) + 1;
        case EQMASK: return 1u << lane;
        case LTMASK: return (1u << lane) - 1;
        case LEMASK: return (2u << lane) - 1;
        case GTMASK: return ~((2u << lane) - 1);
        case GEMASK: return ~((1u << lane) - 1);
        case CLOCK: return static_cast<u32>(c.spent);
        case RANK_IN_CLUSTER: return c.block->rank;
        case CLOCK_HIGH: return static_cast<u32>(c.spent >> 32);
        default: return 0;
    }
}

void s2r(Context& c, const Instruction& n) {
    const i32 which = n.flags & 0xFF;
    const int lane = c.active ? __builtin_ctz(c.active) : 0;
    u32 out[LANES];
    for (int i = 0; i < LANES; i++) out[i] = special(c, which, n.uniform ? lane : i);
    write(c, c.result(n), [&](int i) { return out[i]; });
    const u32 high = which == CLOCK ? special(c, CLOCK_HIGH, lane) : 0;
    if (n.flags >> 8) write(c, c.result(n, 0, 1), [&](int) { return high; });
}

// Convergence barriers are masks of lanes, one for each lane that takes part. A barrier that is moved elsewhere, to
// a register or another barrier, is empty afterwards.
void bmov_from_barrier(Context& c, const Instruction& n) {
    u32* held = c.warp->barrier[n.barrier];
    write(c, c.result(n), [&](int i) { return held[i]; });
    u32 moved[LANES];
    each_lane(c.on, [&](int i) { moved[i] = held[i]; });
    each_lane(c.on, [&](int i) { held[i] = 0; });
    if (n.immediate) each_lane(c.on, [&](int i) { c.warp->barrier[n.immediate - 1][i] = moved[i]; });
}

void bmov_to_barrier(Context& c, const Instruction& n) {
    const u32* value = c.source(n.source[0]);
    u32* held = c.warp->barrier[n.barrier];
    each_lane(c.on, [&](int i) { held[i] = value[i]; });
}

// The result of the last barrier with a reduction at which a lane waited, as a number and as a truth value. The
// instruction names no barrier: ptxas places it directly after the barrier's instruction.
void b2r_result(Context& c, const Instruction& n) {
    const u32* found = c.warp->barrier_result;
    write(c, c.result(n), [&](int i) { return found[i]; });
    c.set_predicate(n, 0, lanes_where([&](int i) { return found[i] != 0; }));
}

void nothing(Context&, const Instruction&) {}

void trap(Context& c, const Instruction&) {
    if (c.on) throw Fault{TRAP, __builtin_ctz(c.on), 0};
}

}  // namespace

std::vector<Entry> warp_entries() {
    return {
        {"SHFL", shfl}, {"VOTE", vote}, {"MATCH", match}, {"REDUX", redux}, {"R2UR", r2ur}, {"ELECT", elect}, {"LEPC", lepc},
        {"S2R", s2r}, {"BMOV.CLEAR", bmov_from_barrier}, {"BMOV.BARRIER", bmov_to_barrier},
        {"B2R.RESULT", b2r_result}, {"NOTHING", nothing}, {"TRAP", trap},
    };
}

}  // namespace sass
