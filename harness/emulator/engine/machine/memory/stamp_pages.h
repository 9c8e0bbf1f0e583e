// The stamps of a launch's buffers. If there are many pages of them, most are folded, that is, compressed.
//
// The page that was unfolded first is folded first: each stamp is replaced by its difference from the one before, which
// takes few values in regular code, so that half a byte identifies it. Stamps of blocks that have ended are first
// reduced to the part that still matters. If a kernel alternates between pages so often that this takes most of its
// time, more pages are left unfolded.

#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <deque>

#include "access.h"
#include "allocation.h"
#include "stamps.h"

namespace machine {

class StampPages {
   public:
    static constexpr int PAGE_SHIFT = 10;  // stamps in a page
    static constexpr size_t FIRST_MOST = size_t(1) << 14;  // pages that are left unfolded

    explicit StampPages(const Launch& launch)
        : launch_(launch), buffers_(launch.buffer_count),
          folds_(launch.jobs == 1 && STAMPS * sizeof(u64) % memory_page() == 0) {}

    // Adds `count` stamps for the writes and as many for the reads of a buffer, all zero. Nothing is folded if several
    // jobs stamp at the same time, or if the system's own pages are larger (64 KiB on many Arm hosts), as these can
    // only be released whole.
    void add(Buffer& buffer, i64 count) {
        const i64 pages = (count >> PAGE_SHIFT) + 1;
        OfBuffer& mine = of(buffer);
        for (Side& side : mine.sides) side.reserve(pages);
        mine.unfolded = zeros<u8>(pages);
        if (!folds_) std::memset(mine.unfolded.get(), 1, pages);
        buffer.written = mine.sides[0].stamps;
        buffer.read = mine.sides[1].stamps;
        buffer.unfolded = mine.unfolded.get();
    }

    // Unfolds the pages that an access goes to. Room is made for all of them first, so that none of them is folded for
    // another. shift: from bytes to pages. started: the lowest stamp of the block that is running.
    void unfold(const Buffer& buffer, const Access& access, int shift, u64 started) {
        if (!folds_) return;
        const auto began = Clock::now();
        make_room(started);
        OfBuffer& mine = of(buffer);
        each_lane(access.active, [&](int i) {
            const i64 first = access.address[i] - buffer.base;
            for (const i64 page : {first >> shift, (first + access.width - 1) >> shift})
                if (!mine.unfolded[page]) unfold(mine, page);
        });
        const auto now = Clock::now();
        spent_ += now - began;
        if (unfolded_again_ < AGAIN_A_LOOK) return;
        if (spent_ > (now - looked_) / 2) most_ *= 2;
        looked_ = now, spent_ = {}, unfolded_again_ = 0;
    }

   private:
    using Clock = std::chrono::steady_clock;

    static constexpr int STAMPS = 1 << PAGE_SHIFT, MOST_STEPS = 16, STEPS_IN_A_WORD = 16;
    static constexpr int CODE_WORDS = STAMPS / STEPS_IN_A_WORD;
    static constexpr int AGAIN_A_LOOK = 1 << 12;

    static size_t memory_page() {
        static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        return bytes;
    }

    struct Folded {
        u64 codes[CODE_WORDS] = {};
        u64 steps[MOST_STEPS];
        int count = 0;
    };

    struct Side {
        Held<u64> memory;
        u64* stamps = nullptr;
        std::vector<Held<u64>> folded;  // codes, then steps; null for a page of zeros

        void reserve(i64 pages) {
            const size_t page = memory_page(), more = page / sizeof(u64);
            memory = zeros<u64>((pages << PAGE_SHIFT) + more);
            const uintptr_t first = reinterpret_cast<uintptr_t>(memory.get());
            stamps = reinterpret_cast<u64*>((first + page - 1) / page * page);
            folded.resize(pages);
        }

        // Returns whether the page had any stamps.
        bool unfold(i64 page) {
            const Held<u64> from = std::move(folded[page]);
            if (!from) return false;
            u64* to = stamps + (page << PAGE_SHIFT);
            const u64* steps = from.get() + CODE_WORDS;
            u64 stamp = 0;
            for (int w = 0; w < CODE_WORDS; w++) {
                u64 codes = from[w];
                for (int n = 0; n < STEPS_IN_A_WORD; n++, codes >>= 4)
                    *to++ = stamp += steps[codes & 15];
            }
            return true;
        }

        void put_away(i64 page, const Folded& page_folded) {
            const bool is_zero = page_folded.count == 1 && page_folded.steps[0] == 0;
            if (is_zero) return;
            folded[page] = unset<u64>(CODE_WORDS + page_folded.count);
            std::memcpy(folded[page].get(), page_folded.codes, sizeof page_folded.codes);
            std::memcpy(folded[page].get() + CODE_WORDS, page_folded.steps,
                        page_folded.count * sizeof(u64));
            madvise(stamps + (page << PAGE_SHIFT), STAMPS * sizeof(u64), MADV_DONTNEED);
        }
    };

    struct OfBuffer {
        Side sides[2];
        Held<u8> unfolded;
    };

    struct Place {
        OfBuffer* buffer;
        i64 page;
    };

    OfBuffer& of(const Buffer& buffer) { return buffers_[&buffer - launch_.buffers]; }

    void make_room(u64 started) {
        while (queue_.size() >= most_) {
            const Place oldest = queue_.front();
            queue_.pop_front();
            if (fold(oldest, started)) continue;
            queue_.push_back(oldest);  // the page is too irregular to be folded
            return;
        }
    }

    void unfold(OfBuffer& mine, i64 page) {
        for (Side& side : mine.sides) unfolded_again_ += side.unfold(page);
        mine.unfolded[page] = 1;
        queue_.push_back({&mine, page});
    }

    // Returns false if a page has too many different steps.
    bool fold(Place place, u64 started) {
        OfBuffer& mine = *place.buffer;
        Folded found[2];
        for (int side = 0; side < 2; side++)
            if (!steps_of(mine.sides[side].stamps + (place.page << PAGE_SHIFT), started, found[side]))
                return false;
        for (int side = 0; side < 2; side++) mine.sides[side].put_away(place.page, found[side]);
        mine.unfolded[place.page] = 0;
        return true;
    }

    static bool steps_of(const u64* stamps, u64 started, Folded& found) {
        u64 before = 0;
        int code = 0;
        for (int n = 0; n < STAMPS; n++) {
            const bool has_ended = stamps[n] && stamps[n] < started;
            const u64 stamp = has_ended ? Stamp::of_the_past(stamps[n]) : stamps[n];
            const u64 step = stamp - before;
            before = stamp;
            if (found.count == 0 || found.steps[code] != step) {
                for (code = 0; code < found.count && found.steps[code] != step;) code++;
                if (code == MOST_STEPS) return false;
                if (code == found.count) found.steps[found.count++] = step;
            }
            found.codes[n / STEPS_IN_A_WORD] |= u64(code) << n % STEPS_IN_A_WORD * 4;
        }
        return true;
    }

    const Launch& launch_;
    std::vector<OfBuffer> buffers_;
    bool folds_;
    size_t most_ = FIRST_MOST;
    int unfolded_again_ = 0;
    Clock::time_point looked_ = Clock::now();
    Clock::duration spent_{};  // since `looked_`
    std::deque<Place> queue_;  // unfolded pages, in the order in which they were unfolded
};

}  // namespace machine
