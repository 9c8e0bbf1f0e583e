// A machine that executes warps: the parts of a launch, as Python lays them out, and the state of a warp.
//
// A register is a row of 32 lanes. Lanes are 4 bytes wide, or 8 for 64-bit types; narrower types
// are kept extended in 4 bytes, and a predicate is 0 or all ones, so that it can be used as a mask.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace machine {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

#include "interface.h"

constexpr u32 EVERYBODY = 0xFFFFFFFF;

inline std::array<i64**, 14> of_sites(Counts& counts) {
    return {&counts.requests, &counts.sectors, &counts.colliding,
            &counts.shared_requests, &counts.wavefronts, &counts.wavefronts_ideal,
            &counts.atomic_lanes, &counts.atomic_addresses, &counts.atomic_most_lanes,
            &counts.mixed,
            &counts.bulk_copies, &counts.bulk_sectors, &counts.multicast_requests, &counts.bulk_uncertain};
}

// Lays out the counts of all sites or basic blocks: all of one kind, then all of the next kind.
inline Counts counts_from(i64* first, const Launch& launch) {
    Counts counts;
    for (i64** kind : of_sites(counts)) *kind = first, first += launch.site_count;
    for (i64** kind : {&counts.block_warps, &counts.block_lanes, &counts.taken_lanes,
                       &counts.diverged_warps})
        *kind = first, first += launch.block_count;
    return counts;
}

// --- state --------------------------------------------------------------------------------------

// Why a run was abandoned. The judge then finds out whether there is a fault, and which.
enum Reason : i32 {
    NO_REASON, OUTSIDE, MISALIGNED, READ_ONLY, UNWRITTEN, RACE, BARRIERS, MASK, MIXED_SPACES,
    LEFT_TO_THE_JUDGE, BAD_SWITCH, TOO_LONG, PART_OF_A_WARP, MATRIX_ROW, NOBODY_TO_ARRIVE, NO_TEXTURE,
    OUTSIDE_SURFACE, BAD_COUNT, BAD_METADATA, PHASE_ENDS,
};

struct Suspicion {
    Reason reason;
    i32 site;
    int lane;
};

struct Pending {
    i32 block;
    u32 lanes;
};

// An asynchronous copy in flight, for one instruction of a warp.
struct Copy {
    u32 lanes;
    i32 site;
    i32 width;
    i64 target[LANES];
    i64 group[LANES];
    u8 data[LANES][16];
};

struct Warp {
    u8* registers;
    int number;
    u32 threads;  // the lanes that the block has
    u32 exited;
    u32 waiting;     // lanes at a barrier
    i32 waiting_at;  // the barrier's basic block
    u64 synced;      // the epoch of the warp's last meeting
    // What is known through mbarriers: what other warps did before an epoch and, by lane, what its own warp did.
    u64 acquired, known[LANES];
    int pending_count;
    Pending pending[LANES];  // lanes that are ready, by basic block
    std::vector<Copy> copies;
    i64 committed[LANES];

    // The epoch before which a thread (all lanes if `thread` is negative) knows everything that its
    // own warp did.
    u64 knows_itself(int thread) const { return thread < 0 ? synced : std::max(synced, known[thread % LANES]); }
};

// The addresses of an operation's last access, relative to the first of them.
struct Pattern {
    u64 number = 0;  // of the shapes seen so far
    u32 active = 0;
    i64 relative[LANES];  // relative to the address of the lowest active lane
    i64 low, high;        // of the active lanes
    i64 bits;             // bits that are set in any of those
    bool in_a_row;        // whether every lane is active and directly follows the one before

    // The cost of the access, valid as long as the first address shifts by a multiple of the unit: a word in shared
    // memory, a sector in global memory. The unit is 0 if the cost has not been computed yet.
    i64 unit, first;
    int spent, ideal;  // wavefronts, or sectors
    bool is_ideal_uncertain;

    // The lanes that are the first at their address; none if they have not been determined yet.
    int leader_count;
    u8 leader[LANES];
    u32 alone;  // lanes that are the only one at their address

    // Whether this is the pattern in which exactly these lanes share one address.
    bool is_one_address(u32 lanes) const { return active == lanes && low == high && !in_a_row; }
};

class Checks;
class StampPages;
class Undo;

// The data that an operation works on: a warp, its active lanes, and its block's memory.
struct Context {
    const Launch* launch;
    Counts counts;
    u8* registers;
    u32 active;
    bool full;
    alignas(64) i32 mask[LANES];  // all ones for an active lane
    Pattern* patterns;            // by operation
    Warp* warp;
    u64 block;  // number of the thread block
    u8* shared;
    u64 *shared_written, *shared_read;  // stamps
    u8* local;                          // local memory of the block's first thread
    u32* local_written;                 // by word: the block that wrote it last, plus one
    Checks* checks;                     // null if they are off
    StampPages* stamp_pages;
    Undo* undo;
    bool judged;  // whether the judge runs this and has already made all checks
    i64 clock;    // thread instructions so far

    void activate(u32 lanes) {
        if (lanes == active) return;
        active = lanes;
        full = lanes == EVERYBODY;
        for (int i = 0; i < LANES; i++) mask[i] = -static_cast<i32>(lanes >> i & 1);
    }
    template <class T>
    T* row(i32 offset) const {
        return reinterpret_cast<T*>(registers + offset);
    }
    int thread(int lane) const { return warp->number * LANES + lane; }
};

using Handler = void (*)(Context&, const Op&);

// What the judge must know about an operation besides its result.
enum Role : u8 {
    COMPUTES, LOADS, STORES, UPDATES, ARRIVES, ISSUES_COPY, COMMITS_COPIES, WAITS_FOR_COPIES, HANDS_OVER_COPIES,
    MEETS, ALL_MEET, FENCES, ENTERS_FRAME, COPIES_STRUCT, COPIES_BULK, COPIES_TENSOR, COMMITS_BULK, WAITS_FOR_BULK,
    PRINTS, FAILS, MARKS, ARRIVES_IN_CLUSTER, ARRIVES_IN_MANY, SETS_REGISTERS,
    HOLDS_REGISTERS, READS_FACTOR, TAKES_WORDS, COMMITS_PRODUCTS, WAITS_FOR_PRODUCTS, DISCARDS,
};

struct Entry {
    const char* name;
    Handler handler;
    Role role = COMPUTES;
};

std::vector<Entry> integer_entries();
std::vector<Entry> float_entries();
std::vector<Entry> rounding_entries();
std::vector<Entry> conversion_entries();
std::vector<Entry> half_entries();
std::vector<Entry> fp8_entries();
std::vector<Entry> video_entries();
std::vector<Entry> matrix_entries();
std::vector<Entry> warp_entries();
std::vector<Entry> memory_entries();
std::vector<Entry> mbarrier_entries();
std::vector<Entry> copy_entries();
std::vector<Entry> texture_entries();
std::vector<Entry> system_entries();
std::vector<Entry> cluster_entries();
const std::vector<Entry>& entries();  // all of them
const std::vector<Handler>& handlers();  // theirs

// Orders a job's earlier memory accesses before its next ones, as other jobs see them: an Arm host might otherwise
// reorder them.
inline void in_order(const Context& c) {
    if (c.launch->jobs > 1) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// The lanes whose value in a row of masks is non-zero.
inline u32 lanes_set(const i32* row) {
    u32 set = 0;
    for (int i = 0; i < LANES; i++) set |= static_cast<u32>(row[i] != 0) << i;
    return set;
}

template <class Function>
inline void each_lane(u32 lanes, Function function) {
    if (lanes == EVERYBODY)
        for (int i = 0; i < LANES; i++) function(i);
    else
        for (; lanes; lanes &= lanes - 1) function(__builtin_ctz(lanes));
}

}  // namespace machine
