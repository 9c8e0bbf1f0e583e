// Instructions by which the lanes of a warp exchange data or meet.
//
// If the mask names a lane that is not present, or does not name one that is, the launch is left to the judge, which
// decides what that means.

#include "arithmetic/floats.h"
#include "checks.h"
#include "rows.h"

namespace machine {
namespace {

// Checks the mask and returns the lanes that take part.
u32 members(Context& c, const Op& op, i32 mask_offset) {
    if (c.judged) return c.active;
    const u32* masks = c.row<u32>(mask_offset);
    u32 named = 0;
    each_lane(c.active, [&](int i) {
        if (!(masks[i] >> i & 1)) throw Suspicion{MASK, op.site, i};
        named |= masks[i];
    });
    if (named & c.warp->threads & ~c.active) throw Suspicion{MASK, op.site, 0};
    if (c.checks && c.active == c.warp->threads) c.checks->meet(*c.warp);
    return named & c.active;
}

// The members of a lane's own mask: lanes that meet here may belong to several groups. Without checks, a mask might not
// name its own lane.
u32 group(const Context& c, i32 mask_offset, int lane) {
    return (c.row<u32>(mask_offset)[lane] | u32(1) << lane) & c.active;
}

template <Shuffle mode>
void shuffle(Context& c, const Op& op) {
    members(c, op, op.source[3]);
    u32 before[LANES];
    std::memcpy(before, c.row<u32>(op.source[0]), sizeof before);
    const u32* bs = c.row<u32>(op.source[1]);
    const u32* cs = c.row<u32>(op.source[2]);
    u32 taken[LANES];
    i32 in_range[LANES];
    for (int i = 0; i < LANES; i++) {
        bool ranges;
        const int source = source_of_shuffle(mode, i, bs[i], cs[i], ranges);
        // The judge decides what a lane reads from one that does not take part.
        const u32 there = c.judged ? c.active : group(c, op.source[3], i);
        const bool absent = c.active >> i & ~there >> source & 1;
        if (absent && !c.judged) throw Suspicion{MASK, op.site, i};
        taken[i] = before[absent ? i : source];
        in_range[i] = -static_cast<i32>(ranges);
    }
    u32* r = c.row<u32>(op.result[0]);
    i32* p = op.result[1] >= 0 ? c.row<i32>(op.result[1]) : nullptr;
    each_lane(c.active, [&](int i) {
        r[i] = taken[i];
        if (p) p[i] = in_range[i];
    });
}

enum Vote { BALLOT, ALL, ANY, UNI };

template <Vote mode>
void vote(Context& c, const Op& op) {
    members(c, op, op.source[1]);
    const u32 holds = lanes_set(c.row<i32>(op.source[0])) & c.active;
    u32 answer[LANES];
    each_lane(c.active, [&](int i) {
        const u32 who = group(c, op.source[1], i), some = holds & who;
        if (mode == BALLOT)
            answer[i] = some;
        else
            answer[i] = 0 - static_cast<u32>(mode == ALL   ? some == who
                                             : mode == ANY ? some != 0
                                                           : some == who || some == 0);
    });
    u32* r = c.row<u32>(op.result[0]);
    each_lane(c.active, [&](int i) { r[i] = answer[i]; });
}

template <class T, bool all>
void match(Context& c, const Op& op) {
    members(c, op, op.source[1]);
    const T* values = c.row<T>(op.source[0]);
    u32 found[LANES];
    i32 agree[LANES];
    each_lane(c.active, [&](int i) {
        const u32 who = group(c, op.source[1], i);
        u32 same = 0;
        each_lane(who, [&](int k) { same |= static_cast<u32>(values[k] == values[i]) << k; });
        found[i] = !all ? same : same == who ? who : 0;
        agree[i] = -static_cast<i32>(all ? same == who : same != 0);
    });
    u32* r = op.result[0] >= 0 ? c.row<u32>(op.result[0]) : nullptr;
    i32* p = op.result[1] >= 0 ? c.row<i32>(op.result[1]) : nullptr;
    each_lane(c.active, [&](int i) {
        if (r) r[i] = found[i];
        if (p) p[i] = agree[i];
    });
}

// A lane that is alone combines its float with no other float, so the result is made canonical
// here.
template <class T> T as_told(T answer) { return answer; }
template <> f32 as_told(f32 answer) { return canonical(answer); }

template <class T, class F>
void reduce(Context& c, const Op& op, F combine) {
    members(c, op, op.source[1]);
    const T* values = c.row<T>(op.source[0]);
    T answer[LANES];
    each_lane(c.active, [&](int i) {
        const u32 who = group(c, op.source[1], i);
        T total = values[__builtin_ctz(who)];
        each_lane(who & (who - 1), [&](int k) { total = combine(total, values[k]); });
        answer[i] = as_told(total);
    });
    T* r = c.row<T>(op.result[0]);
    each_lane(c.active, [&](int i) { r[i] = answer[i]; });
}

#define REDUX(NAME, T, EXPRESSION)                                   \
    {NAME, [](Context& c, const Op& op) {                            \
         reduce<T>(c, op, [](T a, T b) -> T { return EXPRESSION; }); \
     }, MEETS},

void active_mask(Context& c, const Op& op) {
    u32* r = c.row<u32>(op.result[0]);
    each_lane(c.active, [&](int i) { r[i] = c.active; });
}

void elect(Context& c, const Op& op) {
    members(c, op, op.source[0]);
    u32* r = op.result[0] >= 0 ? c.row<u32>(op.result[0]) : nullptr;
    i32* p = op.result[1] >= 0 ? c.row<i32>(op.result[1]) : nullptr;
    const u32* masks = c.row<u32>(op.source[0]);
    u32 leader[LANES];
    each_lane(c.active, [&](int i) { leader[i] = __builtin_ctz(masks[i] & c.active); });
    each_lane(c.active, [&](int i) {
        if (r) r[i] = leader[i];
        if (p) p[i] = -static_cast<i32>(leader[i] == static_cast<u32>(i));
    });
}

void sync_warp(Context& c, const Op& op) { members(c, op, op.source[0]); }

// Tracks registers that a thread might read before it writes them.
void note_written(Context& c, const Op& op) {
    u32* written = c.row<u32>(op.result[0]);
    each_lane(c.active, [&](int i) { written[i] = 1; });
}

void read_written(Context& c, const Op& op) {
    if (!c.checks) return;
    const u32* written = c.row<u32>(op.source[0]);
    each_lane(c.active, [&](int i) {
        if (!written[i]) throw Suspicion{UNWRITTEN, op.site, i};
    });
}

// Within a job, memory is consistent after every instruction; the order that other jobs see is the host's.
void fence(Context& c, const Op&) { in_order(c); }

}  // namespace

std::vector<Entry> warp_entries() {
    return {
        {"shfl.idx", shuffle<Shuffle::IDX>, MEETS}, {"shfl.up", shuffle<Shuffle::UP>, MEETS},
        {"shfl.down", shuffle<Shuffle::DOWN>, MEETS}, {"shfl.bfly", shuffle<Shuffle::BFLY>, MEETS},
        {"vote.ballot", vote<BALLOT>, MEETS}, {"vote.all", vote<ALL>, MEETS},
        {"vote.any", vote<ANY>, MEETS}, {"vote.uni", vote<UNI>, MEETS},
        {"match.any/4", match<u32, false>, MEETS}, {"match.any/8", match<u64, false>, MEETS},
        {"match.all/4", match<u32, true>, MEETS}, {"match.all/8", match<u64, true>, MEETS},
        REDUX("redux.add/u32", u32, a + b) REDUX("redux.and/u32", u32, a & b)
        REDUX("redux.or/u32", u32, a | b) REDUX("redux.xor/u32", u32, a ^ b)
        REDUX("redux.min/u32", u32, a < b ? a : b) REDUX("redux.max/u32", u32, a > b ? a : b)
        REDUX("redux.min/s32", i32, a < b ? a : b) REDUX("redux.max/s32", i32, a > b ? a : b)
        REDUX("redux.min/f32", f32, canonical(least(a, b)))
        REDUX("redux.max/f32", f32, canonical(greatest(a, b)))
        REDUX("redux.min.NaN/f32", f32, canonical(least_or_nan(a, b)))
        REDUX("redux.max.NaN/f32", f32, canonical(greatest_or_nan(a, b)))
        {"activemask", active_mask}, {"elect", elect, MEETS}, {"syncwarp", sync_warp, MEETS},
        {"fence", fence, FENCES},
        {"note written", note_written, MARKS}, {"read written", read_written, MARKS},
    };
}

}  // namespace machine
