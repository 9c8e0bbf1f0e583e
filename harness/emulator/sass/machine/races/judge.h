// Races in machine code: applies the PTX judge's rules of ordering to the accesses of machine code.
//
// Accesses by different warps of a block, and by different blocks, are judged. Those within a warp
// are not: ptxas omits a `__syncwarp` if it knows that the lanes have not diverged, so the code no
// longer shows whether the source had one. Lanes that write different values to one word in one
// instruction are still found.
//
// A chunk, in which accesses are identified by lane, is a number of consecutive blocks; it ends when all of them
// have ended.

#pragma once

#include <memory>
#include <unordered_map>

#include "memory/addresses.h"
#include "races/unwritten.h"
#include "judge/ordering/races.h"
#include "memory/tensors/matrix_descriptor.h"

namespace sass {

class Judge {
   public:
    explicit Judge(const Launch& launch);

    Unwritten unwritten;

    // Whether a block may begin: the first one of a chunk waits until the last chunk has ended.
    bool may_begin(i64 number, bool alone) const { return alone || number % chunk_; }
    void begin(i64 number);
    void end(const Block& block) { shared_.erase(order_of(block)); }
    // Lanes leave the kernel.
    void left(const Block& block, const Warp& warp, u32 lanes);
    void over() {
        if (unwritten.found) throw *unwritten.found;
        races_.end();
    }

    // `values` are the bytes that each lane is about to store, 16 bytes per lane.
    void access(const Context& c, const Access& access, i32 space, machine::Verb verb,
                const Places& places, const u8* values = nullptr);
    // The same for loads and atomics, whose memory may be unwritten.
    void load(const Context& c, const Instruction& n, const Access& access, i32 space, const Places& places);
    void update(const Context& c, const Instruction& n, const Access& access, i32 space, const Places& places);
    void fence(const Context& c);
    // An asynchronous copy that reads `bytes` bytes at `source` has been issued. Returns its
    // number. Until it lands, no thread may access the target or write the source.
    u32 take_off(const Context& c, const UnderWay& copy, i64 source, int bytes);
    // The thread of a copy has waited for it.
    void land(const Context& c, const UnderWay& copy);
    // --- the asynchronous machine (asynchronous.cpp) --------------------------------------------

    // A lane arrives at an mbarrier, or its copy reports bytes there, and this has ended a phase.
    void arrive(const Context& c, int lane, const Block& home, i64 at);
    void phase_over(const Context& c, int lane, const Block& home, i64 at);
    // Lanes have seen that the phases that they tested have ended.
    void tested(const Block& block, const Warp& warp, u32 lanes, i32 at);

    // One side of a bulk copy: units in a block's shared memory, or in a buffer.
    struct Side {
        const Block* home;  // null for global memory
        int unit;           // bytes
        std::vector<i64> at;
        std::vector<u8*> places;  // of what is written
    };
    struct Told {  // the mbarrier that a copy reports to
        const Block* home;
        i64 at;
    };
    // values: the bytes of each unit written. `told`: null for a copy that belongs to a group of
    // its lane.
    void bulk(const Context& c, int lane, const Side& from, const Side& to, const u8* values, bool reduces,
              const Told* told);
    // The last bulk copy has filled a tile by a tensor map, swizzled in rows of `width` bytes.
    void swizzled(i64 width) { races_.swizzles.filled(races_.log, width); }
    void commit_bulk(const Context& c);
    // All but the newest groups are over, or have been read.
    void wait_for_bulk(const Context& c, i64 newest, bool only_read);
    void fence_of_proxies(const Context& c);

    // Between this call and its wait for the group, a warp reads rows of an operand, one or two
    // slices deep.
    void read_factor(const Context& c, const machine::Descriptor& matrix, bool turned, int first, int rows, int slices);
    void wait_for_products(const Block& block, const Warp& warp, i64 groups);

    void arrive_in_cluster(const Context& c, int lane);
    void cluster_complete(const Cluster& cluster);
    void waited_in_cluster(const Block& block, const Warp& warp, u32 lanes);

    // Lanes of a warp that wait at a barrier.
    struct Waiting {
        int warp;
        u32 lanes;
        i32 at;
    };
    // A barrier of the whole block is complete: checks that all threads took part, and at one line.
    void whole_barrier(i64 block, int alive, const std::vector<Waiting>& there) const;
    using Arrival = machine::Ordering::Arrival;
    // A warp arrives at a barrier without waiting there.
    Arrival arrives(const Block& block, const Warp& warp) {
        return races_.ordering.arrival(chunk_block(block), warp.number, races_.log.now());
    }
    // Warps of a block have met at a barrier: all of them, or the ones named, after others have
    // arrived there.
    void met(i64 block, const std::vector<int>* warps, const std::vector<Arrival>& others);

    i64 block_of(const machine::Accusation& found) const {
        return geometry_.in_grid(static_cast<u64>(found.first_block + geometry_.block_of(found.lane)));
    }
    int thread_of(const machine::Accusation& found) const {
        return geometry_.thread_of(found.lane);
    }

   private:
    // Blocks are numbered cluster by cluster.
    static i64 order_of(const Block& block) { return block.first + block.rank; }

    static constexpr i64 MOST_LANES = 1 << 20;  // in a chunk: more than any device holds at once

    struct OfCopy {  // the words that it writes and reads, and the stamps of its source
        machine::Ranges to, from;
        machine::Stamps* source;
    };

    struct Group {  // a lane's bulk copy out of shared memory
        i32 site;
        int lane;
        i64 group;
        u32 reading, writing;  // flights
        machine::Ranges from, to;
        machine::Stamps *source, *target;
    };
    struct Product {  // a factor that a product is reading
        i32 site;
        i64 group;
        u32 number;  // of its flight
        machine::Ranges from;
        machine::Stamps* source;
    };

    machine::Stamps& stamps(int memory, i64 block);
    // The stamps of the block's shared memory, if they are all that says what has been written there.
    const machine::Stamps* stamps_of_own(const Context& c, i32 space) {
        const bool known = space == SHARED && launch_.follows_shared;
        return known ? &stamps(machine::SHARED_MEMORY, order_of(*c.block)) : nullptr;
    }
    int warp_of(const Block& block, const Warp& warp) const {
        return static_cast<int>(in_chunk(order_of(block))) * geometry_.warps + warp.number;
    }
    int warp_of(const Context& c) const { return warp_of(*c.block, *c.warp); }
    int lane_of(const Context& c, int i) const { return geometry_.lane(warp_of(c), i); }
    int chunk_block(const Block& block) const { return static_cast<int>(in_chunk(order_of(block))); }
    machine::Touch touch_of(const Block& own, const Warp& warp, int lane, const Block& home, i64 at) const {
        const int w = warp_of(own, warp);
        return {at, w, geometry_.lane(w, lane), &home == &own ? -1 : chunk_block(home)};
    }
    // Notes that the last request has accessed another block's shared memory.
    void visited(const Block& own, const Block& home, const machine::Touch& touch, i32 site, bool arrives = false) {
        if (&home != &own) visits_.note(chunk_block(home), touch, site, races_.log.now() - 1 - arrives);
    }
    void at_mbarrier(const Block& own, const Warp& warp, int lane, const Block& home, i64 at, i32 site,
                     machine::Verb verb);
    machine::Stamps* request_of(const Context& c, int lane, const Side& side, machine::Request& request,
                                std::vector<i64>& cells);
    static machine::Ranges ranges_of(machine::Stamps* stamps, const std::vector<i64>& cells, int unit, bool written);
    bool knows(int lane, int other, i64 when) const { return races_.knows(lane, other, when); }
    i64 in_chunk(i64 block) const { return block % chunk_; }

    const Launch& launch_;
    i64 chunk_;
    machine::Judged judged_{};
    machine::Geometry geometry_;
    machine::Launch shape_{};  // the extents of this launch
    machine::ClusterBarriers clusters_;
    machine::Races races_;
    std::unordered_map<int, machine::Stamps> buffers_;
    std::unordered_map<i64, machine::Stamps> shared_;  // by block
    std::unordered_map<u32, OfCopy> copies_;           // by number
    machine::Mask gone_;                               // lanes that have left, by warp of the chunk
    std::unordered_map<int, i64> committed_bulk_;      // groups, by lane
    std::vector<Group> bulk_groups_;
    std::vector<std::vector<Product>> products_;  // by warp
    machine::Visits visits_;
};

}  // namespace sass
