#include "fast_run/in_step.h"

#include "fast_run/pending.h"
#include "rows.h"

namespace machine {

i32 InStep::next() const {
    i32 lowest = -1;
    for (const Warp& warp : warps_) {
        if (!warp.pending_count) continue;
        const i32 block = warp.pending[lowest_of(warp)].block;
        if (lowest < 0 || block < lowest) lowest = block;
    }
    return lowest;
}

i64 InStep::step(i32 at) {
    const Block& block = launch_.blocks[at];
    lanes_.clear();
    for (Warp& warp : warps_)
        for (int n = 0; n < warp.pending_count; n++)
            if (warp.pending[n].block == at) {
                lanes_.push_back({warp.number, take(warp, n).lanes});
                break;
            }
    if (may_wait_[at]) hold_back(at);
    for (const Party& party : lanes_) {
        counts_.block_warps[at]++;
        counts_.block_lanes[at] += __builtin_popcount(party.lanes);
    }
    execute(block);
    leave(at, block);
    return static_cast<i64>(block.charge) * LANES * static_cast<i64>(lanes_.size());
}

// Reduces the step's lanes to those that need not wait for others.
void InStep::hold_back(i32 at) {
    if (!has_waited_) progress_.start();
    has_waited_ = true;
    Mask mask(warps_.size()), exited;
    for (const Party& party : lanes_) mask[party.warp] = party.lanes;
    for (const Warp& warp : warps_) exited.push_back(warp.exited);
    try {
        progress_.take(at, mask, exited);
    } catch (const Accusation&) {
        throw Suspicion{LEFT_TO_THE_JUDGE, 0, 0};
    }
    if (!progress_.joining().empty()) throw Suspicion{MASK, 0, 0};
    lanes_ = selected(mask);
}

void InStep::execute(const Block& block) {
    for (i32 n = block.first; n < block.last;) {
        i32 end = n;
        while (end < block.last && computes_[launch_.ops[end].handler]) end++;
        if (end == n) end++;
        for (const Party& party : lanes_) {
            enter(party);
            for (i32 each = n; each < end; each++) {
                const Op& op = launch_.ops[each];
                handlers_[op.handler](c_, op);
            }
        }
        n = end;
    }
}

void InStep::leave(i32 at, const Block& block) {
    for (const Party& party : lanes_) {
        enter(party);
        Warp& warp = *c_.warp;
        switch (block.ending) {
            case JUMP: add(warp, {block.target, party.lanes}); break;
            case BRANCH: {
                const u32 on = branches(c_, counts_, block, at, party.lanes);
                const u32 off = party.lanes & ~on;
                counts_.diverged_warps[at] += on && off;
                if (on) add(warp, {block.target, on});
                if (off) add(warp, {block.otherwise, off});
                break;
            }
            case SWITCH: counts_.diverged_warps[at] += switch_to(c_, block, party.lanes, warp); break;
            case BARRIER: wait_at_barrier(warp, at, party.lanes); break;
            case TRAP: throw Suspicion{LEFT_TO_THE_JUDGE, 0, __builtin_ctz(party.lanes)};
            default: warp.exited |= party.lanes;  // EXIT
        }
    }
}

bool InStep::wake() {
    if (!has_waited_ || !progress_.anybody()) return false;
    Ready ready;
    if (progress_.rounds_in_vain() > HOPE) throw Suspicion{LEFT_TO_THE_JUDGE, 0, 0};
    progress_.wake(ready);
    for (const auto& [block, mask] : ready)
        for (const Party& party : selected(mask)) add(warps_[party.warp], {block, party.lanes});
    return true;
}

}  // namespace machine
