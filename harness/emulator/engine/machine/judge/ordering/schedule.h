// Which warp runs next when a launch is judged in an order other than the usual one.
//
// Usually all warps of a chunk go through the program together, which is fastest but only one order
// of many. Races are found from what orders the accesses, not from which came first; but which
// accesses occur depends on the order if threads read flags or take tickets or locks. In the other
// orders one warp runs at a time, as long as it can: order 1 prefers the first warp of the first
// block, order 2 the last warp of the last block, and every other number is a seed for drawing
// warps and the lengths of their turns.

#pragma once

#include <random>

#include "forward_progress.h"

namespace machine {

class Schedule {
   public:
    explicit Schedule(i32 number) : number_(number), random_(static_cast<u32>(number)) {}

    bool usual() const { return number_ == 0; }

    // A new chunk begins, which may have fewer warps than the last one.
    void start() { warp_ = 0, turns_ = 0; }

    // The lanes of the next warp, at the lowest-numbered basic block at which it can continue; no lanes if no
    // warp can.
    std::pair<int, Mask> next(Ready& ready) {
        if (turns_ > 0) turns_--;
        const bool goes_on = turns_ != 0 && can_go(ready, warp_);
        auto at = ready.begin();
        if (!goes_on && !choose(ready)) {
            auto nobody = ready.extract(at);
            return {nobody.key(), std::move(nobody.mapped())};
        }
        while (!(at->second[warp_])) ++at;
        Mask lanes(at->second.size());
        std::swap(lanes[warp_], at->second[warp_]);
        const int block = at->first;
        if (!any(at->second)) ready.erase(at);
        return {block, std::move(lanes)};
    }

   private:
    static constexpr u32 MOST_TURNS = 64;

    static bool can_go(const Ready& ready, size_t warp) {
        for (const auto& [block, lanes] : ready)
            if (lanes[warp]) return true;
        return false;
    }

    // Returns false if there is no warp to choose.
    bool choose(const Ready& ready) {
        const size_t warps = ready.begin()->second.size();
        std::vector<size_t> able;
        for (size_t w = 0; w < warps; w++)
            if (can_go(ready, w)) able.push_back(w);
        if (able.empty()) return false;
        turns_ = -1;
        if (number_ == 1) {
            warp_ = able.front();
        } else if (number_ == 2) {
            warp_ = able.back();
        } else {
            turns_ = 1 + static_cast<int>(random_() % MOST_TURNS);
            warp_ = able[random_() % able.size()];
        }
        return true;
    }

    i32 number_;
    std::mt19937 random_;
    size_t warp_ = 0;
    int turns_ = 0;  // left until another warp is chosen; negative if the warp runs as long as it can
};

}  // namespace machine
