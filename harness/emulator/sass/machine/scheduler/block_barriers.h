// The barriers of a thread block: which threads have arrived, how they vote, and when they continue.

#pragma once

#include <array>

#include "races/judge.h"
#include "sass.h"

namespace sass {

constexpr int MOST_WARPS = 1024 / LANES;

class BlockBarriers {
   public:
    enum { VOTES = 1, ARRIVES = 8 };  // `flags`; the bits in between are the kind of vote
    Judge* judge = nullptr;

    void start() {
        for (Barrier& barrier : barriers_)
            if (barrier.threads) barrier = Barrier{};
    }

    // A group of lanes arrives at a barrier; some of its lanes may not take part in the vote.
    // Operands: source 0 is the barrier's number, source 1, if present, the number of threads.
    void arrive(Block& block, Warp& warp, Part& part, const Context& c, const Instruction& n) {
        u32 number = same_for_all(c, n, 0, part.lanes);
        u32 expected = n.source_count > 1 ? same_for_all(c, n, 1, part.lanes) : 0;
        if (n.source_count > 1 && !n.source[0].constant && !n.source[1].constant)
            expected = number >> 16, number &= 0xFFFF;  // one register for both
        if (number >= BLOCK_BARRIERS || expected % LANES)
            throw machine::Accusation{machine::NO_SUCH_BARRIER, c.at,
                                      warp.number * LANES + __builtin_ctz(part.lanes), {number, expected}};
        Barrier& barrier = barriers_[number];
        if (n.flags & VOTES) {
            const u32 yes = c.predicate(n, 0) & c.on;
            barrier.votes += static_cast<u32>(__builtin_popcount(yes));
            barrier.unanimous &= yes == c.on;
        }
        barrier.reduction = n.flags & VOTES ? n.flags >> 1 : NONE;
        barrier.count(warp.number, part.lanes);
        if (judge && n.flags & ARRIVES) barrier.others.push_back(judge->arrives(block, warp));
        barrier.threads += __builtin_popcount(part.lanes);
        barrier.of_some |= expected > 0;
        if (!(n.flags & ARRIVES)) {
            part.state = AT_BLOCK_BARRIER;
            part.number = static_cast<int>(number);
            part.expected = static_cast<int>(expected);
        }
        // Checked here because most arrivals are not the last.
        if (barrier.of_some || barrier.threads >= block.alive) release(block, static_cast<int>(number));
    }

    // Threads have left, so the waiting threads may now be all that remain.
    void release_all(Block& block) {
        for (int number = 0; number < BLOCK_BARRIERS; number++)
            if (barriers_[number].threads) release(block, number);
    }

   private:
    enum { NONE = -1, POPC, AND, OR };
    static constexpr int NOBODY = -1;

    struct Barrier {
        u32 arrived[MOST_WARPS] = {};                        // lanes of each warp
        std::vector<std::array<u32, MOST_WARPS>> again = {};  // those that have arrived a second time, a third, and so on
        std::vector<Judge::Arrival> others = {};              // for the judge: warps that did not wait
        int threads = 0;               // in all warps
        bool of_some = false;          // whether any arrival gave a number of threads
        u32 votes = 0;
        bool unanimous = true;
        int reduction = NONE;

        void count(int warp, u32 lanes) {
            u32 more = arrived[warp] & lanes;
            arrived[warp] |= lanes;
            for (size_t n = 0; more; n++) {
                if (n == again.size()) again.push_back({});
                const u32 next = again[n][warp] & more;
                again[n][warp] |= more;
                more = next;
            }
        }
    };

    static bool waits(const Part& part, int number) {
        return part.state == AT_BLOCK_BARRIER && part.number == number;
    }

    // An operand that must have the same value in all lanes of a warp.
    static u32 same_for_all(const Context& c, const Instruction& n, int operand, u32 lanes) {
        const u32* values = c.source(n.source[operand]);
        const int first = __builtin_ctz(lanes);
        if (n.source[operand].constant) return values[first];
        machine::each_lane(lanes, [&](int i) {
            if (values[i] != values[first])
                throw machine::Accusation{machine::BARRIERS_OF_A_WARP, c.at, c.warp->number * LANES + i,
                                          {values[first], values[i]}};
        });
        return values[first];
    }

    void tell(const Block& block, int number, int expected) const {
        std::vector<int> who;
        std::vector<Judge::Waiting> there;
        for (const Warp& warp : block.warps) {
            const size_t before = there.size();
            for (const Part& part : warp.parts)
                if (waits(part, number)) there.push_back({warp.number, part.lanes, part.at - 1});
            if (there.size() > before) who.push_back(warp.number);
        }
        if (!expected) judge->whole_barrier(block.first + block.rank, block.alive, there);
        judge->met(block.first + block.rank, expected ? &who : nullptr, barriers_[number].others);
    }

    // A warp has arrived once all of its remaining threads have; every arrival counts.
    bool complete(const Block& block, const Barrier& barrier, int expected) const {
        int threads = 0, warps = 0;
        for (const Warp& warp : block.warps) {
            const u32 here = barrier.arrived[warp.number], left = warp.threads & ~warp.exited;
            threads += __builtin_popcount(here & ~warp.exited);
            warps += here && !(left & ~here);
            for (const auto& again : barrier.again) warps += again[warp.number] && !(left & ~again[warp.number]);
        }
        return expected ? warps * LANES >= expected : threads >= block.alive;
    }

    void release(Block& block, int number) {
        int expected = NOBODY;
        for (const Warp& warp : block.warps)
            for (const Part& part : warp.parts)
                if (waits(part, number)) {
                    expected = part.expected;
                    break;
                }
        Barrier& barrier = barriers_[number];
        if (expected == NOBODY || !complete(block, barrier, expected)) return;
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
