// Words at which volatile accesses meet unordered: flags, or unprotected data.
//
// `volatile` keeps the compiler from omitting an access. It orders nothing between threads. It is
// nevertheless used for flags, and works there: a word is a flag if its value affects what a thread
// does next, that is, if the value that some load or atomic has read from it reaches a comparison
// or an address (or memory, where it can no longer be followed; `steering.py`). At any other word,
// volatile accesses by two threads are a race if one of them writes. Which case applies is known
// only at the end of the launch, because the load with that effect may come last.

#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "judge/chunk.h"

namespace machine {

class VolatileWords {
   public:
    using Sites = std::pair<i32, i32>;

    void steers(i64 word) { flags_.insert(word); }

    void meet(i64 word, Sites sites, const Accusation& accusation) {
        const auto [known, is_new] = met_.try_emplace(word, Met{accusation, number_, {}});
        number_ += is_new;
        known->second.times[sites]++;
    }

    // Returns the earliest race, and adds to `let_pass` how often accesses met at flags.
    std::optional<Accusation> judged(std::map<Sites, i64>& let_pass) const {
        const Met* first = nullptr;
        for (const auto& [word, met] : met_) {
            if (flags_.count(word)) {
                for (const auto& [sites, times] : met.times) let_pass[sites] += times;
            } else if (!first || met.number < first->number) {
                first = &met;
            }
        }
        if (!first) return {};
        return first->accusation;
    }

   private:
    struct Met {
        Accusation accusation;
        i64 number;
        std::map<Sites, i64> times;
    };

    std::unordered_set<i64> flags_;
    std::unordered_map<i64, Met> met_;
    i64 number_ = 0;
};

}  // namespace machine
