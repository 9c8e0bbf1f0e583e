// Stamps: 64 bits that say when, by which threads and how a word was last accessed, and what follows from that.
//
// A time is the number of the thread block and its epoch. Each barrier or meeting begins a new epoch.

#pragma once

#include <algorithm>

#include "machine.h"

namespace machine {

class Stamp {
   public:
    // How many different readers a stamp for reads represents.
    enum Readers : u64 { ONE_THREAD, ONE_WARP, ONE_BLOCK, SEVERAL_BLOCKS };

    static constexpr int KIND_SHIFT = 10, READERS_SHIFT = 12, EPOCH_SHIFT = 16, BLOCK_SHIFT = 36;
    // The same block has accessed the word in a weaker way before. After a barrier that no longer
    // matters to its own threads, but it does to other blocks.
    static constexpr u64 WEAKER_BEFORE = u64(1) << 14;
    // The block has overwritten its own value: a later write by another thread that leaves the last value unchanged may
    // still have changed an earlier one.
    static constexpr u64 CHANGED_AGAIN = u64(1) << 15;
    static constexpr u64 MOST_EPOCHS = (u64(1) << (BLOCK_SHIFT - EPOCH_SHIFT)) - 1;

    // For the block's own memory: a word that an asynchronous copy in flight writes. No barrier orders the copy, and
    // it counts as no thread's own access.
    static u64 being_written(u64 block_start) {
        return block_start | MOST_EPOCHS << EPOCH_SHIFT | CHANGED_AGAIN | SEVERAL_BLOCKS << READERS_SHIFT;
    }

    // The same for a copy that reports to an mbarrier, with the number of its flight and the thread that issued it. In
    // launches with such copies, epochs have smaller numbers than these.
    static constexpr u64 FIRST_FLIGHT = u64(1) << (BLOCK_SHIFT - EPOCH_SHIFT - 1), MOST_FLIGHTS = FIRST_FLIGHT - 1;
    static u64 in_flight(u64 block_start, u32 number, int thread) {
        return (being_written(block_start) & ~(MOST_EPOCHS << EPOCH_SHIFT)) | (FIRST_FLIGHT + number) << EPOCH_SHIFT |
               static_cast<u64>(thread);
    }
    static u64 epoch(u64 stamp) { return time(stamp) & MOST_EPOCHS; }
    static u32 flight(u64 stamp) { return static_cast<u32>(epoch(stamp) - FIRST_FLIGHT); }

    // For reads by several blocks, which no barrier of one of them orders.
    static constexpr u64 NO_BLOCK = ~u64(0) << BLOCK_SHIFT;

    static constexpr int WARP_BITS = 5;
    static constexpr int MOST_WARP = (1 << WARP_BITS) - 1;
    static constexpr u64 WHO = 1023 | u64(3) << READERS_SHIFT;

    static u64 make(u64 time, int thread, u64 kind) {
        return time << EPOCH_SHIFT | kind << KIND_SHIFT | static_cast<u64>(thread);
    }
    static u64 time(u64 stamp) { return stamp >> EPOCH_SHIFT; }
    static u64 block(u64 stamp) { return stamp >> BLOCK_SHIFT; }
    static int thread(u64 stamp) { return stamp & 1023; }
    static int warp(u64 stamp) { return (stamp & 1023) / LANES; }
    // The readers' warps, from the lowest to the highest number. If there are several, their range
    // takes the place of the thread.
    static u64 span(int lowest, int highest) { return static_cast<u64>(lowest | highest << WARP_BITS); }
    static int lowest(u64 stamp) { return readers(stamp) <= ONE_WARP ? warp(stamp) : stamp & MOST_WARP; }
    static int highest(u64 stamp) { return readers(stamp) <= ONE_WARP ? warp(stamp) : stamp >> WARP_BITS & MOST_WARP; }
    static u64 kind(u64 stamp) { return stamp >> KIND_SHIFT & 3; }
    static u64 readers(u64 stamp) { return stamp >> READERS_SHIFT & 3; }
    static u64 with(u64 stamp, u64 readers, u64 kind) {
        return (stamp & ~(u64(15) << KIND_SHIFT)) | readers << READERS_SHIFT | kind << KIND_SHIFT;
    }
    // The part of a stamp that still matters when its block has ended, which excludes the thread that it belonged to.
    static u64 of_the_past(u64 stamp) {
        const u64 kept = stamp & (WEAKER_BEFORE | CHANGED_AGAIN | u64(3) << KIND_SHIFT);
        return NO_BLOCK | SEVERAL_BLOCKS << READERS_SHIFT | kept;
    }
    static u64 weakened(u64 stamp, u64 before) {
        const bool weaker = ((before & WEAKER_BEFORE) != 0) | (kind(before) < kind(stamp));
        return weaker ? stamp | WEAKER_BEFORE : stamp;
    }
};

// The meaning of stamps at one moment of a block.
class Moment {
   public:
    // How many of two accesses, neither of which is plain, must be atomic, as the sum of their kinds.
    static constexpr u64 ONE_ATOMIC = VOLATILE + ATOMIC, BOTH_ATOMIC = ATOMIC + ATOMIC;

    // Whether a lane's access may be unordered with the accesses that a stamp represents.
    bool harmless(u64 stamp, const Warp& warp, int thread, u64 kind, u64 least) const {
        if (stamp == 0) return true;
        const u64 when = Stamp::time(stamp), readers = Stamp::readers(stamp);
        if (of_this_block(stamp) && readers != Stamp::SEVERAL_BLOCKS) {
            if (readers == Stamp::ONE_THREAD && Stamp::thread(stamp) == thread) return true;
            if (when < barrier_) return true;
            const bool own = Stamp::lowest(stamp) <= warp.number && warp.number <= Stamp::highest(stamp);
            u64 known = own ? warp.knows_itself(thread) : warp.acquired;
            if (readers == Stamp::ONE_BLOCK) known = std::min(known, warp.acquired);
            if (when < known) return true;
        }
        const u64 before = Stamp::kind(stamp);
        if (kind == PLAIN || before == PLAIN) return false;
        if (stamp & Stamp::WEAKER_BEFORE && !of_this_block(stamp)) return false;
        return before + kind >= least;
    }

    // The stamp of a write or an atomic, which must not hide what the same block did before in a weaker way, or with
    // another value (`changes`). In the block's `own` memory, that no longer matters after a barrier.
    u64 over(u64 before, u64 mine, bool changes, bool own) const {
        if (before == 0 || !of_this_block(before)) return mine;
        const bool unordered = Stamp::time(before) >= barrier_;
        if (unordered && Stamp::kind(before) < Stamp::kind(mine))
            mine = Stamp::with(mine, Stamp::ONE_THREAD, Stamp::kind(before));
        if ((unordered || !own) && (changes || before & Stamp::CHANGED_AGAIN))
            mine |= Stamp::CHANGED_AGAIN;
        return Stamp::weakened(mine, before);
    }

    // Whether a write over this stamp hides no other write: none since the last barrier or, in memory that other blocks
    // see, none at all.
    bool hides_nothing(u64 stamp, bool own) const {
        return own ? stamp < barrier_ << Stamp::EPOCH_SHIFT : stamp == 0;
    }

    // Whether the block has done nothing but atomics to a word of its own since the last barrier.
    bool only_updated(u64 written, u64 read) const {
        const u64 now = barrier_ << Stamp::EPOCH_SHIFT;
        return of_this_block(written) & (written >= now) & (Stamp::kind(written) == ATOMIC) &
               (!of_this_block(read) | (read < now));
    }

    // Whether several warps have read the word with plain reads since the last barrier; all of them in this epoch if
    // warps may wait for less than a barrier.
    bool read_by_block(u64 stamp) const {
        return (stamp >= reads_since_ << Stamp::EPOCH_SHIFT) & ((stamp & span_bits_) == span_) & of_this_block(stamp) &
               (Stamp::kind(stamp) == PLAIN) & (Stamp::readers(stamp) == Stamp::ONE_BLOCK);
    }

    bool of_this_block(u64 stamp) const { return Stamp::block(stamp) == block_; }

    // The lowest stamp of this block.
    u64 start() const { return block_ << Stamp::BLOCK_SHIFT; }

    // Whether a stamp is not older than `since`, and a barrier orders it before anything that happens now.
    bool ordered(u64 stamp, u64 since) const {
        return (stamp >= since) & (stamp < barrier_ << Stamp::EPOCH_SHIFT);
    }

    // Whether a stamp is `ordered` before `mine`, a plain access by one thread, or is that thread's own. Not to be used
    // with several jobs, as there may then be stamps of later blocks.
    bool clear(u64 stamp, u64 mine, u64 since, bool unstamped) const {
        const bool own = (stamp >= start()) & (((stamp ^ mine) & Stamp::WHO) == 0);
        return ordered(stamp, since) | own | (unstamped & (stamp == 0));
    }

    // Whether a stamp for reads already covers one more plain read: the whole block has read the word since then, or
    // the same warp since its last meeting.
    bool says_it_all(u64 stamp, u64 mine) const {
        return read_by_block(stamp) |
               ((Stamp::time(stamp) == now_) & (Stamp::kind(stamp) == PLAIN) &
                (Stamp::readers(stamp) == Stamp::ONE_WARP) &
                (Stamp::warp(stamp) == Stamp::warp(mine)));
    }

    // The combined stamp of a read and the reads before it.
    u64 joined(u64 before, u64 mine) const {
        const u64 readers = Stamp::readers(before), kind = least_kind(before, mine);
        const u64 weakened = Stamp::weakened(mine, before);
        const bool alone = (readers | Stamp::readers(mine)) == Stamp::ONE_THREAD;
        const bool same_thread = alone & (Stamp::thread(before) == Stamp::thread(mine));
        const bool same_warp =
            (readers <= Stamp::ONE_WARP) & (Stamp::warp(before) == Stamp::warp(mine));
        const u64 together = same_thread ? Stamp::ONE_THREAD
                             : same_warp ? Stamp::ONE_WARP
                                         : Stamp::ONE_BLOCK;
        const int own = Stamp::warp(mine);
        const u64 span = Stamp::span(std::min(Stamp::lowest(before), own), std::max(Stamp::highest(before), own));
        const u64 who = together == Stamp::ONE_BLOCK ? span : mine & 1023;
        const bool several = !of_this_block(before) | (readers == Stamp::SEVERAL_BLOCKS);
        const u64 found =
            several ? Stamp::NO_BLOCK | Stamp::with(weakened, Stamp::SEVERAL_BLOCKS, kind)
            : Stamp::time(before) < barrier_ ? weakened
                                             : Stamp::with((weakened & ~u64(1023)) | who, together, kind);
        return before == 0 ? mine : found;
    }

   protected:
    u64 block_ = 0, now_ = 0, barrier_ = 0;
    u64 reads_since_ = 0;  // the last barrier, or now if warps may wait for each other in other ways
    u64 span_bits_ = 0, span_ = 0;  // in the latter case, the bits of a stamp for the readers, and those for all warps

   private:
    static u64 least_kind(u64 a, u64 b) {
        return Stamp::kind(a) < Stamp::kind(b) ? Stamp::kind(a) : Stamp::kind(b);
    }
};

}  // namespace machine
