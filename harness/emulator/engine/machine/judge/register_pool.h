// A block's registers, which its warps release and request (`setmaxnreg`).
//
// Only the assembler knows how many registers a thread begins with, but the register file must have
// room for that many in all warps of the block at once. A warp that requests more than can ever be
// free waits for ever. Warps are not executed here in the order in which hardware would run them,
// so the check is made when the block has ended: the last requests of all warps together must fit.
// Warps that never make a request are not counted.

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
