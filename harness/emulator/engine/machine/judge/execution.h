// Executes the operations of a basic block for the lanes of a chunk that are at it.

#pragma once

#include "accesses.h"
#include "operations.h"
#include "judge/asynchronous/product_registers.h"
#include "register_pool.h"
#include "warp_masks.h"

namespace machine {

struct Attendance {  // lanes at a basic block that meet lanes at others
    i32 block;
    Selection lanes;
};

class Execution {
   public:
    Execution(const Launch& launch, const Judged& judged, Blocks& blocks, Races& races,
              WarpMasks& masks, Uninitialised& uninitialised, Accesses& accesses,
              ClusterBarriers& clusters)
        : launch_(launch), judged_(judged), blocks_(blocks), geometry_(blocks.geometry),
          races_(races), masks_(masks), uninitialised_(uninitialised), accesses_(accesses),
          clusters_(clusters), products_(launch, blocks.geometry), pool_(blocks.geometry),
          exited_(blocks.exited) {}

    void start() { products_.start(), pool_.start(); }
    void leave(int block) const {
        if (launch_.checks && blocks_.has_left(block)) pool_.end(block);
    }

    void execute(const Block& block, const Selection& lanes) { run(block.first, block.last, lanes); }
    // Lanes at several basic blocks meet at the instruction of a warp that each block has.
    void execute_together(const std::vector<Attendance>& all);

   private:
    struct Comer {  // lanes that come to a meeting, and the operation by which they do
        const Op* op;
        const Selection* lanes;
    };
    using Comers = std::vector<Comer>;
    struct OfWarp {  // those of a warp
        const Op* op;
        u32 lanes;
    };

    void run(i32 first, i32 last, const Selection& lanes);
    void compute(i32 first, i32 end, const Selection& lanes);
    void compute_one(const Op& op, const Known& about, const Selection& lanes);
    void handle(const Known& about, const Op& op, const Party& party);
    void act(const Op& op, const Selection& lanes);
    bool in_memory_of_thread(const Op& op, const Party& party) const;
    i32 meeting_of(const Block& block) const;
    void meet(const Comers& comers, const Selection& all);
    void shuffle_ids(const Comers& comers, const Selection& all);
    void exchange(const Comers& comers, const Selection& all);
    static std::vector<OfWarp> of_warp(const Comers& comers, int warp);
    u32 named(const Op& op, int w, int i) const {
        return reinterpret_cast<const u32*>(blocks_.warps[w].registers + op.source[op.count])[i];
    }
    int shuffle_source(const Op& op, int w, int i, bool& in_range) const;
    void check_frame(const Op& op, const Selection& lanes);
    void print(const Op& op, const Selection& lanes);
    void fail(const Op& op, const Selection& lanes);

    const Launch& launch_;
    const Judged& judged_;
    Blocks& blocks_;
    const Geometry& geometry_;
    Races& races_;
    WarpMasks& masks_;
    Uninitialised& uninitialised_;
    Accesses& accesses_;
    ClusterBarriers& clusters_;
    ProductRegisters products_;
    RegisterPool pool_;
    const Mask& exited_;  // lanes, by warp

    // Rows for a meeting of lanes whose operands and results are in different rows.
    static constexpr int SPARE_SOURCES = 4, SPARE_RESULTS = 2, SPARE_ROW = LANES * 8;
    alignas(64) u8 spare_[(SPARE_SOURCES + SPARE_RESULTS) * SPARE_ROW] = {};
};

}  // namespace machine
