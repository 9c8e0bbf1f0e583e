// `cp.async`: copies from global to shared memory that land when a thread waits for them.

#include "reductions.h"
#include "rows.h"
#include "stores.h"

namespace machine {
namespace {

// --- asynchronous copies ------------------------------------------------------------------------

void read_source(Context& c, const Op& op, Copy& copy) {
    Access access;
    access.active = c.active;
    access.width = copy.width;
    std::memcpy(access.address, c.row<i64>(op.source[1]), sizeof access.address);
    survey(pattern_of(c, op), access, c.mask);
    Buffer& buffer = buffer_of(c, op, access, copy.width, READ);
    if (c.checks && buffer.watched)  // a thread may write it before the copy lands
        throw Suspicion{LEFT_TO_THE_JUDGE, op.site, __builtin_ctz(c.active)};
    count_global(c, op, buffer, access, sectors_of(c, op, access), READ);
    each_lane(c.active, [&](int i) {
        std::memcpy(copy.data[i], buffer.data - buffer.base + access.address[i], copy.width);
    });
}

Access target_of(const Copy& copy, u32 lanes) {
    Access access;
    access.active = lanes;
    access.width = copy.width;
    std::memcpy(access.address, copy.target, sizeof access.address);
    survey(access);
    return access;
}

template <class Function>
void each_stamp(const Context& c, const Access& access, Function function) {
    each_lane(access.active, [&](int i) {
        const Words words = words_of_shared(c, access.address[i], access.width);
        for (i64 w = words.first; w < words.first + words.count; w++) function(words.written[w], i);
    });
}

// The target is stamped as if the copy were written now, and until it lands any access to it is suspect.
void take_off(Context& c, const Op& op, const Copy& copy) {
    const Access access = target_of(copy, copy.lanes);
    inside(op.site, access, c.launch->shared_bytes, copy.width);
    count_shared(c, op.site, shared_wavefronts(access, false));
    if (!c.checks) return;
    c.checks->noted.forget_all();
    if (!passes_in_a_row(c, access, words_of_shared(c, access.low, access.width), PLAIN, WRITE))
        each_lane(access.active, [&](int i) {
            note_write(c, op.site, PLAIN, i, words_of_shared(c, access.address[i], access.width),
                       [] { return false; });
        });
    each_stamp(c, access, [&](u64& stamp, int) { stamp = Stamp::being_written(c.checks->start()); });
}

void land(Context& c, const Copy& copy, u32 lanes) {
    const Access access = target_of(copy, lanes);
    each_lane(lanes, [&](int i) { std::memcpy(c.shared + copy.target[i], copy.data[i], copy.width); });
    if (!c.checks) return;
    c.checks->noted.forget_all();
    each_stamp(c, access, [&](u64& stamp, int i) { stamp = c.checks->stamp(c.thread(i), PLAIN); });
}

// The source is read now and lands in shared memory when it is waited for. If all lanes request only zeros, nothing is
// read; if lanes request different numbers of bytes, or a part of the width, the launch is left to the judge.
void copy_async(Context& c, const Op& op) {
    const u32 width = static_cast<u32>(op.immediate);
    const u32* filled = c.row<u32>(op.source[2]);
    const u32 bytes = filled[__builtin_ctz(c.active)];
    each_lane(c.active, [&](int i) {
        if (filled[i] != bytes || (bytes && bytes != width))
            throw Suspicion{LEFT_TO_THE_JUDGE, op.site, i};
    });
    Warp& warp = *c.warp;
    Copy copy{};
    copy.lanes = c.active, copy.site = op.site, copy.width = static_cast<i32>(width);
    std::memcpy(copy.target, c.row<i64>(op.source[0]), sizeof copy.target);
    std::memcpy(copy.group, warp.committed, sizeof copy.group);
    if (bytes) read_source(c, op, copy);
    take_off(c, op, copy);
    warp.copies.push_back(copy);
}

void copy_commit(Context& c, const Op&) {
    each_lane(c.active, [&](int i) { c.warp->committed[i]++; });
}

// Lands all but each lane's newest groups, as many as the immediate says; all groups if it is -1.
void copy_wait(Context& c, const Op& op) {
    Warp& warp = *c.warp;
    size_t kept = 0;
    for (size_t n = 0; n < warp.copies.size(); n++) {
        Copy& copy = warp.copies[n];
        u32 lands = 0;
        each_lane(copy.lanes & c.active, [&](int i) {
            if (op.immediate < 0 || copy.group[i] < warp.committed[i] - op.immediate) lands |= 1u << i;
        });
        if (lands) land(c, copy, lands);
        copy.lanes &= ~lands;
        if (copy.lanes) {
            if (kept != n) warp.copies[kept] = copy;
            kept++;
        }
    }
    warp.copies.resize(kept);
}

// Only the judge implements these.
void left_to_the_judge(Context& c, const Op& op) {
    throw Suspicion{LEFT_TO_THE_JUDGE, op.site, __builtin_ctz(c.active)};
}

}  // namespace

std::vector<Entry> copy_entries() {
    std::vector<Entry> out = {{"copy_async", copy_async, ISSUES_COPY},
                              {"copy_commit", copy_commit, COMMITS_COPIES},
                              {"copy_wait", copy_wait, WAITS_FOR_COPIES},
                              {"copy_hand_over", left_to_the_judge, HANDS_OVER_COPIES},
                              {"copy_bulk", left_to_the_judge, COPIES_BULK},
                              {"copy_tensor", left_to_the_judge, COPIES_TENSOR},
                              {"bulk_commit", left_to_the_judge, COMMITS_BULK},
                              {"bulk_wait", left_to_the_judge, WAITS_FOR_BULK}};
    for (const BulkReduction& each : bulk_reductions()) out.push_back({each.name, left_to_the_judge, COPIES_BULK});
    for (const char* name : {"reduce_tensor.add", "reduce_tensor.min", "reduce_tensor.max", "reduce_tensor.inc",
                             "reduce_tensor.dec", "reduce_tensor.and", "reduce_tensor.or", "reduce_tensor.xor"})
        out.push_back({name, left_to_the_judge, COPIES_TENSOR});
    return out;
}

}  // namespace machine
