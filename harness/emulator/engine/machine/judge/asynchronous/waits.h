// Records the phases that threads waited for at mbarriers, if the launch requests it.

#pragma once

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "machine.h"

namespace machine {

class Waits {
   public:
    // lines: by site, the first in the same line with the same opcode, because the compiler repeats code that it
    // unrolls; or null if nothing is to be recorded.
    explicit Waits(const i32* lines) : lines_(lines) {}

    bool wanted() const { return lines_; }

    // New blocks begin, whose mbarriers are different ones.
    void start() { mbarriers_.clear(); }

    // An instruction arrives, and announces bytes (positive) or reports that they have arrived
    // (negative).
    void came(i64 word, i32 site, i64 arrivals, i64 bytes) {
        if (!wanted()) return;
        Came& came = mbarriers_[word].current[lines_[site]];
        came.arrivals += arrivals;
        (bytes > 0 ? came.announced : came.bytes) += bytes > 0 ? bytes : -bytes;
    }
    void phase_over(i64 word) {
        if (!wanted()) return;
        Phases& phases = mbarriers_[word];
        phases.ended.push_back(std::move(phases.current));
        phases.current.clear();
    }
    // A thread has found that the phase it waits for is the newest completed one, or the one before
    // the first.
    void over(i64 word, i64 address, i32 site) {
        const Phases& phases = mbarriers_[word];
        const i64 phase = static_cast<i64>(phases.ended.size()) - 1;
        Wait& wait = waits_[{lines_[site], address}];
        wait.first = std::min(wait.first, phase), wait.last = std::max(wait.last, phase);
        if (phase < 0) return;
        for (const auto& [from, came] : phases.ended[phase]) wait.from[from].note(came);
    }

    // A row for each wait, mbarrier and instruction that completed a phase of it: their sites and the address, the
    // first and the last phase, and the minimum and maximum of arrivals, announced bytes and
    // arrived bytes. A wait that nothing completed has a row without such an instruction (-1).
    std::vector<i64> rows() const {
        std::vector<i64> out;
        const auto add = [&](const std::pair<i32, i64>& of, const Wait& wait, i32 from, const Range& range) {
            for (const i64 each : {i64(of.first), of.second, i64(from), wait.first, wait.last, range.least.arrivals,
                                   range.most.arrivals, range.least.announced, range.most.announced,
                                   range.least.bytes, range.most.bytes})
                out.push_back(each);
        };
        for (const auto& [of, wait] : waits_) {
            for (const auto& [from, range] : wait.from) add(of, wait, from, range);
            if (wait.from.empty()) add(of, wait, -1, {});
        }
        return out;
    }

   private:
    struct Came {
        i64 arrivals = 0, announced = 0, bytes = 0;
    };
    struct Range {
        Came least, most;
        bool any = false;

        void note(const Came& came) {
            const auto each = [&](i64 Came::*field) {
                least.*field = any ? std::min(least.*field, came.*field) : came.*field;
                most.*field = std::max(most.*field, came.*field);
            };
            each(&Came::arrivals), each(&Came::announced), each(&Came::bytes);
            any = true;
        }
    };
    using OfPhase = std::map<i32, Came>;  // by site
    struct Phases {
        OfPhase current;
        std::vector<OfPhase> ended;
    };
    struct Wait {
        i64 first = INT64_MAX, last = -1;
        std::map<i32, Range> from;
    };

    const i32* const lines_;
    std::unordered_map<i64, Phases> mbarriers_;  // by word
    std::map<std::pair<i32, i64>, Wait> waits_;  // by site and address
};

}  // namespace machine
