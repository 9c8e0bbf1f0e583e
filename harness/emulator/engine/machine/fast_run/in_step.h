// Runs the warps of a block in step, as the judge does, if threads wait at mbarriers.
//
// All warps that are ready at the lowest basic block execute it together, and all of these warps
// execute each operation that other threads may notice before any of them executes the next one.
// How often a thread finds that a phase has not ended then depends on nothing else, and is as in
// the judge's run.

#pragma once

#include "judge/ordering/forward_progress.h"

namespace machine {

class InStep {
   public:
    InStep(const Launch& launch, const Counts& counts, Context& c, std::vector<Warp>& warps)
        : launch_(launch), counts_(counts), c_(c), warps_(warps), progress_(launch, geometry_, warps) {
        geometry_.threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
        geometry_.warps = static_cast<int>(warps.size());
        geometry_.launch = &launch;
        geometry_.by_threads = Divisor(geometry_.threads), geometry_.by_warps = Divisor(geometry_.warps);
        may_wait_.assign(launch.block_count, 0);
        for (int n = 0; n < launch.head_count; n++) may_wait_[launch.heads[n].block] = 1;
        for (int n = 0; n < launch.meeting_count; n++) may_wait_[launch.meetings[n].block] = 1;
        for (const Entry& entry : entries()) computes_.push_back(entry.role == COMPUTES);
    }

    void begin_block() { has_waited_ = false; }

    // The lowest basic block at which lanes are ready; -1 if there are none.
    i32 next() const;
    // Executes it for those lanes. Returns the thread instructions that this counts for.
    i64 step(i32 at);
    // No lane is ready: those that wait for others try again. Returns false if there are none.
    bool wake();

   private:
    // The number of rounds without a change after which the judge decides whether anything will
    // ever change.
    static constexpr int HOPE = 16;

    void hold_back(i32 at);
    void execute(const Block& block);
    void leave(i32 at, const Block& block);
    void enter(const Party& party) {
        c_.warp = &warps_[party.warp];
        c_.registers = c_.warp->registers;
        c_.activate(party.lanes);
    }

    const Launch& launch_;
    const Handler* const handlers_ = handlers().data();
    const Counts& counts_;
    Context& c_;
    std::vector<Warp>& warps_;
    Geometry geometry_;
    ForwardProgress progress_;
    std::vector<u8> may_wait_, computes_;  // by basic block, by operation
    Selection lanes_;                      // of the step
    bool has_waited_ = false;              // whether any lane of the block may have waited
};

}  // namespace machine
