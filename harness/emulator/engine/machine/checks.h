// Checks that suspect races and reads of unwritten memory; whether these are faults is left to the judge.
//
// Each word has a stamp for its last write and one for its reads, which say when, by which threads and how. An access
// that nothing here orders after another thread's stamp raises a Suspicion; the judge then runs the launch again and
// decides. These checks may therefore suspect too much but never too little: they only know about barriers of a whole
// block and meetings of a whole warp.

#pragma once

#include "allocation.h"
#include "stamps.h"

namespace machine {

// Reads of shared memory that their words' stamps already cover, and will cover until the next write.
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

    void begin_block(u64 number) {
        block_ = number + 1;
        now_ = barrier_ = block_ << (Stamp::BLOCK_SHIFT - Stamp::EPOCH_SHIFT);
        touched_ = false;
        noted.forget_all();
    }

    u64 now() const { return now_; }

    void barrier() {
        barrier_ = next_epoch();
        noted.forget_all();
    }
    void meet(Warp& warp) { warp.synced = next_epoch(); }

    // The stamp of an access that happens now.
    u64 stamp(int thread, u64 kind, u64 readers = Stamp::ONE_THREAD) {
        touched_ = true;
        return Stamp::make(now_, thread, kind) | readers << Stamp::READERS_SHIFT;
    }

   private:
    u64 next_epoch() {
        if (touched_) {
            if ((++now_ & Stamp::MOST_EPOCHS) == Stamp::MOST_EPOCHS)
                throw Suspicion{TOO_LONG, 0, 0};
            touched_ = false;
        }
        return now_;
    }

    bool touched_ = false;  // whether any word has a stamp of this epoch
};

}  // namespace machine
