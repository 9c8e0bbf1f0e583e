// Locks, and what is done under a lock that was taken without a fence.
//
// A lock is a word that a compare-and-swap changes and that the same thread sets back to its old value. (A
// word that then changes to yet another value, like the state of a hash table's entry, is a flag.) Between
// the compare-and-swap and the accesses to the data there must be a fence or a meeting of threads, such as a
// barrier or a `__syncwarp`. Without one, the thread may see old data, and other threads may see its writes
// before they see that it held the lock. Until the fence, therefore, the thread has acquired nothing, and
// what it does until then is not published when it releases the lock.

#pragma once

#include <set>
#include <unordered_map>

#include "judge/chunk.h"

namespace machine {

// The time during which a thread held a lock and had executed no fence since taking it; `until_for_all` counts
// only fences of device scope.
struct Bare {
    i64 from = 0, until = 0, until_for_all = 0;
    i32 site = -1;  // of the instruction that took it

    bool hides(i64 when, bool for_all) const {
        return when >= from && when < (for_all ? until_for_all : until);
    }
};

class Locks {
   public:
    struct Acquisition {
        i64 word, when;
        bool for_all;
        i32 site;
    };

    // New blocks begin: no thread holds a lock.
    void start() { taken_.clear(), pending_.clear(); }

    bool known(i64 word) const { return locks_.count(word); }
    bool held() const { return !taken_.empty(); }

    // A lane's compare-and-swap has changed a word from `value`; the instruction may also be a fence.
    void take(int lane, i64 word, u64 value, i64 when, i32 site, bool is_fence) {
        auto& own = taken_[lane];
        for (size_t n = 0; n < own.size(); n++)
            if (own[n].word == word) own.erase(own.begin() + n--);
        if (own.size() == MOST_HELD) own.erase(own.begin());
        const i64 until = is_fence ? when : NEVER;
        own.push_back({word, value, {when, until, until, site}});
    }

    // A lane writes to a word. If this releases a lock, returns the time during which the lane held
    // the lock without a fence.
    Bare give_back(int lane, i64 word, u64 value, i64 now) {
        const auto found = taken_.find(lane);
        if (found == taken_.end()) return {};
        auto& own = found->second;
        for (size_t n = 0; n < own.size(); n++) {
            if (own[n].word != word) continue;
            Bare bare = own[n].bare;
            const bool is_lock = own[n].value == value;
            own.erase(own.begin() + n);
            if (own.empty()) taken_.erase(found);
            if (!is_lock) return {};
            locks_.insert(word);
            bare.until = std::min(bare.until, now), bare.until_for_all = std::min(bare.until_for_all, now);
            return bare;
        }
        return {};
    }

    // A lane may have taken a lock: what it acquires by that takes effect at its next fence.
    void wait(int lane, const Acquisition& acquisition) {
        auto& own = pending_[lane];
        for (Acquisition& each : own)
            if (each.word == acquisition.word) {
                each = acquisition;
                return;
            }
        own.push_back(acquisition);
    }

    // A fence or a meeting: calls `acquire` for everything that the lane has acquired by it.
    template <class Acquire>
    void fence(int lane, bool for_all, i64 now, Acquire acquire) {
        const auto taken = taken_.find(lane);
        if (taken != taken_.end())
            for (Taken& each : taken->second) {
                each.bare.until = std::min(each.bare.until, now);
                if (for_all) each.bare.until_for_all = std::min(each.bare.until_for_all, now);
            }
        const auto found = pending_.find(lane);
        if (found == pending_.end()) return;
        for (const Acquisition& each : found->second) acquire(each, each.for_all && for_all);
        if (for_all) pending_.erase(found);
    }

    bool any() const { return !taken_.empty() || !pending_.empty(); }

    // Where a lane took a lock and has executed no fence since; -1 if nowhere.
    i32 taken_bare(int lane) const {
        const auto found = pending_.find(lane);
        return found == pending_.end() ? -1 : found->second.back().site;
    }

   private:
    static constexpr i64 NEVER = i64(1) << 62;
    // Per thread, at a time. The oldest are forgotten: slots of a table, for example, are never released.
    static constexpr size_t MOST_HELD = 16;

    struct Taken {
        i64 word;
        u64 value;  // before it was taken
        Bare bare;
    };

    std::set<i64> locks_;
    std::unordered_map<int, std::vector<Taken>> taken_;  // by lane
    std::unordered_map<int, std::vector<Acquisition>> pending_;
};

}  // namespace machine
