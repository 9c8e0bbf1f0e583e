// The barriers of a thread block: who has come to one, what they vote, and when they go on.

#pragma once

#include "races/judge.h"
#include "sass.h"

namespace sass {

class BlockBarriers {
   public:
    Judge* judge = nullptr;

    void start() {
        for (Barrier& barrier : barriers_) barrier = Barrier{};
    }

    // A part comes to a barrier, some of whose lanes may not take part in the vote. Operands: source
    // 0 the barrier's number, source 1 how many threads, if it says so.
    void arrive(Block& block, Part& part, const Context& c, const Instruction& n) {
        const int lane = __builtin_ctz(part.lanes);
        const int number = static_cast<int>(c.source(n.source[0])[lane] & (BLOCK_BARRIERS - 1));
        const int expected = n.source_count > 1 ? static_cast<int>(c.source(n.source[1])[lane]) : 0;
        Barrier& barrier = barriers_[number];
        if (n.flags) {
            const u32 yes = c.predicate(n, 0) & c.on;
            barrier.votes += static_cast<u32>(__builtin_popcount(yes));
            barrier.unanimous &= yes == c.on;
        }
        barrier.reduction = n.flags ? n.flags >> 1 : NONE;
        barrier.threads += expected ? LANES : __builtin_popcount(part.lanes);
        part.state = AT_BLOCK_BARRIER;
        part.number = number;
        part.expected = expected;
        release(block, number);
    }

    // Threads have left: those that wait may be all that there are.
    void release_all(Block& block) {
        for (int number = 0; number < BLOCK_BARRIERS; number++)
            if (barriers_[number].threads) release(block, number);
    }

   private:
    enum { NONE = -1, POPC, AND, OR };

    struct Barrier {
        int threads = 0;
        u32 votes = 0;
        bool unanimous = true;
        int reduction = NONE;
    };

    static bool waits(const Part& part, int number) {
        return part.state == AT_BLOCK_BARRIER && part.number == number;
    }

    void tell(const Block& block, int number, int expected) const {
        std::vector<int> who;
        std::vector<Judge::Waiting> there;
        for (const Warp& warp : block.warps)
            for (const Part& part : warp.parts) {
                if (!waits(part, number)) continue;
                if (who.empty() || who.back() != warp.number) who.push_back(warp.number);
                there.push_back({warp.number, part.lanes, part.at - 1});
            }
        if (!expected) judge->whole_barrier(block.first + block.rank, block.alive, there);
        judge->met(block.first + block.rank, expected ? &who : nullptr);
    }

    void release(Block& block, int number) {
        int expected = 0;
        for (const Warp& warp : block.warps)
            for (const Part& part : warp.parts)
                if (waits(part, number)) {
                    expected = part.expected;
                    break;
                }
        Barrier& barrier = barriers_[number];
        if (barrier.threads < (expected ? expected : block.alive)) return;
        if (judge) tell(block, number, expected);
        const u32 result = barrier.reduction == AND ? barrier.unanimous : barrier.votes;
        for (Warp& warp : block.warps)
            for (Part& part : warp.parts)
                if (waits(part, number)) {
                    part.state = READY;
                    if (barrier.reduction != NONE)
                        machine::each_lane(part.lanes, [&](int i) { warp.barrier_result[i] = result; });
                }
        barrier = Barrier{};
    }

    Barrier barriers_[BLOCK_BARRIERS];
};

}  // namespace sass
