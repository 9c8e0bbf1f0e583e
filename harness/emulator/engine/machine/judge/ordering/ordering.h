// What the threads of a block know of each other's accesses through barriers, `__syncwarp` and fences.
//
// A time is a position in the log of accesses. A barrier of the whole block orders everything
// before it, so one time per block is enough. Whatever synchronises a whole warp needs one time per
// warp. For barriers of some warps and of some lanes, a table records up to what time each knows of
// the others' accesses; it is kept only if such a barrier occurs.

#pragma once

#include <algorithm>
#include <array>

#include "cluster_barriers.h"

namespace machine {

class Ordering {
   public:
    Ordering(const Geometry& geometry, const ClusterBarriers& clusters)
        : geometry_(geometry), clusters_(clusters) {}

    // New blocks begin: nothing that is already in the log was done by them.
    void start(i64 now) {
        block_.assign(geometry_.blocks, now);
        warp_.assign(geometry_.all_warps(), now);
        fenced_.assign(geometry_.all_lanes(), -1);
        fenced_for_all_.assign(geometry_.all_lanes(), -1);
        fences_.assign(geometry_.all_warps(), {}), before_.assign(geometry_.all_warps(), {});
        any_fence_ = false;
        lanes_.clear(), warps_.clear();
        lanes_.resize(geometry_.all_warps()), warps_.resize(geometry_.blocks);
    }

    // Whether an access by one lane is ordered before what a lane of the same cluster does now.
    bool ordered(int earlier, i64 when, int later) const {
        const int block = geometry_.block_of(earlier);
        if (clusters_.used() && clusters_.ordered(earlier, when, later)) return true;
        if (geometry_.cluster > 1 && block != geometry_.block_of(later)) return false;
        if (when < block_[block]) return true;
        const int old_warp = geometry_.warp_of(earlier), new_warp = geometry_.warp_of(later);
        if (old_warp != new_warp) {
            const auto& table = warps_[block];
            if (table.empty()) return false;
            const int n = geometry_.warps;
            return when < table[new_warp % n * n + old_warp % n];
        }
        if (when < warp_[new_warp]) return true;
        const auto& table = lanes_[new_warp];
        return !table.empty() &&
               when < table[geometry_.place_of(later) * LANES + geometry_.place_of(earlier)];
    }

    // Whether a barrier of the whole block orders an access before what any of the block's threads do now.
    bool by_barrier(int earlier, i64 when) const {
        return when < block_[geometry_.block_of(earlier)];
    }

    // All threads of a block have met, except those that have left.
    void whole_block(int block, i64 now) {
        block_[block] = now;
        if (!any_fence_) return;
        std::vector<int> all(geometry_.warps);
        for (int w = 0; w < geometry_.warps; w++) all[w] = w;
        tell_of_fences(block, all);
    }

    // If a warp arrives at a barrier without waiting there: its accesses that become ordered for
    // the warps that wait.
    struct Arrival {
        int warp;                // of its block
        i64 when;
        std::vector<i64> knows;  // by warp
    };

    Arrival arrival(int block, int warp, i64 now) {
        const int n = geometry_.warps;
        const auto& table = warps_[block];
        warp_[block * n + warp] = now;
        Arrival made{warp, now, {}};
        if (!table.empty()) made.knows.assign(table.begin() + warp * n, table.begin() + (warp + 1) * n);
        return made;
    }

    // Some warps of a block have met: those that waited know what they and the others did before they arrived.
    void some_warps(int block, const std::vector<int>& who, i64 now, const std::vector<Arrival>& others = {}) {
        if (any_fence_) tell_of_fences(block, who, others);
        const int n = geometry_.warps;
        auto& table = warps_[block];
        if (table.empty()) table.assign(static_cast<size_t>(n) * n, -1);
        std::vector<i64> joined(n, -1);
        for (const Arrival& each : others) {
            for (size_t k = 0; k < each.knows.size(); k++) joined[k] = std::max(joined[k], each.knows[k]);
            joined[each.warp] = std::max(joined[each.warp], each.when);
        }
        for (const int w : who)
            for (int k = 0; k < n; k++) joined[k] = std::max(joined[k], table[w * n + k]);
        for (const int w : who) joined[w] = now, warp_[block * n + w] = now;
        for (const int w : who)
            for (int k = 0; k < n; k++) table[w * n + k] = std::max(table[w * n + k], joined[k]);
    }

    // Lanes of a warp have met.
    void some_lanes(int warp, u32 who, i64 now) {
        before_[warp].join(fences_[warp]);
        if (who == geometry_.lanes_of(warp)) {
            warp_[warp] = now;
            return;
        }
        auto& table = lanes_[warp];
        if (table.empty()) table.assign(LANES * LANES, -1);
        std::array<i64, LANES> joined;
        joined.fill(-1);
        each_lane(who, [&](int i) {
            for (int k = 0; k < LANES; k++) joined[k] = std::max(joined[k], table[i * LANES + k]);
        });
        each_lane(who, [&](int i) { joined[i] = now; });
        each_lane(who, [&](int i) {
            for (int k = 0; k < LANES; k++)
                table[i * LANES + k] = std::max(table[i * LANES + k], joined[k]);
        });
    }

    // A fence with the scope of the block or, if `for_all`, of the device.
    void fence(int lane, bool for_all, i64 now) {
        any_fence_ = true;
        Fences& warp = fences_[geometry_.warp_of(lane)];
        fenced_[lane] = warp.any = now;
        if (for_all) fenced_for_all_[lane] = warp.for_all = now;
    }
    bool has_fenced(int lane) const { return fenced_[lane] >= 0; }
    // The lane's last fence, or a later one by a thread that it has met since.
    i64 fenced(int lane) const {
        return std::max(fenced_[lane], before_[geometry_.warp_of(lane)].any);
    }
    i64 fenced_for_all(int lane) const {
        return std::max(fenced_for_all_[lane], before_[geometry_.warp_of(lane)].for_all);
    }

   private:
    struct Fences {  // the last ones: of any scope, and of device scope
        i64 any = -1, for_all = -1;

        void join(const Fences& other) {
            any = std::max(any, other.any), for_all = std::max(for_all, other.for_all);
        }
    };

    // Warps of a block meet: all warps that waited now know of each other's fences and of the other
    // warps' fences.
    void tell_of_fences(int block, const std::vector<int>& who, const std::vector<Arrival>& others = {}) {
        Fences all;
        const int first = block * geometry_.warps;
        const auto learn = [&](int w) { all.join(fences_[first + w]), all.join(before_[first + w]); };
        for (const int w : who) learn(w);
        for (const Arrival& each : others) learn(each.warp);
        for (const int w : who) before_[first + w].join(all);
    }

    const Geometry& geometry_;
    const ClusterBarriers& clusters_;
    std::vector<Fences> fences_, before_;  // by warp: its own fences, and those of warps that it has met since
    bool any_fence_ = false;
    std::vector<i64> block_, warp_, fenced_, fenced_for_all_;
    std::vector<std::vector<i64>> warps_;  // by block: later warp × earlier warp
    std::vector<std::vector<i64>> lanes_;  // by warp: later lane × earlier lane
};

}  // namespace machine
