// Races in machine code: what the judge of PTX knows of order, asked of what this code accesses.
//
// Judged are accesses by different warps of a block, and by different blocks. Within a warp nothing
// is: ptxas leaves a `__syncwarp` out where it knows that the lanes are together, so that the code
// no longer says whether the source had one. Lanes that write different values to one word in one
// instruction are found all the same.
//
// A chunk, whose accesses know of each other by lanes, is as many blocks as execute one after another
// or together; it ends when all of them have.

#pragma once

#include <memory>
#include <unordered_map>

#include "addresses.h"
#include "judge/ordering/races.h"

namespace sass {

class Judge {
   public:
    explicit Judge(const Launch& launch);

    // Whether a block may begin: the first one of a chunk waits until the last chunk has ended.
    bool may_begin(i64 number, bool alone) const { return alone || number % chunk_; }
    void begin(i64 number);
    void end(i64 number) { shared_.erase(number); }
    void over() { races_.end(); }

    // `values` are the bytes that each lane is about to store, 16 of them a lane.
    void access(const Context& c, const Access& access, i32 space, machine::Verb verb,
                const Places& places, const u8* values = nullptr);
    void fence(const Context& c);
    // An asynchronous copy has been issued that reads so many bytes at an address; its number. From here
    // until it lands nobody may touch the target, nor write the source.
    u32 take_off(const Context& c, const UnderWay& copy, i64 source, int bytes);
    // Its thread has waited for it.
    void land(const Context& c, const UnderWay& copy);
    // Lanes of a warp that wait at a barrier.
    struct Waiting {
        int warp;
        u32 lanes;
        i32 at;
    };
    // A barrier of the whole block is complete: by all of its threads, and at one line?
    void whole_barrier(i64 block, int alive, const std::vector<Waiting>& there) const;
    // Warps of a block have met at a barrier: all of them, or those named.
    void met(i64 block, const std::vector<int>* warps);

    i64 block_of(const machine::Accusation& found) const {
        return found.first_block + geometry_.block_of(found.lane);
    }
    int thread_of(const machine::Accusation& found) const {
        return geometry_.thread_of(found.lane);
    }

   private:
    static constexpr i64 MOST_LANES = 1 << 20;  // of a chunk: more than any device holds at once

    struct OfCopy {  // the words that it reads, and in which memory
        machine::Ranges to, from;
        machine::Stamps* source;
    };

    machine::Stamps& stamps(int memory, i64 block);
    int lane_of(const Context& c, int i) const {
        return geometry_.lane(static_cast<int>(in_chunk(c.block->number)) * geometry_.warps + c.warp->number, i);
    }
    i64 in_chunk(i64 block) const { return block % chunk_; }

    const Launch& launch_;
    i64 chunk_;
    machine::Judged judged_{};
    machine::Geometry geometry_;
    const machine::Launch without_clusters_{};  // machine code of clusters is refused
    machine::ClusterBarriers clusters_;
    machine::Races races_;
    std::unordered_map<int, machine::Stamps> buffers_;
    std::unordered_map<i64, machine::Stamps> shared_;  // by block
    std::unordered_map<u32, OfCopy> copies_;           // by number
};

}  // namespace sass
