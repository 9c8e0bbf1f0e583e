// `cp.async`: copies from global to shared memory that land when somebody waits for them.

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
    note_global_reads(c, op, buffer, access);
    count_global(c, op, buffer, access, sectors_of(c, op, access), READ);
    each_lane(c.active, [&](int i) {
        std::memcpy(copy.data[i], buffer.data - buffer.base + access.address[i], copy.width);
    });
}

// The source is read now and lands in shared memory when it is waited for. Where all lanes ask for
// zeros only, nothing is read; where lanes differ in how much they ask for, the judge goes on.
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
    warp.copies.push_back(copy);
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
            count_shared(c, copy.site, cost);
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
