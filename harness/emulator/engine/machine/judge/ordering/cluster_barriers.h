// The barriers of thread block clusters: which threads have arrived, which ones a complete barrier releases,
// and what it orders.
//
// Every thread of a cluster arrives once and waits once per phase; one that has left the kernel counts as
// arrived. What a thread did and released before it arrived is visible to every thread that has waited for
// that phase.

#pragma once

#include <array>
#include <functional>
#include <map>
#include <vector>

#include "forward_progress.h"

namespace machine {

class ClusterBarriers {
   public:
    ClusterBarriers(const Launch& launch, const Geometry& geometry)
        : launch_(launch), geometry_(geometry) {}

    // Called when a phase of a cluster is complete, with the cluster's first block in the chunk and
    // the time up to which its threads have released their accesses.
    std::function<void(int first_block, i64 released)> told;

    void start() {
        used_ = false;
        waiting_.clear();
    }
    bool used() const { return used_; }

    // A lane arrives, which releases what it did before `when`.
    void arrive(i32 site, int lane, i64 when) {
        if (!used_) begin();
        if (arrived_[lane] != waited_[lane]) throw Accusation{ARRIVED_TWICE, site, lane, {}};
        arrived_[lane]++;
        of_phase(lane, arrived_[lane]) = when;
    }

    // Lanes of a warp reach the wait that ends a basic block.
    void wait(int number, const Party& party) {
        each_lane(party.lanes, [&](int i) {
            const int lane = geometry_.lane(party.warp, i);
            if (!used_ || arrived_[lane] == waited_[lane])
                throw Accusation{NOT_ARRIVED, launch_.blocks[number].site, lane, {}};
        });
        for (auto& [block, mask] : waiting_)
            if (block == number) {
                mask[party.warp] |= party.lanes;
                return;
            }
        waiting_.push_back({number, Mask(geometry_.all_warps())});
        waiting_.back().second[party.warp] = party.lanes;
    }

    // Releases the lanes whose phase is complete. Returns false if there are none.
    bool release(const Mask& gone, Ready& ready, i64 now) {
        if (waiting_.empty()) return false;
        for (int block = 0; block < geometry_.blocks; block += geometry_.cluster) complete(block, gone, now);
        bool released = false;
        for (auto& [number, mask] : waiting_)
            for (size_t w = 0; w < mask.size(); w++) {
                u32 free = 0;
                each_lane(mask[w], [&](int i) {
                    const int lane = geometry_.lane(static_cast<int>(w), i);
                    if (arrived_[lane] > completed_[cluster_of(lane)]) return;
                    waited_[lane] = arrived_[lane];
                    free |= u32(1) << i;
                });
                if (!free) continue;
                released = true;
                mask[w] &= ~free;
                Mask& there = ready[launch_.blocks[number].target];
                there.resize(geometry_.all_warps());
                there[w] |= free;
            }
        waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
                                      [](const auto& each) { return !any(each.second); }),
                       waiting_.end());
        return released;
    }

    // The same for callers with a scheduler of their own: completes the phase of the cluster that begins with
    // this block if all threads have arrived; `waited` notes that a lane has waited for it.
    void settle(int block, const Mask& gone, i64 now) {
        if (used_) complete(block, gone, now);
    }
    void waited(int lane) {
        if (used_) waited_[lane] = arrived_[lane];
    }

    // All threads of a block meet: a phase that one of them has waited for counts as waited for by all.
    void whole_block(int block) {
        if (!used_) return;
        const auto first = knows_.begin() + block * geometry_.threads, end = first + geometry_.threads;
        for (auto lane = first; lane != end; ++lane)
            *lane = std::max(*lane, waited_[lane - knows_.begin()]);
        const u32 most = *std::max_element(first, end);
        std::fill(first, end, most);
    }

    // Whether what one lane did at that time is ordered before what another lane of its cluster does now.
    bool ordered(int earlier, i64 when, int later) const {
        if (!used_) return false;
        const u32 phase = std::max(waited_[later], knows_[later]);
        return phase && when < times_[earlier][phase % PHASES] && cluster_of(earlier) == cluster_of(later);
    }

   private:
    static constexpr int PHASES = 3;  // those that threads can be in at once, and the one before

    int cluster_of(int lane) const { return geometry_.cluster_of(geometry_.block_of(lane)); }
    i64& of_phase(int lane, u32 phase) { return times_[lane][phase % PHASES]; }

    void begin() {
        used_ = true;
        const int lanes = geometry_.all_lanes();
        arrived_.assign(lanes, 0), waited_.assign(lanes, 0), knows_.assign(lanes, 0);
        times_.assign(lanes, {-1, -1, -1});
        completed_.assign(geometry_.blocks / geometry_.cluster, 0);
    }

    // Completes the next phase of the cluster that begins with this block if all threads have arrived.
    void complete(int block, const Mask& gone, i64 now) {
        u32& completed = completed_[geometry_.cluster_of(block)];
        const int first = block * geometry_.threads, end = first + geometry_.cluster * geometry_.threads;
        const auto has_left = [&](int lane) {
            return gone[geometry_.warp_of(lane)] >> geometry_.place_of(lane) & 1;
        };
        bool somebody = false;
        for (int lane = first; lane < end; lane++) {
            if (arrived_[lane] > completed)
                somebody = true;
            else if (!has_left(lane))
                return;
        }
        if (!somebody) return;
        completed++;
        i64 released = -1;
        for (int lane = first; lane < end; lane++) {
            if (arrived_[lane] < completed) of_phase(lane, completed) = now;
            released = std::max(released, of_phase(lane, completed));
        }
        told(block, released);
    }

    const Launch& launch_;
    const Geometry& geometry_;
    bool used_ = false;
    std::vector<std::pair<int, Mask>> waiting_;     // by basic block
    std::vector<u32> arrived_, waited_, knows_;     // phases, by lane; the last: through other threads of the block
    std::vector<std::array<i64, PHASES>> times_;    // by lane: when it arrived
    std::vector<u32> completed_;                    // phases, by cluster
};

// Accesses to the shared memory of other blocks, which must not leave before the accesses are over.
class Visits {
   public:
    void clear() { last_.clear(); }

    // A lane of a warp has accessed a block's memory.
    void note(int block, const Touch& touch, i32 site, i64 when) {
        last_[{block, touch.warp}] = {when, touch.lane, site};
    }

    // A block's last threads have left: at least one thread of the block must know of each access; otherwise
    // no thread waited for it.
    template <class Knows>
    void leave(int block, const Geometry& geometry, i64 first_block, Knows knows) const {
        const int first = block * geometry.threads, end = first + geometry.threads;
        for (auto visit = last_.lower_bound({block, 0}); visit != last_.end() && visit->first.first == block; ++visit) {
            const Visit& last = visit->second;
            int lane = first;
            while (lane < end && !knows(lane, last.lane, last.when)) lane++;
            if (lane == end)
                throw Accusation{BLOCK_MAY_LEAVE, last.site, last.lane, {geometry.in_grid(first_block + block)},
                                 first_block};
        }
    }

   private:
    struct Visit {  // a warp's last one
        i64 when;
        int lane;
        i32 site;
    };
    std::map<std::pair<int, int>, Visit> last_;  // by the block and the warp
};

}  // namespace machine
