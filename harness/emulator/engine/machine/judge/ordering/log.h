// A log of accesses, so that an old one can still be named, and which accesses may meet unordered.
//
// For each word, the checks keep stamps of its last accesses. A stamp is one integer that holds a number from
// the log, the kind of access and the lane. Numbers ascend, so the accesses before a barrier are those with
// numbers below the barrier's.

#pragma once

#include <algorithm>

#include "judge/chunk.h"

namespace machine {

constexpr int MARK_KIND_SHIFT = 28, EVENT_SHIFT = 30;
constexpr u64 SILENT = u64(1) << 27;  // a write that changed nothing, like all before it
constexpr u64 LANE_MASK = SILENT - 1;

inline i64 event_of(u64 stamp) { return static_cast<i64>(stamp >> EVENT_SHIFT); }
inline int lane_of(u64 stamp) { return static_cast<int>(stamp & LANE_MASK); }
inline i32 kind_of(u64 stamp) { return stamp >> MARK_KIND_SHIFT & 3; }

// Numbers the accesses and fences of a launch in the order in which they happen.
class Log {
   public:
    i64 now() const { return static_cast<i64>(sites_.size()); }  // the number of the next access
    i64 add(i32 site) {
        sites_.push_back(site);
        return now() - 1;
    }
    i32 site(i64 event) const { return sites_[event]; }
    void begin_chunk(u64 first_block) {
        chunks_.push_back(now());
        first_blocks_.push_back(first_block);
    }
    i64 chunk_began() const { return chunks_.back(); }
    u64 first_block() const { return first_blocks_.back(); }  // of the chunk that is executed
    // The first thread block of the chunk to which an event belongs.
    u64 first_block(i64 event) const {
        const auto after = std::upper_bound(chunks_.begin(), chunks_.end(), event);
        return first_blocks_[after - chunks_.begin() - 1];
    }

   private:
    std::vector<i32> sites_{0};  // one entry, so that no access has the number 0
    std::vector<i64> chunks_;
    std::vector<u64> first_blocks_;
};

// Whether two accesses of these kinds may meet unordered.
//
// Atomics may meet atomics, and volatile loads may meet atomics. If the word is a flag (`volatile_words.h`), volatile
// accesses of different warps may meet each other, and volatile stores may meet atomics. Within a
// warp, volatile accesses come from programs written when lanes still ran in lockstep, and are a
// race. For other blocks, an atomic of block scope is a plain access.
enum Meets { RACES, MAY_MEET, MAY_MEET_AT_FLAGS };

inline Meets may_meet(i32 before, i32 now, bool same_warp, bool same_block, bool both_write) {
    const auto seen = [&](i32 kind) {
        return kind != BLOCK_ATOMIC ? kind : same_block ? i32(ATOMIC) : i32(PLAIN);
    };
    before = seen(before), now = seen(now);
    if (before == PLAIN || now == PLAIN) return RACES;
    if (before == ATOMIC && now == ATOMIC) return MAY_MEET;
    if (before == ATOMIC || now == ATOMIC) return both_write ? MAY_MEET_AT_FLAGS : MAY_MEET;
    return same_warp ? RACES : MAY_MEET_AT_FLAGS;
}

}  // namespace machine
