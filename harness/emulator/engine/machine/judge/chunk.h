// What an exact run works on: a chunk of thread blocks whose warps go through the program together.

#pragma once

#include <vector>

#include "memory/access.h"
#include "allocation.h"

namespace machine {

// --- shared with Python -------------------------------------------------------------------------

// What is known of an instruction, by site.
enum Trait : u8 { IS_FENCE = 1, REACHES_ALL = 2, IS_LOAD = 4, IS_STORE = 8, SPECULATIVE = 16,
                  OF_MBARRIER = 32 };

// By byte of a buffer: 1 + the site that was the first to do it, or 0.
struct Observed {
    i32 *read, *written, *read_before_write;
};

// A loop that may wait, by the basic block that it turns around, with the rows that tell a pass in
// vain; a row of 8-byte lanes is marked by its lowest bit.
struct Head {
    i32 block, first, count;
};

struct Meeting {  // a basic block by which lanes of a warp meet, and the row of their mask
    i32 block, mask;
};

struct UnsetRegister {
    i32 slot, row;
};

// Prints for a lane: its thread block and lane in the chunk, the addresses of the format and of its
// arguments. The number of arguments, or less than 0 if that was too much.
using Print = i32 (*)(i64 block, i64 lane, u64 format, u64 arguments);

struct Judged {
    const u8* traits;
    const Head* heads;
    const i32* watched;
    const Meeting* meetings;
    const UnsetRegister* unset;
    const Observed* observed;  // by buffer, or null
    Print print;
    i32 head_count, meeting_count, unset_count;
    i32 clocks;        // whether the program looks at a clock
    i32 chunk_blocks;  // thread blocks that execute together
    i32 stack_end;     // of local memory
    i32 zeroed_at, zeroed_bytes;  // of shared memory: what the system clears for itself
};

// What is wrong. The details of each are told in `verdicts.py`.
enum What : i32 {
    OUT_OF_BLOCK_MEMORY, MISALIGNED_IN_BLOCK_MEMORY, OUT_OF_BUFFERS, MISALIGNED_IN_BUFFER,
    WRITE_TO_READ_ONLY, RACE_BETWEEN, RACE_AT_ONCE, NEVER_WRITTEN, UNSET, ABSENT_LANE, LANE_MISSED,
    LANE_NOT_NAMED, BARRIERS_APART, BARRIER_LEFT, BARRIER_STUCK, LOOP_STUCK, NO_TARGET, TRAPPED,
    ASSERTED, STACK_USED_UP, PRINTED_TOO_MUCH, NOT_WHOLE_WARP, MISALIGNED_MATRIX_ROW,
    TOO_MANY_ARRIVALS, COPIED_IN_PART, NOT_A_TEXTURE, BEYOND_SURFACE,
};

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

// A fault on its way to the launch. `lane` is a lane of the chunk.
struct Accusation {
    What what;
    i32 site;
    int lane;
    std::vector<i64> details;
};

// --- accesses -----------------------------------------------------------------------------------

// What one lane accesses; in the order of lanes, over all warps that execute the instruction.
struct Touch {
    i64 address;  // in its memory, from where that begins
    int warp, lane;
};
using Touches = std::vector<Touch>;

// Memories by number: buffers from 0 on.
enum : int { SHARED_MEMORY = -1, LOCAL_MEMORY = -2 };

// One instruction's access to one memory by all its lanes.
struct Request {
    i32 site, kind;
    Verb verb;
    int word, count;  // bytes a word and words
    int memory;
    i64 base;  // what is to be added to an address to tell it from those of other buffers
    Touches touches;

    int width() const { return word * count; }
};

}  // namespace machine
