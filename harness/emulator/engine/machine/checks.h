// Checks that suspect races and reads of uninitialised memory; the judge decides whether these are
// faults.
//
// Each word has a stamp for its last write and one for its reads, which say when, by which threads and how. An access
// that nothing here orders after another thread's stamp raises a Suspicion; the judge then runs the launch again and
// decides. These checks may therefore suspect too much but never too little: they only know about barriers of a whole
// block, meetings of a whole warp, and the ends of mbarriers' phases.

#pragma once

#include "allocation.h"
#include "phases.h"
#include "stamps.h"

namespace machine {

// Reads of shared memory that the stamps of the words already cover, and will cover until the next
// write.
class NotedReads {
   public:
    bool has(const Pattern& pattern, i64 first) { return place(pattern, first) == of(pattern, first); }
    void add(const Pattern& pattern, i64 first) { place(pattern, first) = of(pattern, first); }
    void forget_all() { state_++; }

   private:
    struct Noted {
        const Pattern* pattern;
        u64 number, state;
        i64 first;

        bool operator==(const Noted& o) const {
            return pattern == o.pattern && number == o.number && state == o.state && first == o.first;
        }
    };
    static constexpr int PLACE_BITS = 12;

    Noted of(const Pattern& pattern, i64 first) const {
        return {&pattern, pattern.number, state_, first};
    }
    Noted& place(const Pattern& pattern, i64 first) {
        const u64 which = (reinterpret_cast<uintptr_t>(&pattern) + first) * 0x9E3779B97F4A7C15u;
        return places_[which >> (64 - PLACE_BITS)];
    }

    Held<Noted> places_ = zeros<Noted>(1 << PLACE_BITS);
    u64 state_ = 1;
};

class Checks : public Moment {
   public:
    NotedReads noted;
    bool has_flights = false;  // whether any copies of the block report to an mbarrier

    // `warps`: the number in a block. They may wait for each other at mbarriers if they run
    // `in_step`.
    Checks(const std::vector<Warp>& warps, bool in_step) : warps_(warps), in_step_(in_step) {
        if (in_step) span_bits_ = Stamp::span(Stamp::MOST_WARP, Stamp::MOST_WARP);
    }

    void begin_block(u64 number) {
        phases_.clear();
        if (in_step_) span_ = Stamp::span(0, static_cast<int>(warps_.size()) - 1);
        block_ = number + 1;
        now_ = barrier_ = reads_since_ = block_ << (Stamp::BLOCK_SHIFT - Stamp::EPOCH_SHIFT);
        touched_ = has_flights = false;
        noted.forget_all();
    }

    u64 now() const { return now_; }

    void barrier() {
        barrier_ = reads_since_ = next_epoch();
        noted.forget_all();
        phases_.change();
    }
    void meet(Warp& warp) { warp.synced = next_epoch(); }

    // Lanes of a warp arrive at mbarriers, which ends an epoch: everything that they publish is
    // before it.
    void begin_arrivals() { next_epoch(); }
    void arrive(i64 address, const Warp& warp, bool together) { phases_.arrive(address, warp.number, now_, together); }
    void end_phase(i64 address) { phases_.end(address); }
    u32 phase(i64 address) { return phases_.phase(address); }
    void publish(i64 address, const Warp& warp, u32 lanes, u32 phase) {
        phases_.publish(address, warp.number, lanes, phase);
    }
    // Lanes of a warp test an mbarrier. All accesses that all warps then know of each other count
    // as made before a barrier.
    void test(i64 address, Warp& warp, u32 lanes, bool together) {
        if (!phases_.test(address, warp, lanes, together, now_)) return;
        u64 known = now_;
        for (const Warp& each : warps_)
            if (each.exited != each.threads) known = std::min({known, each.synced, each.acquired});
        if (known <= barrier_) return;
        barrier_ = known;
        noted.forget_all();
    }

    // Lanes of a warp issue copies that signal an mbarrier. Returns the stamp of their writes, to
    // which each thread's number is to be added.
    u64 begin_flight(i64 address, const Warp& warp, u32 lanes) {
        touched_ = has_flights = true;
        const u32 number = phases_.begin(address, warp.number, lanes, now_);
        if (number >= Stamp::MOST_FLIGHTS) throw Suspicion{TOO_LONG, 0, 0};
        return Stamp::in_flight(start(), number, 0);
    }
    bool is_in_flight(u64 stamp) const {
        return in_step_ & of_this_block(stamp) & (Stamp::epoch(stamp) >= Stamp::FIRST_FLIGHT) &
               (Stamp::epoch(stamp) < Stamp::MOST_EPOCHS);
    }
    // As in `Moment`, also for data written by a copy that signals an mbarrier.
    bool harmless(u64 stamp, const Warp& warp, int thread, u64 kind, u64 least) const {
        if (is_in_flight(stamp))
            return phases_.is_done(Stamp::flight(stamp), Stamp::thread(stamp), warp, thread, barrier_);
        return Moment::harmless(stamp, warp, thread, kind, least);
    }
    // Once all threads know that a copy is done, its data counts as written before a barrier.
    void settle(u64& stamp) {
        const u64 first = start() >> Stamp::EPOCH_SHIFT;
        if (!is_in_flight(stamp) || barrier_ == first) return;
        if (phases_.is_done_for_all(Stamp::flight(stamp), warps_, barrier_))
            stamp = Stamp::make(first, Stamp::thread(stamp), PLAIN);
    }

    // The stamp of an access that happens now.
    u64 stamp(int thread, u64 kind, u64 readers = Stamp::ONE_THREAD) {
        touched_ = true;
        return Stamp::make(now_, thread, kind) | readers << Stamp::READERS_SHIFT;
    }

   private:
    u64 next_epoch() {
        if (touched_) {
            if ((++now_ & Stamp::MOST_EPOCHS) == (in_step_ ? Stamp::FIRST_FLIGHT : Stamp::MOST_EPOCHS))
                throw Suspicion{TOO_LONG, 0, 0};
            touched_ = false;
            if (in_step_) reads_since_ = now_, noted.forget_all();
        }
        return now_;
    }

    const std::vector<Warp>& warps_;
    const bool in_step_;
    Phases phases_;
    bool touched_ = false;  // whether any word has a stamp of this epoch
};

}  // namespace machine
