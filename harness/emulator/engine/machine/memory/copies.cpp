// Copies from global to shared memory that land when a thread waits for them, or that signal an
// mbarrier.

#include "memory/tensors/bulk_sectors.h"
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

// `stamped(i)`: the stamp of what lane i's copy writes.
template <class Stamped>
void land(Context& c, const Copy& copy, u32 lanes, Stamped stamped) {
    const Access access = target_of(copy, lanes);
    each_lane(lanes, [&](int i) { std::memcpy(c.shared + copy.target[i], copy.data[i], copy.width); });
    if (!c.checks) return;
    c.checks->noted.forget_all();
    each_stamp(c, access, [&](u64& stamp, int i) { stamp = stamped(i); });
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

// Lands the active lanes' copies for which `lands(copy, i)` holds.
template <class Lands, class Stamped>
void land_all(Context& c, Lands lands, Stamped stamped) {
    Warp& warp = *c.warp;
    size_t kept = 0;
    for (size_t n = 0; n < warp.copies.size(); n++) {
        Copy& copy = warp.copies[n];
        u32 lanes = 0;
        each_lane(copy.lanes & c.active, [&](int i) {
            if (lands(copy, i)) lanes |= 1u << i;
        });
        if (lanes) land(c, copy, lanes, stamped);
        copy.lanes &= ~lanes;
        if (copy.lanes) {
            if (kept != n) warp.copies[kept] = copy;
            kept++;
        }
    }
    warp.copies.resize(kept);
}

// Lands all but each lane's newest groups, as many as the immediate says; all groups if it is -1.
void copy_wait(Context& c, const Op& op) {
    const auto lands = [&](const Copy& copy, int i) {
        return op.immediate < 0 || copy.group[i] < c.warp->committed[i] - op.immediate;
    };
    land_all(c, lands, [&](int i) { return c.checks->stamp(c.thread(i), PLAIN); });
}

// --- copies that report to an mbarrier ----------------------------------------------------------

// The mbarrier of the active lanes' copies, in shared memory.
i64 mbarrier_of(const Context& c, const Op& op, i32 row) {
    const int first = __builtin_ctz(c.active);
    const bool is_wide = op.wide_base;
    const auto address = [&](int i) { return is_wide ? c.row<i64>(row)[i] : static_cast<i64>(c.row<u32>(row)[i]); };
    i64 at = address(first);
    each_lane(c.active, [&](int i) {
        if (address(i) != at) throw Suspicion{LEFT_TO_THE_JUDGE, op.site, i};
    });
    if (at >= SHARED_WINDOW) at -= SHARED_WINDOW;
    if (at < 0 || at >= c.launch->shared_bytes) throw Suspicion{LEFT_TO_THE_JUDGE, op.site, first};
    return at;
}

// `cp.async.mbarrier.arrive`, apart from the arrival: the lanes' copies land here, and the mbarrier decides which
// threads may touch them.
void copy_hand_over(Context& c, const Op& op) {
    const i64 at = mbarrier_of(c, op, op.source[0]);
    const u64 stamp = c.checks && !c.warp->copies.empty() ? c.checks->begin_flight(at, *c.warp, c.active) : 0;
    land_all(c, [](const Copy&, int) { return true; }, [&](int i) { return stamp | static_cast<u64>(c.thread(i)); });
}

// A bulk copy from global to shared memory: each lane's own bytes, in units whose width is their alignment.
void copy_bulk(Context& c, const Op& op) {
    constexpr i64 UNIT = 16;
    const auto give_up = [&](int i) { throw Suspicion{LEFT_TO_THE_JUDGE, op.site, i}; };
    if (!op.immediate) give_up(__builtin_ctz(c.active));
    const i64 *targets = c.row<i64>(op.source[0]), *sources = c.row<i64>(op.source[1]);
    const u32* sizes = c.row<u32>(op.source[2]);
    u64 stamp = 0;
    if (c.checks) {
        c.checks->noted.forget_all();
        stamp = c.checks->begin_flight(mbarrier_of(c, op, op.source[3]), *c.warp, c.active);
    }
    each_lane(c.active, [&](int i) {
        const i64 target = targets[i], source = sources[i], size = sizes[i];
        if (!size) {
            c.counts.bulk_copies[op.site]++;
            return;
        }
        const i64 slot = (source >> SLOT_BITS) - 1;
        if ((target | source | size) % UNIT || target < 0 || target > c.launch->shared_bytes - size || slot < 0 ||
            slot >= c.launch->buffer_count)
            give_up(i);
        const Buffer& buffer = c.launch->buffers[slot];
        const i64 offset = source - buffer.base;
        // A thread may write the source before the copy is done; the judge knows about
        // uninitialised bytes.
        if (offset < 0 || offset > buffer.size - size || (c.checks && (buffer.watched || buffer.filled))) give_up(i);
        if (c.checks) {
            const Words words = words_of_shared(c, target, static_cast<int>(size));
            note_write(c, op.site, PLAIN, i, words, [] { return false; });
            const u64 mine = stamp | static_cast<u64>(c.thread(i));
            std::fill_n(words.written + words.first, words.count, mine);
        }
        count_bulk(c.counts, op.site, {{target, size, source, 0, size}}, {true});
        std::memcpy(c.shared + target, buffer.data + offset, size);
        for (i64 at = offset; at < offset + size; at += UNIT) mark(buffer.sectors_read[at >> SECTOR_SHIFT]);
    });
}

// --- what only the judge implements -------------------------------------------------------------

void left_to_the_judge(Context& c, const Op& op) {
    throw Suspicion{LEFT_TO_THE_JUDGE, op.site, __builtin_ctz(c.active)};
}

}  // namespace

std::vector<Entry> copy_entries() {
    std::vector<Entry> out = {{"copy_async", copy_async, ISSUES_COPY},
                              {"copy_commit", copy_commit, COMMITS_COPIES},
                              {"copy_wait", copy_wait, WAITS_FOR_COPIES},
                              {"copy_hand_over", copy_hand_over, HANDS_OVER_COPIES},
                              {"copy_bulk", copy_bulk, COPIES_BULK},
                              {"discard", left_to_the_judge, DISCARDS},
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
