// What a thread knows of another's accesses: through barriers and fences (`ordering.h`), through copies that
// have ended (`flights.h`), and through words by which one thread hands something over to another: flags,
// tickets and locks (`release_acquire.h`, `locks.h`). Blocks have the numbers that `log.h` gives them.

#pragma once

#include "log.h"
#include "ordering.h"
#include "release_acquire.h"
#include "under_way.h"

namespace machine {

class Handovers {
   public:
    Handovers(const Judged& judged, const Geometry& geometry, const ClusterBarriers& clusters)
        : ordering(geometry, clusters), judged_(judged), geometry_(geometry) {}

    Log log;
    Ordering ordering;
    Flights flights;

    void start(u64 first_block) {
        log.begin_chunk(first_block);
        ordering.start(log.now());
        flights.start();
        locks_.start();
        handover_.start(geometry_.cluster == 1);
        phases_.clear();
    }

    void fence(const Selection& lanes, bool for_all) {
        fenced_ = true;
        each_of(lanes, [&](int w, int i) {
            ordering.fence(geometry_.lane(w, i), for_all, log.now());
        });
        after_locks(lanes, for_all);
    }

    // Lanes meet, at a barrier or within a warp, or execute a fence: what they acquire by the locks that they
    // have taken takes effect now.
    void after_locks(const Selection& lanes, bool for_all) {
        if (!locks_.any()) return;
        each_of(lanes, [&](int w, int i) {
            const int lane = geometry_.lane(w, i);
            locks_.fence(lane, for_all, log.now(), [&](const Locks::Acquisition& each, bool wide) {
                handover_.acquire(each.word, block_number(lane), geometry_.thread_of(lane),
                                  each.when, wide);
            });
        });
    }

    // A compare-and-swap that was just executed has changed the word of an access from `value`.
    void take_lock(const Request& request, const Touch& touch, u64 value) {
        const bool is_fence = judged_.traits[request.site] & IS_FENCE;
        locks_.take(touch.lane, word_of(request, touch), value, log.now() - 1, request.site, is_fence);
    }
    bool locks_held() const { return locks_.held(); }

    // A phase of an mbarrier in the block's shared memory has ended: what was published there before is
    // visible to every thread that waits for the phase.
    void phase_over(const Touch& touch) {
        const i64 word = word_of_block(touch);
        phases_[word] = log.now() - 1;
        flights.phase_over(word);
    }
    // A unique number for a word of the block's shared memory.
    i64 word_of_block(const Touch& touch) const { return own_word(touch.address, home(touch)); }

    // A phase of a cluster's barrier is complete: its blocks have published what they did until then, and
    // know what the others have published.
    void cluster_met(int first_block, i64 released) {
        if (geometry_.cluster == 1) return;
        const i64 now = log.now(), word = -(i64(1) << 60) - static_cast<i64>(log.first_block()) - first_block;
        for (int block = first_block; block < first_block + geometry_.cluster; block++) {
            const u64 number = block_number(block * geometry_.threads);
            handover_.publish(word, number, {0, released, released, now, {}});
        }
        for (int block = first_block; block < first_block + geometry_.cluster; block++)
            handover_.acquire(word, block_number(block * geometry_.threads), 0, now, true);
    }

    // Some warps of a block have met at a barrier, at which others have only arrived: each warp that waited knows
    // what these warps did before they arrived, and what they had been told until then.
    void some_warps(int block, const std::vector<int>& who, const std::vector<Ordering::Arrival>& others = {}) {
        const i64 now = log.now();
        ordering.some_warps(block, who, now, others);
        if (!handover_.used()) return;
        std::vector<std::pair<int, i64>> from;
        for (const int w : who) from.emplace_back(w, now);
        for (const Ordering::Arrival& each : others) from.emplace_back(each.warp, each.when);
        handover_.pass_on(log.first_block() + block, who, from);
    }

    // Whether a lane knows what another lane of the chunk did at that time.
    bool knows(int lane, int other, i64 when) const {
        const bool inside = geometry_.block_of(lane) == geometry_.block_of(other);
        if (near_by(lane, other) && ordering.ordered(other, when, lane)) return true;
        return handed_over(inside, other, block_number(other), when, lane);
    }

   protected:
    static i64 own_word(i64 address, u64 block) {
        return -1 - address - (static_cast<i64>(block) << 24);
    }

    // The number of the thread block whose shared memory an access goes to.
    u64 home(const Touch& touch) const { return log.first_block() + home_of(geometry_, touch); }
    // The number of a lane's thread block.
    u64 block_number(int lane) const {
        return log.first_block() + geometry_.block_of(lane);
    }
    // A unique number for a word of memory, `behind` bytes after the beginning of an access.
    i64 word_of(const Request& request, const Touch& touch, i64 behind = 0) const {
        const i64 address = touch.address + behind;
        return request.memory == SHARED_MEMORY ? own_word(address, home(touch))
                                               : request.base + address;
    }

    u64 block(u64 stamp) const {
        return log.first_block(event_of(stamp)) + geometry_.block_of(lane_of(stamp));
    }
    // Whether two lanes belong to one cluster or, without clusters, to one block.
    bool near_by(int one, int other) const {
        return geometry_.cluster_of(geometry_.block_of(one)) == geometry_.cluster_of(geometry_.block_of(other));
    }

    // Locks and flags: handles an atomic or volatile access that has just been logged.
    void meet(const Request& request, i64 now) {
        const u16 traits = judged_.traits[request.site];
        const bool is_fence = traits & IS_FENCE;
        if (!fenced_ && !is_fence) return;
        const bool for_all = request.kind != BLOCK_ATOMIC;
        for (size_t n = 0; n < request.touches.size(); n++) {
            const Touch& touch = request.touches[n];
            const u64 number = block_number(touch.lane);
            const i64 word = word_of(request, touch);
            const int thread = geometry_.thread_of(touch.lane);
            Bare bare;
            if (!request.given.empty())
                bare = locks_.give_back(touch.lane, word, request.given[n], now);
            if (!(traits & IS_LOAD) && (is_fence || ordering.has_fenced(touch.lane))) {
                const i64 fence = is_fence ? now : ordering.fenced(touch.lane);
                i64 wide = -1;
                if (for_all)
                    wide = is_fence && traits & REACHES_ALL ? now
                                                            : ordering.fenced_for_all(touch.lane);
                handover_.publish(word, number, {thread, fence, wide, now, bare});
            }
            if (traits & OF_MBARRIER) {
                if (traits & IS_LOAD && is_fence) flights.tested(word, touch.address, touch.lane, now);
                const auto over = phases_.find(word);
                if (traits & IS_LOAD && over != phases_.end())
                    handover_.acquire(word, number, thread, over->second, for_all);
            } else if (traits & IS_CAS && !is_fence && locks_.known(word)) {
                locks_.wait(touch.lane, {word, now, for_all, request.site});
            } else if (!(traits & IS_STORE)) {
                handover_.acquire(word, number, thread, now, for_all);
            }
        }
    }

    // Whether a lane knows, through a flag, a ticket or a lock, what another lane did at that time.
    // The other lane belongs to the same block (`inside`) or to `its_block`. `bare` receives the
    // place where a lock was taken without a fence, if that is the reason why the lane does not
    // know it.
    bool handed_over(bool inside, int earlier, u64 its_block, i64 when, int later, i32* bare = nullptr) const {
        if (!handover_.used()) return false;
        const u64 own = block_number(later);
        if (inside ? handover_.within_block(own, geometry_.thread_of(earlier), when, geometry_.thread_of(later))
                   : handover_.between_blocks(its_block, when, own))
            return true;
        if (bare) *bare = handover_.bare_site >= 0 ? handover_.bare_site : locks_.taken_bare(later);
        return false;
    }

    const Judged& judged_;
    const Geometry& geometry_;

   private:
    ReleaseAcquire handover_;
    Locks locks_;
    bool fenced_ = false;
    std::unordered_map<i64, i64> phases_;  // by mbarrier: when its last phase ended
};

}  // namespace machine
