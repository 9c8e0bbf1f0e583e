// Which of another thread's data a thread may read after a fence and an atomic: tickets, locks,
// flags.
//
// A thread that executes an atomic (or a volatile store) publishes, under that word, what its block did before
// the thread's last fence, or before the last fence of a thread that it has met since. A thread that then
// executes an atomic or a volatile load on the word acquires this for its block; only for its warp, and for warps
// that this one meets at barriers, if the publisher belongs to the same block, and only for itself if it belongs to
// the same warp. This is more
// generous than CUDA's memory model, which also requires a barrier between the publishing or acquiring thread
// and the other threads of its block, requires that the acquiring access has seen the publishing one, and
// requires a fence after it. That fence is required here only where a lock is taken (`locks.h`).

#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "locks.h"

namespace machine {

class ReleaseAcquire {
   public:
    ReleaseAcquire() = default;
    ReleaseAcquire(const ReleaseAcquire&) = delete;  // because `last_` points into `answers_`

    struct Published {
        int thread;
        i64 fence, fence_for_all, when;
        Bare bare;  // when the thread held a lock without a fence, which this does not cover
    };

    // The place where a lock was taken without a fence, if this is the only reason why the last
    // result was negative; otherwise -1.
    mutable i32 bare_site = -1;

    bool used() const { return !words_.empty() || !own_words_.empty(); }

    // New blocks begin. What earlier ones did in their shared memory does not matter to them if that memory is
    // `private_to_block`.
    void start(bool private_to_block) {
        acquired_in_block_.clear();
        if (private_to_block) own_words_.clear();
        private_to_block_ = private_to_block;
    }

    void publish(i64 word, u64 block, const Published& entry) {
        auto& entries = (is_own(word) ? own_words_ : words_)[word][block];
        if (!entries.empty()) {
            const Published& last = entries.back();
            if (last.thread == entry.thread && last.fence == entry.fence &&
                last.fence_for_all == entry.fence_for_all)
                return;
        }
        entries.push_back(entry);
        changes_ += tells_other_blocks(word);
    }

    // `for_all`: also acquires from other blocks.
    void acquire(i64 word, u64 block, int thread, i64 now, bool for_all) {
        if (!published(word)) return;
        acquired_in_block_[block][word].note(thread, now);
        if (!for_all || !tells_other_blocks(word)) return;
        changes_++;
        i64& known = acquired_[block][word];
        known = std::max(known, now);
    }

    // Warps of a block have met: what threads of the given ones have acquired until some time, those that waited
    // have acquired, too. Each is a warp and that time.
    void pass_on(u64 block, const std::vector<int>& who, const std::vector<std::pair<int, i64>>& from) {
        const auto found = acquired_in_block_.find(block);
        if (found == acquired_in_block_.end()) return;
        for (auto& [word, threads] : found->second) {
            i64 latest = -1;
            for (const auto& [warp, until] : from)
                latest = std::max(latest, std::min(until, threads.latest(warp * LANES, (warp + 1) * LANES)));
            for (const int w : who)
                if (threads.latest(w * LANES, (w + 1) * LANES) < latest) threads.note(w * LANES, latest);
        }
    }

    // Whether one block may see what another did at that time, possibly by way of other blocks.
    // This is asked for every word of an access, so the last result for two blocks is kept: a
    // positive result holds for ever, a negative one until something is published or acquired.
    bool between_blocks(u64 earlier, i64 when, u64 later) const {
        bare_site = -1;
        Answer& answer = answer_for(earlier, later);
        if (answer.seen && shows(*answer.seen, when)) return true;
        if (answer.denied_at == changes_ && when >= answer.denied) return false;
        bare_site = -1;
        if (const Published* const entry = find(earlier, when, later)) {
            answer.seen = *entry;
            return true;
        }
        // An entry that does not cover one time because of a lock may cover a later one.
        if (bare_site < 0) answer.denied_at = changes_, answer.denied = when;
        return false;
    }

    // The same between two threads of a block. Between two threads of one warp, it may go by way of a third
    // thread in another warp.
    bool within_block(u64 block, int earlier, i64 when, int later) const {
        bare_site = -1;
        const bool same_warp = earlier / LANES == later / LANES;
        return published_for(block, later, END_OF_TIME, same_warp, [&](const Published& entry) {
            if (entry.fence <= when || !covers(entry, when, false)) return false;
            if (!same_warp) return entry.thread != later;
            if (entry.thread / LANES == later / LANES) return entry.thread == earlier;
            return published_for(block, entry.thread, entry.fence, false, [&](const Published& each) {
                return each.thread == earlier && each.fence > when && covers(each, when, false);
            });
        });
    }

   private:
    using Words = std::unordered_map<i64, std::map<u64, std::vector<Published>>>;  // by word and block

    // When each thread of a block last acquired a word.
    class Threads {
       public:
        void note(int thread, i64 when) {
            const auto at = place(thread);
            if (at == known_.end() || at->first != thread)
                known_.insert(at, {thread, when});
            else
                at->second = std::max(at->second, when);
        }
        // The last time of any thread in a range; -1 if none has.
        i64 latest(int first, int end) const {
            i64 found = -1;
            for (auto each = place(first); each != known_.end() && each->first < end; ++each)
                found = std::max(found, each->second);
            return found;
        }

       private:
        using Known = std::vector<std::pair<int, i64>>;

        template <class All>
        static auto place_in(All& all, int thread) {
            if (all.empty() || all.back().first < thread) return all.end();  // threads usually come in ascending order
            return std::lower_bound(all.begin(), all.end(), thread,
                                    [](const auto& each, int to) { return each.first < to; });
        }
        Known::iterator place(int thread) { return place_in(known_, thread); }
        Known::const_iterator place(int thread) const { return place_in(known_, thread); }

        Known known_;  // by thread, in order
    };

    // Words of shared memory have negative numbers (`handovers.h`).
    static bool is_own(i64 word) { return word < 0; }
    bool tells_other_blocks(i64 word) const { return !(private_to_block_ && is_own(word)); }

    const std::map<u64, std::vector<Published>>* published(i64 word) const {
        const Words& all = is_own(word) ? own_words_ : words_;
        const auto found = all.find(word);
        return found == all.end() ? nullptr : &found->second;
    }

    struct Answer {
        std::optional<Published> seen;
        u64 denied_at = 0;  // the number of changes at a negative answer
        i64 denied = 0;     // which holds from this time on
    };

    Answer& answer_for(u64 earlier, u64 later) const {
        if (!last_ || last_earlier_ != earlier || last_later_ != later) {
            last_ = &answers_[later][earlier];
            last_earlier_ = earlier, last_later_ = later;
        }
        return *last_;
    }

    static constexpr size_t MOST_BLOCKS = 4096;
    static constexpr i64 END_OF_TIME = std::numeric_limits<i64>::max();

    // Whether `is` holds for any entry that a thread's warp (if `alone`, only the thread itself) has acquired
    // until that time. The latest entries for each word are tried first.
    template <typename Is>
    bool published_for(u64 block, int thread, i64 until, bool alone, const Is& is) const {
        const auto found = acquired_in_block_.find(block);
        if (found == acquired_in_block_.end()) return false;
        const int first = alone ? thread : thread / LANES * LANES, end = first + (alone ? 1 : LANES);
        for (const auto& [word, threads] : found->second) {
            const i64 latest = threads.latest(first, end);
            const auto& by_block = *published(word);
            const auto by = by_block.find(block);
            if (latest < 0 || by == by_block.end()) continue;
            const std::vector<Published>& entries = by->second;  // in the order of `when`
            auto entry = std::upper_bound(
                entries.begin(), entries.end(), std::min(latest, until),
                [](i64 time, const Published& each) { return time < each.when; });
            while (entry != entries.begin())
                if (is(*--entry)) return true;
        }
        return false;
    }

    const Published* find(u64 earlier, i64 when, u64 later) const {
        std::vector<u64> todo{later};
        std::unordered_set<u64> seen{later};
        while (!todo.empty()) {
            const auto found = acquired_.find(todo.back());
            todo.pop_back();
            if (found == acquired_.end()) continue;
            for (const auto& [word, latest] : found->second) {
                const auto& by_block = *published(word);
                const auto by = by_block.find(earlier);
                if (by != by_block.end())
                    for (const Published& entry : by->second)
                        if (entry.when <= latest && shows(entry, when)) return &entry;
                if (seen.size() >= MOST_BLOCKS) continue;
                for (const auto& [block, entries] : by_block)
                    if (seen.insert(block).second) todo.push_back(block);
            }
        }
        return nullptr;
    }

    bool shows(const Published& entry, i64 when) const {
        return entry.fence_for_all > when && covers(entry, when, true);
    }

    bool covers(const Published& entry, i64 when, bool for_all) const {
        if (!entry.bare.hides(when, for_all)) return true;
        bare_site = entry.bare.site;
        return false;
    }

    Words words_, own_words_;
    bool private_to_block_ = false;
    std::unordered_map<u64, std::map<i64, i64>> acquired_;  // by block and word: when
    std::unordered_map<u64, std::map<i64, Threads>> acquired_in_block_;
    u64 changes_ = 1;  // in what is published or acquired between blocks

    mutable std::unordered_map<u64, std::unordered_map<u64, Answer>> answers_;  // by later, earlier block
    mutable Answer* last_ = nullptr;
    mutable u64 last_earlier_ = 0, last_later_ = 0;
};

}  // namespace machine
