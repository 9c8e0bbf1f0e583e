// What an exact run works on: a chunk of thread blocks whose warps go through the program together.

#pragma once

#include <vector>

#include "memory/access.h"
#include "allocation.h"

namespace machine {

// --- lanes --------------------------------------------------------------------------------------

struct Party {  // lanes of one warp of the chunk
    int warp;
    u32 lanes;
};
using Selection = std::vector<Party>;
using Mask = std::vector<u32>;  // lanes, by warp of the chunk

struct Geometry {
    int blocks, threads, warps;  // warps and threads of a block

    int all_warps() const { return blocks * warps; }
    int all_lanes() const { return blocks * threads; }
    int lane(int warp, int i) const { return warp / warps * threads + warp % warps * LANES + i; }
    int first_of(const Selection& lanes) const {
        return lane(lanes[0].warp, __builtin_ctz(lanes[0].lanes));
    }
    int block_of(int lane) const { return lane / threads; }
    int thread_of(int lane) const { return lane % threads; }
    int warp_of(int lane) const {
        return lane / threads * warps + lane % threads / LANES;
    }
    int place_of(int lane) const { return lane % threads % LANES; }
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
};
using Touches = std::vector<Touch>;

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
