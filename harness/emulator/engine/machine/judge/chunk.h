// A chunk, the unit of an exact run: thread blocks whose warps go through the program together.

#pragma once

#include <vector>

#include "memory/access.h"
#include "allocation.h"
#include "registers.h"

namespace machine {

// --- lanes --------------------------------------------------------------------------------------

struct Party {  // lanes of one warp of the chunk
    int warp;
    u32 lanes;
};
using Selection = std::vector<Party>;
using Mask = std::vector<u32>;  // lanes, by warp of the chunk

// A divisor that is used very often. Multiplying by its reciprocal, rounded up, is exact for divisors up to 2^10
// and numbers of less than 27 bits, such as those of lanes and warps in a chunk.
class Divisor {
   public:
    Divisor() = default;
    explicit Divisor(int divisor)
        : reciprocal_(((u64(1) << SHIFT) + static_cast<u64>(divisor) - 1) / static_cast<u64>(divisor)) {}

    int quotient(int number) const { return static_cast<int>(static_cast<u64>(number) * reciprocal_ >> SHIFT); }

   private:
    static constexpr int SHIFT = 37;
    u64 reciprocal_ = 0;
};

struct Geometry {
    int blocks = 1, threads = 1, warps = 1;  // `warps` and `threads` are per block
    int cluster = 1;                         // blocks of a cluster
    const Launch* launch = nullptr;
    Divisor by_threads{threads}, by_warps{warps}, by_cluster{cluster};

    int all_warps() const { return blocks * warps; }
    int all_lanes() const { return blocks * threads; }
    int lane(int warp, int i) const {
        const int block = by_warps.quotient(warp);
        return block * threads + (warp - block * warps) * LANES + i;
    }
    int first_of(const Selection& lanes) const {
        return lane(lanes[0].warp, __builtin_ctz(lanes[0].lanes));
    }
    int block_of(int lane) const { return by_threads.quotient(lane); }
    int cluster_of(int block) const { return by_cluster.quotient(block); }
    // The block whose shared memory a thread of `block` finds in a window of the cluster's shared memory
    // (`cluster.cpp`); -1 if no block has that rank.
    int in_window(int block, i64 window) const {
        if (window == 0) return block;
        return window <= cluster ? block / cluster * cluster + static_cast<int>(window) - 1 : -1;
    }
    // The number that identifies a block of the launch in messages.
    i64 in_grid(u64 number) const {
        return cluster == 1 ? static_cast<i64>(number) : BlockPlace(*launch, number).in_grid(*launch);
    }
    int thread_of(int lane) const { return lane - block_of(lane) * threads; }
    int warp_of(int lane) const {
        const int block = block_of(lane);
        return block * warps + static_cast<int>(static_cast<u32>(lane - block * threads) / LANES);
    }
    int place_of(int lane) const { return thread_of(lane) % LANES; }
    u32 lanes_of(int warp) const {
        const int left = threads - warp % warps * LANES;
        return left >= LANES ? EVERYBODY : (u32(1) << left) - 1;
    }
};

template <class Function>
void each_of(const Selection& selection, Function function) {
    for (const Party& party : selection)
        each_lane(party.lanes, [&](int i) { function(party.warp, i); });
}

inline Selection selected(const Mask& mask) {
    Selection out;
    for (size_t w = 0; w < mask.size(); w++)
        if (mask[w]) out.push_back({static_cast<int>(w), mask[w]});
    return out;
}

inline bool any(const Mask& mask) {
    for (const u32 lanes : mask)
        if (lanes) return true;
    return false;
}

// A fault that is thrown to end the launch. `lane` is a lane of the chunk that is executed, or of the chunk that
// begins with `first_block`, if given.
struct Accusation {
    What what;
    i32 site;
    int lane;
    std::vector<i64> details;
    i64 first_block = -1;
};

// --- accesses -----------------------------------------------------------------------------------

// One lane's access. The lanes' accesses are ordered by lane, over all warps that execute the
// instruction.
struct Touch {
    i64 address;  // relative to the beginning of its memory
    int warp, lane;
    int block = -1;  // in the chunk, if the shared memory belongs to a different block from the lane's
};
using Touches = std::vector<Touch>;

inline int home_of(const Geometry& geometry, const Touch& touch) {
    return touch.block < 0 ? geometry.block_of(touch.lane) : touch.block;
}

// An instruction's access, by all its lanes, to one memory.
struct Request {
    i32 site, kind;
    Verb verb;
    int word, count;  // bytes per word, and number of words
    int memory;
    i64 base;  // added to an address to make it unique among all buffers
    Touches touches;
    std::vector<u64> given = {};  // by touch: the value written; filled only while a thread holds a lock

    int width() const { return word * count; }
};

}  // namespace machine
