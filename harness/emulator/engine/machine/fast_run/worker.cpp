// Runs thread blocks one after another, warp by warp, and a warp's lanes as on hardware.
//
// Of a warp's lanes that are ready, those at the lowest basic block run next; basic blocks are numbered so that
// diverged lanes meet again. A barrier holds a warp until all of the block's warps have arrived.

#include "fast_run/worker.h"

#include <algorithm>

#include "fast_run/pending.h"
#include "registers.h"

namespace machine {
Worker::Worker(Shared& shared, const Counts& counts) : shared_(shared), launch_(shared.launch) {
    const u32 threads = launch_.block[0] * launch_.block[1] * launch_.block[2];
    const int warps = (threads + LANES - 1) / LANES;
    const size_t stride = (launch_.register_bytes + 63) / 64 * 64;
    registers_ = unset<u8>(stride * warps + 64);
    u8* base = registers_.get() + (64 - reinterpret_cast<uintptr_t>(registers_.get()) % 64) % 64;
    shared_memory_ = zeros<u8>(launch_.shared_bytes + 16);
    const size_t words = launch_.shared_bytes / launch_.shared_granule + 1;
    local_ = zeros<u8>(static_cast<size_t>(launch_.local_bytes) * threads + 16);
    if (launch_.checks) {
        shared_written_ = zeros<u64>(words);
        shared_read_ = zeros<u64>(words);
        const size_t row = (launch_.local_bytes + launch_.local_grain - 1) / launch_.local_grain;
        local_written_ = zeros<u32>(row * threads);
    }
    c_ = Context{};
    c_.launch = &launch_;
    c_.counts = counts;
    c_.shared = shared_memory_.get();
    c_.shared_written = shared_written_.get();
    c_.shared_read = shared_read_.get();
    c_.local = local_.get();
    c_.local_written = local_written_.get();
    c_.checks = launch_.checks ? &checks_ : nullptr;
    c_.stamp_pages = &shared_.stamp_pages;
    c_.undo = &shared_.undo;
    c_.patterns = patterns_.data();
    warps_.resize(warps);
    for (int w = 0; w < warps; w++) {
        Warp& warp = warps_[w];
        warp.registers = base + stride * w;
        warp.number = w;
        const u32 lanes = std::min<u32>(threads - w * LANES, LANES);
        warp.threads = lanes == LANES ? EVERYBODY : (u32(1) << lanes) - 1;
        fill(launch_, warp, threads);
    }
    if (launch_.in_step) in_step_ = std::make_unique<InStep>(launch_, c_.counts, c_, warps_);
}

Outcome Worker::run(Clock::time_point deadline) {
    deadline_ = deadline;
    try {
        while (!shared_.stop) {
            if (!in_block_) {
                block_ = shared_.next++;
                if (block_ >= shared_.blocks) return tell_ticks(), DONE;
                begin_block();
                in_block_ = true;
            }
            if (!run_block()) return outcome_;
            in_block_ = false;
        }
        return DONE;
    } catch (const Suspicion& found) {
        verdict = {SUSPECT,
                   found.reason,
                   found.site,
                   current_,
                   static_cast<i64>(block_),
                   c_.warp ? c_.thread(found.lane) : 0,
                   0,
                   ticks_};
        shared_.stop = true;
        return SUSPECT;
    }
}

void Worker::begin_block() {
    c_.block = block_;
    if (c_.checks) {
        checks_.begin_block(block_);
    } else {  // so that unwritten data does not look right by accident
        std::memset(c_.shared, 0xFF, launch_.shared_bytes);
        if (launch_.local_bytes) {
            const u32 threads = launch_.block[0] * launch_.block[1] * launch_.block[2];
            std::memset(c_.local, 0xFF, static_cast<size_t>(launch_.local_bytes) * threads);
        }
    }
    if (in_step_) in_step_->begin_block();
    for (Warp& warp : warps_) {
        machine::begin_block(launch_, warp, block_);
        warp.exited = warp.waiting = 0;
        warp.synced = warp.acquired = checks_.now();
        if (in_step_) std::memset(warp.known, 0, sizeof warp.known);
        warp.pending_count = 1;
        warp.pending[0] = {0, warp.threads};
        warp.copies.clear();
        std::memset(warp.committed, 0, sizeof warp.committed);
    }
    at_ = 0;
}

// Returns false if it stopped before the block's end.
bool Worker::run_block() {
    if (in_step_) return run_in_step();
    for (;;) {
        for (; at_ < warps_.size(); at_++)
            if (!run_warp(warps_[at_])) return false;
        if (!waits()) return true;
        release();
        at_ = 0;
    }
}

// The same, if the warps of a block run in step.
bool Worker::run_in_step() {
    for (;;) {
        const i32 at = in_step_->next();
        if (at >= 0) {
            if (--patience_ <= 0 && !may_go_on()) return false;
            current_ = at;
            ticks_ += in_step_->step(at);
        } else if (!in_step_->wake()) {
            if (!waits()) return true;
            release();
        }
    }
}

bool Worker::waits() const {
    return std::any_of(warps_.begin(), warps_.end(), [](const Warp& warp) { return warp.waiting; });
}

// All warps have stopped, so all threads must be at the same barrier.
void Worker::release() {
    i32 at = -1;
    u32 gone = 0;
    for (const Warp& warp : warps_) {
        gone |= warp.exited;
        if (!warp.waiting) continue;
        if (at >= 0 && at != warp.waiting_at) throw Suspicion{BARRIERS, 0, 0};
        at = warp.waiting_at;
    }
    if (gone) throw Suspicion{BARRIERS, 0, 0};
    const Block& barrier = launch_.blocks[at];
    if (barrier.reduction != NO_REDUCTION) reduce(barrier);
    if (c_.checks) checks_.barrier();
    for (Warp& warp : warps_) {
        if (!warp.waiting) continue;
        warp.pending[warp.pending_count++] = {barrier.target, warp.waiting};
        warp.waiting = 0;
    }
}

void Worker::reduce(const Block& barrier) {
    u32 count = 0, arrived = 0;
    for (const Warp& warp : warps_) {
        const i32* holds = reinterpret_cast<const i32*>(warp.registers + barrier.predicate);
        count += __builtin_popcount(lanes_set(holds) & warp.waiting);
        arrived += __builtin_popcount(warp.waiting);
    }
    if (barrier.result < 0) return;
    const u32 answer =
        barrier.reduction == POPC
            ? count
            : 0 - static_cast<u32>(barrier.reduction == AND ? count == arrived : count > 0);
    for (Warp& warp : warps_) {
        u32* row = reinterpret_cast<u32*>(warp.registers + barrier.result);
        each_lane(warp.waiting, [&](int i) { row[i] = answer; });
    }
}

// Runs a warp until all of its lanes wait or have left. Returns false if it stopped earlier.
bool Worker::run_warp(Warp& warp) {
    if (!warp.pending_count) return true;
    c_.warp = &warp;
    c_.registers = warp.registers;
    const Handler* const handlers = handlers_;
    Counts& counts = c_.counts;
    Pending now = lowest(warp);
    for (;;) {
        const Block& block = launch_.blocks[now.block];
        current_ = now.block;
        if (--patience_ <= 0 && !may_go_on()) {
            warp.pending[warp.pending_count++] = now;
            return false;
        }
        c_.activate(now.lanes);
        counts.block_warps[now.block]++;
        counts.block_lanes[now.block] += __builtin_popcount(now.lanes);
        ticks_ += static_cast<i64>(block.charge) * LANES;
        for (i32 n = block.first; n < block.last; n++) {
            const Op& op = launch_.ops[n];
            handlers[op.handler](c_, op);
        }
        switch (block.ending) {
            case JUMP: now.block = block.target; break;
            case BRANCH: {
                const u32 on = branches(c_, counts, block, now.block, now.lanes);
                const u32 off = now.lanes & ~on;
                if (!off) {
                    now.block = block.target;
                } else if (!on) {
                    now.block = block.otherwise;
                } else {
                    counts.diverged_warps[now.block]++;
                    add(warp, {block.target, on});
                    now = {block.otherwise, off};
                }
                break;
            }
            case SWITCH:
                counts.diverged_warps[now.block] += switch_to(c_, block, now.lanes, warp);
                now = lowest(warp);
                continue;
            case BARRIER:
                wait_at_barrier(warp, now.block, now.lanes);
                if (!warp.pending_count) return true;
                now = lowest(warp);
                continue;
            case TRAP: throw Suspicion{LEFT_TO_THE_JUDGE, 0, __builtin_ctz(now.lanes)};
            default:  // EXIT
                warp.exited |= now.lanes;
                if (!warp.pending_count) return true;
                now = lowest(warp);
                continue;
        }
        if (warp.pending_count) {
            add(warp, now);
            now = lowest(warp);
        }
    }
}

// Returns the thread instructions of all workers.
i64 Worker::tell_ticks() {
    const i64 spent = shared_.ticks += ticks_ - told_;
    told_ = ticks_;
    return spent;
}

// Checks the budget and the time now and then. Returns false to stop here.
bool Worker::may_go_on() {
    patience_ = PATIENCE;
    const i64 spent = tell_ticks();
    if (spent > launch_.budget) {
        verdict = {OVER_BUDGET,
                   NO_REASON,
                   0,
                   current_,
                   static_cast<i64>(block_),
                   c_.thread(__builtin_ctz(c_.active)),
                   0,
                   spent};
        shared_.stop = true;
        outcome_ = OVER_BUDGET;
        return false;
    }
    outcome_ = shared_.stop ? DONE : PAUSED;
    return outcome_ == PAUSED && Clock::now() < deadline_;
}

}  // namespace machine
