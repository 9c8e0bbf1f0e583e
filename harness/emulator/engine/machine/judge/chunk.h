// What an exact run works on: a chunk of thread blocks whose warps go through the program together.

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

// A number by which others are divided all the time. Multiplying by its reciprocal, rounded up, is exact for
// numbers of less than 27 bits, as those of lanes and warps in a chunk are, and divisors up to 2^10.
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
    int blocks = 1, threads = 1, warps = 1;  // warps and threads of a block
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
    // The block whose shared memory a thread of another one, or of itself, finds in a window of the
    // cluster's (`cluster.cpp`); -1 where no block has that rank.
    int in_window(int block, i64 window) const {
        if (window == 0) return block;
        return window <= cluster ? block / cluster * cluster + static_cast<int>(window) - 1 : -1;
    }
    // The number by which a block of the launch is told.
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

// A fault on its way to the launch. `lane` is a lane of the chunk: of the one that is executed, or of
// that whose first thread block is named.
struct Accusation {
    What what;
    i32 site;
    int lane;
    std::vector<i64> details;
    i64 first_block = -1;
};

// --- accesses -----------------------------------------------------------------------------------

// What one lane accesses; in the order of lanes, over all warps that execute the instruction.
struct Touch {
    i64 address;  // in its memory, from where that begins
    int warp, lane;
    int block = -1;  // of the chunk, whose shared memory it is, where that is another one's
};
using Touches = std::vector<Touch>;

inline int home_of(const Geometry& geometry, const Touch& touch) {
    return touch.block < 0 ? geometry.block_of(touch.lane) : touch.block;
}

// One instruction's access to one memory by all its lanes.
struct Request {
    i32 site, kind;
    Verb verb;
    int word, count;  // bytes a word and words
    int memory;
    i64 base;  // what is to be added to an address to tell it from those of other buffers
    Touches touches;
    std::vector<u64> given = {};  // by touch, what it puts there; filled where somebody has a lock

    int width() const { return word * count; }
};

}  // namespace machine
