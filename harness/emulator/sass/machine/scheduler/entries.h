// The handlers of all instructions, in the order of their numbers.

#pragma once

#include <vector>

#include "sass.h"

namespace sass {

inline std::vector<Entry> all_entries() {
    std::vector<Entry> all;
    for (const auto& some :
         {integer_entries(), bit_entries(), float_entries(), half_entries(), conversion_entries(), memory_entries(),
          texture_entries(), atomic_entries(), system_entries(), warp_entries(), matrix_entries(), warpgroup_entries(),
          mbarrier_entries(), cluster_entries(), bulk_entries(), discard_entries()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

inline const std::vector<Entry>& entries() {
    static const std::vector<Entry> all = all_entries();
    return all;
}

}  // namespace sass
