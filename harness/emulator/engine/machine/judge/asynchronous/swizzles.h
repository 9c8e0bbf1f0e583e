// Which swizzle tensor maps have applied to tiles in shared memory, to check the products that read them.
//
// A product takes its swizzle from its descriptor, and the copy that filled the tile took its own from a tensor
// map. If they differ, the product multiplies the wrong elements.

#pragma once

#include <unordered_map>
#include <vector>

#include "judge/ordering/log.h"
#include "judge/ordering/stamps_of_words.h"

namespace machine {

class Swizzles {
   public:
    void start() { widths_.clear(); }

    // The last write was a box, swizzled in rows of `width` bytes; 16 means without a swizzle.
    void filled(const Log& log, i64 width) { widths_[log.now() - 1] = width; }

    // A product reads words with the swizzle of its descriptor.
    void look(const Request& request, const Stamps& stamps, const std::vector<i64>& cells, i64 width,
              const Log& log) const {
        if (widths_.empty()) return;
        i64 before = -1;
        for (size_t n = 0; n < cells.size(); n++) {
            const u64 written = stamps.written[cells[n]];
            if (!written || event_of(written) == before) continue;
            before = event_of(written);
            const auto found = widths_.find(before);
            if (found == widths_.end() || found->second == width) continue;
            const Touch& touch = request.touches[n];
            throw Accusation{OTHER_SWIZZLE, request.site, touch.lane,
                             {touch.address, width, found->second, log.site(before)},
                             static_cast<i64>(log.first_block())};
        }
    }

   private:
    std::unordered_map<i64, i64> widths_;  // by the number of the access
};

}  // namespace machine
