// The registers of a block, which its warps give back and take (`setmaxnreg`).
//
// How many a thread begins with, only the assembler knows; at most, that all warps of the block have them at
// once. A warp that asks for more than can ever be left waits for ever. Warps are not executed here in the
// order in which hardware would let them go on, so it is judged when the block has ended: what was
// asked for last by all warps together must fit; those that never ask count nothing.

#pragma once

#include "chunk.h"

namespace machine {

class RegisterPool {
   public:
    explicit RegisterPool(const Geometry& geometry) : geometry_(geometry) {}

    void start() { held_.assign(geometry_.all_warps(), {}); }

    void set(const Op& op, const Selection& lanes) {
        for (const Party& party : lanes) held_[party.warp] = {static_cast<i32>(op.immediate), op.site, op.count != 0};
    }

    // A block has ended.
    void end(int block) const {
        const int first = block * geometry_.warps, last = first + geometry_.warps;
        const i32 each = std::min(MOST_OF_A_THREAD, OF_A_LANE / geometry_.warps / UNIT * UNIT);
        i32 sum = 0;
        int takes = -1;
        for (int w = first; w < last; w++) {
            sum += held_[w].registers;
            if (held_[w].takes) takes = w;
        }
        if (takes < 0 || sum <= each * geometry_.warps) return;
        throw Accusation{REGISTERS_USED_UP, held_[takes].site, geometry_.lane(takes, 0),
                         {held_[takes].registers, sum, geometry_.warps, each}};
    }

   private:
    static constexpr i32 OF_A_LANE = 65536 / LANES, MOST_OF_A_THREAD = 256, UNIT = 8;

    struct Held {
        i32 registers = 0, site = 0;  // 0: as many as at the beginning
        bool takes = false;
    };

    const Geometry& geometry_;
    std::vector<Held> held_;  // by warp
};

}  // namespace machine
