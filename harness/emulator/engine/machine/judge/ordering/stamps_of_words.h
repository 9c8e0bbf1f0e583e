// The stamps of a memory, word by word: who accessed it last, and which copy under way concerns it.

#pragma once

#include <unordered_map>

#include "allocation.h"
#include "machine.h"

namespace machine {

// In words of `grain` bytes; 0 is never. Copies under way are told by their numbers (`flights.h`); there is
// room for them only where the program has copies.
struct Stamps {
    Stamps(size_t words, int of_grain, bool is_own, bool has_copies)
        : written(zeros<u64>(words)), read(zeros<u64>(words)), read_too(zeros<u64>(words)),
          being_written(zeros<u32>(has_copies ? words : 0)), being_read(zeros<u32>(has_copies ? words : 0)),
          grain(of_grain), own(is_own) {}

    Held<u64> written, read, read_too;
    Held<u32> being_written, being_read;
    int grain;
    bool own;  // of each block: no other one ever sees it
    // Plain writes over which somebody has put an atomic one, which may be met where they may not.
    std::unordered_map<i64, u64> below_atomics;
};

}  // namespace machine
