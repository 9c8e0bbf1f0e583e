// `fence.proxy.async`: bulk copies see what threads have stored only after such a fence.
//
// The fence may be anywhere between the two: executed by the thread that wrote, by the one that issues the
// copy, or by another one in between. Copies see what other copies have written without a fence.

#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "log.h"
#include "stamps_of_words.h"

namespace machine {

class Proxies {
   public:
    void start() { fences_.clear(); }

    // `now`: the number of the next access.
    void fence(int lane, i64 now) {
        std::vector<i64>& own = fences_[lane];
        if (own.empty() || own.back() < now - 1) own.push_back(now - 1);
    }

    // A copy reads shared memory through the async proxy. `ordered(other, when, lane)` says whether a lane is
    // ordered after what another lane did at that time.
    template <class Ordered>
    void look(const Request& request, const Stamps& stamps, const std::vector<i64>& cells, const Log& log,
              const Geometry& geometry, Ordered ordered) const {
        const int words = std::max(1, request.width() / stamps.grain);
        std::vector<i64> fenced;  // accesses already checked for this lane
        int by = -1;
        for (size_t n = 0; n < cells.size(); n++)
            for (i64 cell = cells[n]; cell < cells[n] + words; cell++) {
                const u64 written = stamps.written[cell];
                if (!written || stamps.being_written[cell]) continue;
                const Touch& touch = request.touches[n];
                const i64 when = event_of(written);
                if (touch.lane != by) fenced.clear(), by = touch.lane;
                if (std::find(fenced.rbegin(), fenced.rend(), when) != fenced.rend()) continue;
                if (is_fenced(when, touch.lane, geometry, ordered)) {
                    fenced.push_back(when);
                    continue;
                }
                const i64 address = touch.address + (cell - cells[n]) * stamps.grain;
                throw Accusation{NO_PROXY_FENCE, request.site, touch.lane,
                                 {stamps.grain, address, request.memory, geometry.thread_of(lane_of(written)),
                                  log.site(when)},
                                 static_cast<i64>(log.first_block())};
            }
    }

   private:
    // Whether a fence of the block comes between what was done at that time and a lane's next access.
    template <class Ordered>
    bool is_fenced(i64 when, int by, const Geometry& geometry, Ordered ordered) const {
        const auto fences = [&](const auto& each) {
            const auto& [lane, own] = each;
            const auto fence = std::lower_bound(own.begin(), own.end(), when);
            return fence != own.end() && (lane == by || ordered(lane, *fence, by)) &&
                   geometry.block_of(lane) == geometry.block_of(by);
        };
        const auto itself = fences_.find(by);  // most often it is the lane's own fence
        return (itself != fences_.end() && fences(*itself)) || std::any_of(fences_.begin(), fences_.end(), fences);
    }

    std::map<int, std::vector<i64>> fences_;  // by lane: the accesses that its fences follow
};

}  // namespace machine
