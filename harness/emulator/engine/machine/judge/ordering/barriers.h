// Barriers of the chunk's blocks: which lanes wait, which ones a complete barrier releases, and which barriers
// are complete by count but still wrong.
//
// A `__syncthreads()` in a branch that some of the block's threads do not take completes on
// hardware when the other threads arrive at another one, or have left the kernel; it then orders
// different accesses from those that the source suggests. Threads may meet at different
// `barrier.sync` instructions without `.aligned`, which only count arrivals; but one for the whole
// block also needs all threads. Warps that meet at a barrier with a number and a count are not
// checked. A warp counts as often as it arrives there, as in FlashAttention-3, where warps arrive
// and then wait.

#pragma once

#include <functional>
#include <set>

#include "forward_progress.h"
#include "ordering.h"

namespace machine {

class Barriers {
   public:
    Barriers(const Launch& launch, const Geometry& geometry, std::vector<Warp>& warps)
        : launch_(launch), geometry_(geometry), warps_(warps) {}

    using Arrival = Ordering::Arrival;
    // Called for the checks when a warp arrives without waiting, and when a complete barrier releases threads of a
    // block that waited.
    std::function<Arrival(int block, int warp)> arrives;
    std::function<void(int block, bool whole, const Mask& waited, const std::vector<Arrival>& others)> told;
    bool checked = false;

    void start() { waiting_.clear(), arrived_.clear(), arrivals_.clear(); }
    bool anybody() const { return !waiting_.empty(); }

    // Lanes of a warp arrive at the barrier that ends a basic block.
    void arrive(int number, const Party& party, Ready& ready) {
        const Block& barrier = launch_.blocks[number];
        const u8* registers = warps_[party.warp].registers;
        const u32* ids = reinterpret_cast<const u32*>(registers + barrier.number);
        const u32* counts = barrier.count < 0
                                ? nullptr
                                : reinterpret_cast<const u32*>(registers + barrier.count);
        each_lane(party.lanes, [&](int i) {
            const Key key{number, ids[i], counts ? counts[i] : 0};
            if (barrier.arrives) {
                add_arrival({0, key.id, key.count}, party.warp, i);
                Mask& there = ready[barrier.target];
                there.resize(geometry_.all_warps());
                there[party.warp] |= u32(1) << i;
            } else {
                mask_of(waiting_, key)[party.warp] |= u32(1) << i;
            }
        });
    }

    // Releases the blocks whose barriers are complete; if `stuck`, at least one must be.
    bool release(bool stuck, const Mask& gone, Ready& ready) {
        std::set<u32> ids;
        for (const Waiting& each : waiting_) ids.insert(each.key.id);
        bool released = false;
        for (const u32 id : ids) released |= release_one(id, gone, ready);
        if (!released && stuck) stuck_forever();
        return released;
    }

   private:
    struct Key {
        int block;  // basic block of the barrier
        u32 id, count;
        bool operator==(const Key& other) const {
            return block == other.block && id == other.id && count == other.count;
        }
    };
    struct Waiting {
        Key key;
        Mask mask;
    };

    Mask& mask_of(std::vector<Waiting>& some, const Key& key) {
        for (Waiting& each : some)
            if (each.key == key) return each.mask;
        some.push_back({key, Mask(geometry_.all_warps())});
        return some.back().mask;
    }

    // A lane may have arrived before, at the same phase.
    void add_arrival(const Key& key, int warp, int lane) {
        const u32 bit = u32(1) << lane;
        if (checked) note_arrival(key.id, warp);
        for (Waiting& each : arrived_)
            if (each.key == key && !(each.mask[warp] & bit)) {
                each.mask[warp] |= bit;
                return;
            }
        arrived_.push_back({key, Mask(geometry_.all_warps())});
        arrived_.back().mask[warp] = bit;
    }

    void note_arrival(u32 id, int warp) {
        const int block = warp / geometry_.warps, own = warp % geometry_.warps;
        const Arrival made = arrives(block, own);
        auto& of_barrier = arrivals_[{block, id}];
        if (of_barrier.empty() || of_barrier.back().warp != own || of_barrier.back().when != made.when)
            of_barrier.push_back(made);  // once for all lanes that arrive together
    }

    bool of_block(const Mask& mask, int block) const { return lanes_in(mask, block) > 0; }
    int lanes_in(const Mask& mask, int block) const {
        int lanes = 0;
        for (int w = block * geometry_.warps; w < (block + 1) * geometry_.warps; w++)
            lanes += __builtin_popcount(mask[w]);
        return lanes;
    }

    bool release_one(u32 id, const Mask& gone, Ready& ready) {
        std::vector<Mask> times{Mask(geometry_.all_warps())};  // lanes that have arrived once, twice, and so on
        Mask waited(geometry_.all_warps());
        std::vector<u32> expected(geometry_.blocks);
        for (const auto* some : {&waiting_, &arrived_})
            for (const Waiting& each : *some) {
                if (each.key.id != id) continue;
                for (size_t w = 0; w < waited.size(); w++) count_lanes(times, w, each.mask[w]);
                if (some == &arrived_) continue;
                for (size_t w = 0; w < waited.size(); w++) waited[w] |= each.mask[w];
                for (int b = 0; b < geometry_.blocks; b++)
                    if (of_block(each.mask, b)) expected[b] = each.key.count;
            }
        const Mask& arrived = times[0];
        std::vector<int> complete, whole;
        for (int b = 0; b < geometry_.blocks; b++) {
            if (!of_block(arrived, b)) continue;
            u32 warps = 0;
            bool everybody = true, all_waited = true;
            for (int w = b * geometry_.warps; w < (b + 1) * geometry_.warps; w++) {
                const u32 there = geometry_.lanes_of(w) & ~gone[w];
                everybody &= !(there & ~arrived[w]), all_waited &= !(there & ~waited[w]);
                for (const Mask& each : times) warps += each[w] && !(there & ~each[w]);
            }
            if (expected[b] == 0 ? !everybody : warps * LANES < expected[b]) continue;
            // A warp that has only arrived may have left the kernel since.
            complete.push_back(b), whole.push_back(all_waited && !arrivals_.count({b, id}));
        }
        if (complete.empty()) return false;
        if (checked) {
            check(id, complete, gone);
            for (size_t n = 0; n < complete.size(); n++) {
                told(complete[n], whole[n], waited, arrivals_[{complete[n], id}]);
                arrivals_.erase({complete[n], id});
            }
        }
        for (Waiting& each : waiting_) {
            if (each.key.id != id) continue;
            const Block& barrier = launch_.blocks[each.key.block];
            for (const int b : complete) {
                if (!of_block(each.mask, b)) continue;
                if (barrier.reduction != NO_REDUCTION) reduce(barrier, b, each.mask, arrived);
                Mask& there = ready[barrier.target];
                there.resize(geometry_.all_warps());
                for (int w = b * geometry_.warps; w < (b + 1) * geometry_.warps; w++)
                    there[w] |= each.mask[w], each.mask[w] = 0;
            }
        }
        waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
                                      [](const Waiting& each) { return !any(each.mask); }),
                       waiting_.end());
        for (Waiting& each : arrived_)
            for (const int b : complete)
                for (int w = b * geometry_.warps; each.key.id == id && w < (b + 1) * geometry_.warps;
                     w++)
                    each.mask[w] = 0;
        return true;
    }

    static void count_lanes(std::vector<Mask>& times, size_t warp, u32 lanes) {
        for (size_t n = 0; lanes; n++) {
            if (n == times.size()) times.emplace_back(times[0].size());
            const u32 again = times[n][warp] & lanes;
            times[n][warp] |= lanes;
            lanes = again;
        }
    }

    void reduce(const Block& barrier, int block, const Mask& free, const Mask& arrived) {
        if (barrier.result < 0) return;
        u32 count = 0, all = 0;
        const int first = block * geometry_.warps, end = first + geometry_.warps;
        for (int w = first; w < end; w++) {
            const auto* holds =
                reinterpret_cast<const i32*>(warps_[w].registers + barrier.predicate);
            count += __builtin_popcount(lanes_set(holds) & arrived[w]);
            all += __builtin_popcount(arrived[w]);
        }
        const u32 answer =
            barrier.reduction == POPC
                ? count
                : 0 - static_cast<u32>(barrier.reduction == AND ? count == all : count > 0);
        for (int w = first; w < end; w++) {
            u32* row = reinterpret_cast<u32*>(warps_[w].registers + barrier.result);
            each_lane(free[w], [&](int i) { row[i] = answer; });
        }
    }

    // --- verdicts -------------------------------------------------------------------------------

    // Reports threads of one block, or of one warp, that wait at different barriers, or for threads
    // that have left the kernel.
    void check(u32 id, const std::vector<int>& complete, const Mask& gone) const {
        struct Place {
            Key key;
            Mask mask;
        };
        std::map<i32, size_t> by_line;
        std::vector<Place> places;
        for (const Waiting& each : waiting_) {
            const i32 line = launch_.blocks[each.key.block].line;
            if (each.key.id != id || line < 0) continue;
            if (by_line.emplace(line, places.size()).second) {
                places.push_back({each.key, each.mask});
                continue;
            }
            Mask& mask = places[by_line[line]].mask;
            for (size_t w = 0; w < mask.size(); w++) mask[w] |= each.mask[w];
        }
        for (const Place& one : places)
            for (const Place& other : places) {
                if (&one == &other) continue;
                const bool whole = !one.key.count || !other.key.count;
                for (const int b : complete)
                    if (whole ? of_block(one.mask, b) && of_block(other.mask, b)
                              : in_one_warp(one.mask, other.mask, b))
                        accuse(BARRIERS_APART, one.key.block, one.mask, b,
                               {lanes_in(one.mask, b), lanes_in(other.mask, b), other.key.block});
            }
        for (const Waiting& each : waiting_)
            for (const int b : complete)
                if (each.key.id == id && !each.key.count && of_block(each.mask, b) &&
                    of_block(gone, b))
                    accuse(BARRIER_LEFT, each.key.block, each.mask, b,
                           {lanes_in(each.mask, b), lanes_in(gone, b)});
    }

    bool in_one_warp(const Mask& one, const Mask& other, int block) const {
        for (int w = block * geometry_.warps; w < (block + 1) * geometry_.warps; w++)
            if (one[w] && other[w]) return true;
        return false;
    }

    void accuse(What what, int number, const Mask& mask, int block,
                std::vector<i64> details) const {
        int w = block * geometry_.warps;
        while (!mask[w]) w++;
        details.insert(details.begin(), number);
        throw Accusation{what, launch_.blocks[number].site,
                         geometry_.lane(w, __builtin_ctz(mask[w])), std::move(details)};
    }

    // No barrier can complete: reports the places at which the first such block's threads wait.
    void stuck_forever() const {
        int block = 0;
        const auto here = [&](const Waiting& each) { return of_block(each.mask, block); };
        while (std::none_of(waiting_.begin(), waiting_.end(), here)) block++;
        std::map<std::array<i64, 3>, const Mask*> places;
        for (const Waiting& each : waiting_)
            if (here(each)) places[{each.key.block, each.key.id, each.key.count}] = &each.mask;
        std::vector<i64> details;
        for (const auto& [key, mask] : places) {
            details.insert(details.end(), key.begin(), key.end());
            details.push_back(lanes_in(*mask, block));
        }
        const auto& [key, mask] = *places.begin();
        accuse(BARRIER_STUCK, static_cast<int>(key[0]), *mask, block, details);
    }

    const Launch& launch_;
    const Geometry& geometry_;
    std::vector<Warp>& warps_;
    std::vector<Waiting> waiting_;
    std::vector<Waiting> arrived_;  // lanes that have arrived without waiting; again in another entry
    std::map<std::pair<int, u32>, std::vector<Arrival>> arrivals_;  // for the checks, by block and barrier
};

}  // namespace machine
