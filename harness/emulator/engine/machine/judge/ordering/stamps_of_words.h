// The stamps of a memory's words: which accesses came last, and which copies in flight use the word.

#pragma once

#include <unordered_map>
#include <unordered_set>

#include "allocation.h"
#include "machine.h"

namespace machine {

// By words of `grain` bytes; 0 means never accessed. Copies in flight are stored by number (`flights.h`), and
// there is room for them only if the program has copies.
struct Stamps {
    Stamps(size_t words, int of_grain, bool is_own, bool has_copies)
        : written(zeros<u64>(words)), read(zeros<u64>(words)), read_too(zeros<u64>(words)),
          being_written(zeros<u32>(has_copies ? words : 0)), being_read(zeros<u32>(has_copies ? words : 0)),
          grain(of_grain), own(is_own) {}

    Held<u64> written, read, read_too;
    Held<u32> being_written, being_read;
    int grain;
    bool own;  // private to each block: no other block ever sees it
    // Plain writes that an atomic has overwritten. An access may be allowed to meet the atomic but not them.
    std::unordered_map<i64, u64> below_atomics;
    // The lanes that have written the value that a word has, for words where several did so in no order.
    std::unordered_map<i64, std::unordered_set<int>> writers;
};

}  // namespace machine
