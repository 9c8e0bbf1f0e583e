// Masks that name a lane which waits elsewhere, so that the warp would never get past the instruction.
//
// A shuffle, vote or `__syncwarp` waits for the lanes that its mask names and that have not exited.
// Here lanes wait for the others (`ordering/forward_progress.h`), but go on without them if no
// other lane can continue, or if a mask is computed just before. A lane that reaches a barrier of
// the block without having executed such an instruction since the last barrier will not arrive: it
// waits at the barrier for the lanes that wait for it.

#pragma once

#include "chunk.h"

namespace machine {

class WarpMasks {
   public:
    explicit WarpMasks(const Geometry& geometry) : geometry_(geometry) {}

    void start() { met_.clear(); }

    // Lanes of a warp execute an instruction that names lanes by a mask.
    void met(i32 kind, int warp, u32 company, u32 named, u32 exited, i32 site) {
        const u32 there = geometry_.lanes_of(warp) & ~exited;
        Met* known = nullptr;
        for (Met& each : met_)
            if (each.kind == kind) known = &each;
        if (!known) {
            if (!(named & ~company & there)) return;
            met_.push_back({kind, Mask(geometry_.all_warps()), Mask(geometry_.all_warps()),
                            std::vector<i32>(geometry_.all_warps())});
            known = &met_.back();
        }
        known->named[warp] |= named, known->came[warp] |= company, known->site[warp] = site;
    }

    // Threads leave a barrier together.
    void barrier(const Mask& arrived) {
        for (Met& each : met_)
            for (size_t w = 0; w < arrived.size(); w++) {
                const u32 late = each.named[w] & ~each.came[w] & arrived[w];
                if (late) {
                    const int lane = 31 - __builtin_clz(late);
                    throw Accusation{LANE_MISSED, each.site[w],
                                     geometry_.lane(static_cast<int>(w), lane), {lane}};
                }
                if (arrived[w]) each.named[w] = each.came[w] = 0;
            }
    }

   private:
    struct Met {
        i32 kind;
        Mask named, came;
        std::vector<i32> site;
    };

    const Geometry& geometry_;
    std::vector<Met> met_;
};

}  // namespace machine
