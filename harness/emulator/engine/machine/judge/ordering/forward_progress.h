// Decides which lanes run next where lanes may be waiting for each other, so that every lane makes progress.
//
// Lanes that have left a loop wait for those still in it, so that all meet again. If the lanes in
// the loop wait for one that has left it, for example for the holder of a lock, they would wait for
// ever. Since Volta, hardware guarantees that every lane makes progress. Lanes of a warp are
// therefore *parked* if they repeat a loop that may wait (`waiting_loops.py`) and the last pass was
// in vain, that is, the same lanes as in the previous pass had the same registers and read the same
// values. A pass of a loop that counts its passes, or finds something new in each, is not in vain;
// but because such a loop may be waiting for a limited time, its lanes are parked after `PATIENCE`
// passes of the same lanes, and sooner each further time. The first `GRACE` passes are never in
// vain, because most such loops end within them.
//
// Lanes wait at a `__syncwarp`, shuffle or vote for all lanes that the mask names, as on hardware: these may come in
// another pass of a loop, or later because a loop was parked. Lanes also meet those that wait at another instruction,
// if it has the same qualifiers and they name the same lanes. When no other lane can continue, the waiting lanes try
// again; if nothing changes, they go on without those that did not come, and where loops are parked and nothing
// changes for a long time, the launch is stuck.
//
// These rules depend only on one warp's lanes and registers, and on whether any other lane of its block can
// continue. A block's counts therefore do not depend on which blocks share its chunk, unless it reads what
// those write.

#pragma once

#include <map>
#include <unordered_map>

#include "judge/chunk.h"

namespace machine {

using Ready = std::map<int, Mask>;  // lanes that can continue, by basic block

class ForwardProgress {
   public:
    ForwardProgress(const Launch& launch, const Geometry& geometry, std::vector<Warp>& warps)
        : launch_(launch), geometry_(geometry), warps_(warps) {
        for (int n = 0; n < launch_.head_count; n++)
            heads_.emplace(launch_.heads[n].block, Passes{launch_.heads[n]});
        for (int n = 0; n < launch_.meeting_count; n++)
            meetings_.emplace(launch_.meetings[n].block, launch_.meetings[n]);
    }

    void start() {
        parked_.clear(), held_.clear(), joining_.clear(), before_.clear();
        rounds_ = 0, without_ = -1;
        for (auto& [number, head] : heads_) head.start(geometry_);
    }

    // Whether any lanes are parked or wait at a meeting.
    bool anybody() const { return !parked_.empty() || !held_.empty(); }

    // How often in a row the waiting lanes have tried again although nothing has changed.
    int rounds_in_vain() const { return rounds_; }

    // The lanes that waited at other basic blocks and meet those that `take` left, by basic block.
    const std::map<int, Mask>& joining() const { return joining_; }

    // Reduces the lanes that are ready at a basic block to those that execute it now.
    void take(int number, Mask& lanes, const Mask& exited) {
        joining_.clear();
        const auto meeting = meetings_.find(number);
        if (meeting != meetings_.end()) who_meet(meeting->second, lanes, exited);
        const auto head = heads_.find(number);
        if (head == heads_.end() || !any(lanes)) return;
        Mask vain = passes_in_vain(head->second, lanes);
        for (const auto& [_, others] : joining_)
            for (size_t w = 0; w < vain.size(); w++)
                if (others[w]) vain[w] = 0;
        if (!any(vain)) return;
        Mask& parked = joined(parked_, number);
        for (size_t w = 0; w < vain.size(); w++) parked[w] |= vain[w], lanes[w] &= ~vain[w];
    }

    // No other lane can continue, so the waiting lanes try again. Returns false if no lane is waiting.
    bool wake(Ready& ready) {
        if (!anybody()) return false;
        State now;
        for (const auto& [number, mask] : held_) now[{0, number}].assign(mask.begin(), mask.end());
        for (const auto& [number, mask] : parked_)
            now[{1, number}] = heads_.at(number).state(mask, geometry_);
        rounds_ = now == before_ ? rounds_ + 1 : 0;
        before_ = std::move(now);
        if (rounds_ && !held_.empty())
            without_ = held_.begin()->first;
        else if (rounds_ > HOPE && !launch_.clocks)
            give_up();
        for (const auto& [number, mask] : parked_) ready[number] = mask;
        for (auto held = held_.begin(); held != held_.end();) {
            if (without_ >= 0 && held->first != without_) {  // its lanes may meet those that go on
                ++held;
                continue;
            }
            Mask& there = joined(ready, held->first);
            for (size_t w = 0; w < there.size(); w++) there[w] |= held->second[w];
            held = held_.erase(held);
        }
        for (auto& [number, head] : heads_) {
            const auto parked = parked_.find(number);
            head.woken = parked == parked_.end() ? Mask() : parked->second;
            for (i32& passes : head.passes) passes = std::min(passes, GRACE + 1);
        }
        parked_.clear();
        return true;
    }

   private:
    static constexpr i32 GRACE = 8, PATIENCE = 1024, LEAST_PATIENCE = 16, HOPE = 256;

    using State = std::map<std::pair<int, int>, std::vector<u64>>;

    // The passes of a chunk's warps through one loop, and what they found.
    struct Passes {
        void start(const Geometry& g) {
            const size_t warps = g.all_warps();
            passes.assign(warps, 0), patience.assign(warps, PATIENCE), company.assign(warps, 0);
            samples.assign(warps, 0), quiet.assign(warps, 0), prints.assign(g.all_lanes(), 0);
            woken.clear();
        }

        // A state that stays the same as long as parked lanes retry in vain.
        std::vector<u64> state(const Mask& parked, const Geometry& geometry) const {
            std::vector<u64> out(prints.size());
            for (size_t w = 0; w < parked.size(); w++)
                each_lane(parked[w], [&](int i) {
                    const int lane = geometry.lane(static_cast<int>(w), i);
                    out[lane] = prints[lane];
                });
            return out;
        }

        Head head;
        std::vector<i32> passes, patience;
        Mask company;              // the lanes of the last pass
        std::vector<u64> samples;  // the fingerprint of one of them
        std::vector<i32> quiet;    // passes since that fingerprint last changed
        std::vector<u64> prints;   // each lane's fingerprint
        Mask woken;
    };

    Mask& joined(std::map<int, Mask>& some, int number) {
        Mask& mask = some[number];
        mask.resize(geometry_.all_warps());
        return mask;
    }

    // The lanes that repeat the loop in those warps where the last pass was in vain; empty if there are none.
    Mask passes_in_vain(Passes& head, const Mask& lanes) {
        const Mask woken = std::move(head.woken);
        head.woken.clear();
        i32 most = 0;
        for (size_t w = 0; w < lanes.size(); w++)
            if (lanes[w]) most = std::max(most, ++head.passes[w]);
        if (most <= GRACE) return {};
        std::vector<size_t> waiting, tired;
        for (size_t w = 0; w < lanes.size(); w++) {
            if (!lanes[w]) continue;
            if (head.company[w] != lanes[w]) head.passes[w] = std::min(head.passes[w], GRACE + 1);
            head.company[w] = lanes[w];
            const u64 sample = fingerprint(head, w, 31 - __builtin_clz(lanes[w]), lanes[w]);
            const bool same = head.samples[w] == sample && head.passes[w] > GRACE + 1;
            head.samples[w] = sample;
            head.quiet[w] = same ? head.quiet[w] + 1 : 0;
            if (head.passes[w] > head.patience[w]) tired.push_back(w);
            if (same) waiting.push_back(w);
        }
        if (waiting.empty() && tired.empty()) return {};
        Mask vain(lanes.size());
        std::vector<u8> as_before(lanes.size(), 1);
        for (size_t w = 0; w < lanes.size(); w++)
            each_lane(lanes[w], [&](int i) {
                u64& print = head.prints[geometry_.lane(static_cast<int>(w), i)];
                const u64 now = fingerprint(head, w, i, 0);
                if (print != now) as_before[w] = 0;
                print = now;
            });
        const auto park = [&](size_t w) {
            if (!woken.empty() && woken[w]) return false;
            vain[w] = lanes[w];
            return true;
        };
        for (const size_t w : waiting)
            if (as_before[w] && head.quiet[w] > 1) park(w);
        for (const size_t w : tired)
            if (park(w)) head.patience[w] = std::max(head.patience[w] / 4, LEAST_PATIENCE);
        return vain;
    }

    u64 fingerprint(const Passes& head, size_t warp, int i, u64 mixed) const {
        for (int n = 0; n < head.head.count; n++) {
            const i32 row = launch_.watched[head.head.first + n];
            const u8* values = warps_[warp].registers + (row & ~1);
            const u64 value = row & 1 ? reinterpret_cast<const u64*>(values)[i]
                                      : reinterpret_cast<const u32*>(values)[i];
            mixed = mixed * 0x9E3779B97F4A7C15u + value;
        }
        return mixed;
    }

    // Reduces the lanes at a meeting to those for which all lanes of their mask have arrived or exited.
    void who_meet(const Meeting& meeting, Mask& lanes, const Mask& exited) {
        const auto held = held_.find(meeting.block);
        if (held != held_.end()) {
            for (size_t w = 0; w < lanes.size(); w++) lanes[w] |= held->second[w];
            held_.erase(held);
        }
        const bool without = meeting.block == without_;
        if (without) without_ = -1;
        Mask waits(lanes.size());
        for (size_t w = 0; w < lanes.size(); w++) {
            const u32 missing = lanes[w] ? geometry_.lanes_of(static_cast<int>(w)) & ~(lanes[w] | exited[w]) : 0;
            if (!missing) continue;
            each_lane(lanes[w], [&](int i) {
                if (named(meeting, w)[i] & missing) waits[w] |= u32(1) << i;
            });
            lanes[w] &= ~waits[w];
            const u32 met = meet_elsewhere(meeting, w, waits[w], exited[w], without);
            lanes[w] |= met, waits[w] &= ~met;
            if (!without) continue;
            look_elsewhere(meeting, w, waits[w]);
            lanes[w] |= waits[w], waits[w] = 0;
        }
        if (any(waits)) held_[meeting.block] = waits;
    }

    const u32* named(const Meeting& meeting, size_t w) const {
        return reinterpret_cast<const u32*>(warps_[w].registers + meeting.mask);
    }

    // The waiting lanes of a warp that meet lanes at other instructions of the same kind: together they are all lanes
    // that each of them names, or, where they go on `without` those that did not come, some.
    u32 meet_elsewhere(const Meeting& meeting, size_t w, u32 waits, u32 exited, bool without) {
        u32 met = 0;
        if (meeting.kind < 0) return met;
        const auto name_alike = [&](const Meeting& where, u32 lanes, u32 mask) {
            u32 alike = 0;
            each_lane(lanes, [&](int i) { alike |= static_cast<u32>(named(where, w)[i] == mask) << i; });
            return alike;
        };
        while (waits) {
            const u32 mask = named(meeting, w)[__builtin_ctz(waits)];
            const u32 here = name_alike(meeting, waits, mask);
            std::map<int, u32> elsewhere;
            u32 came = here;
            for (const auto& [number, held] : held_) {
                const Meeting& other = meetings_.at(number);
                const u32 there = other.kind == meeting.kind ? name_alike(other, held[w], mask) : 0;
                if (there) elsewhere[number] = there, came |= there;
            }
            waits &= ~here;
            const u32 missing = mask & geometry_.lanes_of(static_cast<int>(w)) & ~exited & ~came;
            if (elsewhere.empty() || (missing && !without)) continue;
            met |= here;
            for (const auto& [number, there] : elsewhere) {
                joined(joining_, number)[w] |= there;
                held_[number][w] &= ~there;
                if (!any(held_[number])) held_.erase(number);
            }
        }
        return met;
    }

    // Lanes go on without others that their masks name. What a vote or shuffle gives is not known if such a lane waits
    // at one with which it cannot meet.
    void look_elsewhere(const Meeting& meeting, size_t w, u32 lanes) const {
        if (meeting.site < 0) return;
        for (const auto& [number, held] : held_) {
            const Meeting& other = meetings_.at(number);
            if (other.site < 0) continue;
            each_lane(lanes, [&](int i) {
                const u32 there = named(meeting, w)[i] & held[w];
                if (there)
                    throw Accusation{LANE_ELSEWHERE, meeting.site, geometry_.lane(static_cast<int>(w), i),
                                     {__builtin_ctz(there), other.site}};
            });
        }
    }

    void give_up() const {
        const auto& [number, mask] = *parked_.begin();
        const Party first = selected(mask).front();
        throw Accusation{LOOP_STUCK, launch_.blocks[number].first_site,
                         geometry_.lane(first.warp, __builtin_ctz(first.lanes)), {}};
    }

    const Launch& launch_;
    const Geometry& geometry_;
    std::vector<Warp>& warps_;
    std::map<int, Passes> heads_;
    std::map<int, Mask> parked_, held_, joining_;
    std::unordered_map<int, Meeting> meetings_;  // by basic block
    State before_;
    int rounds_ = 0;    // retries during which nothing has changed
    int without_ = -1;  // a meeting that need not wait for all lanes named
};

}  // namespace machine
