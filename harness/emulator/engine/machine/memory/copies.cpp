// `cp.async`: copies from global to shared memory that land when somebody waits for them.

#include "reductions.h"
#include "rows.h"
#include "stores.h"

namespace machine {
namespace {

// --- asynchronous copies ------------------------------------------------------------------------

// The source is read now and lands in shared memory when it is waited for.
void copy_async(Context& c, const Op& op) {
    const int width = static_cast<int>(op.immediate);
    const i64* target = c.row<i64>(op.source[0]);
    const i64* source = c.row<i64>(op.source[1]);
    const u32* filled = c.row<u32>(op.source[2]);
    Access access;
    access.active = c.active;
    access.width = width;
    std::memcpy(access.address, source, sizeof access.address);
    each_lane(c.active, [&](int i) {
        if (filled[i] != static_cast<u32>(width)) throw Suspicion{LEFT_TO_THE_JUDGE, op.site, i};
    });
    survey(access);
    Buffer& buffer = buffer_of(c, op, access, width, READ);
    const Pattern& pattern = global_pattern(c, op, access);
    note_global_reads(c, op, buffer, access, pattern);
    count_global(c, op, buffer, access, pattern.spent, READ);
    Warp& warp = *c.warp;
    warp.copies.emplace_back();
    Copy& copy = warp.copies.back();
    copy.lanes = c.active, copy.site = op.site, copy.width = width;
    std::memcpy(copy.target, target, sizeof copy.target);
    std::memcpy(copy.group, warp.committed, sizeof copy.group);
    each_lane(c.active, [&](int i) {
        std::memcpy(copy.data[i], buffer.data - buffer.base + access.address[i], width);
    });
}

void copy_commit(Context& c, const Op&) {
    each_lane(c.active, [&](int i) { c.warp->committed[i]++; });
}

// Lands all but each lane's newest groups, so many as the immediate says; -1 for everything.
void copy_wait(Context& c, const Op& op) {
    Warp& warp = *c.warp;
    size_t kept = 0;
    for (size_t n = 0; n < warp.copies.size(); n++) {
        Copy& copy = warp.copies[n];
        Access access;
        access.active = 0;
        each_lane(copy.lanes & c.active, [&](int i) {
            if (op.immediate < 0 || copy.group[i] < warp.committed[i] - op.immediate)
                access.active |= 1u << i;
        });
        if (access.active) {
            access.width = copy.width;
            std::memcpy(access.address, copy.target, sizeof access.address);
            survey(access);
            inside(copy.site, access, c.launch->shared_bytes, copy.width);
            const Wavefronts cost = shared_wavefronts(access, false);
            count_shared(c, copy.site, cost.spent, cost.ideal);
            put_shared(c, copy.site, PLAIN, access, [&](int i) { return copy.data[i]; });
            copy.lanes &= ~access.active;
        }
        if (copy.lanes) {
            if (kept != n) warp.copies[kept] = copy;
            kept++;
        }
    }
    warp.copies.resize(kept);
}

// The judge alone has these.
void copy_bulk(Context& c, const Op& op) {
    throw Suspicion{LEFT_TO_THE_JUDGE, op.site, __builtin_ctz(c.active)};
}

}  // namespace

std::vector<Entry> copy_entries() {
    std::vector<Entry> out = {{"copy_async", copy_async, ISSUES_COPY},
                              {"copy_commit", copy_commit, COMMITS_COPIES},
                              {"copy_wait", copy_wait, WAITS_FOR_COPIES},
                              {"copy_bulk", copy_bulk, COPIES_BULK}};
    for (const BulkReduction& each : bulk_reductions()) out.push_back({each.name, copy_bulk, COPIES_BULK});
    return out;
}

}  // namespace machine
