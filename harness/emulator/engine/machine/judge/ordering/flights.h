// Asynchronous copies in flight: until a copy is known to be done, no thread may touch what it writes or
// write what it reads.
//
// A copy is done for a thread once that thread knows that it has ended. If the copy signals no
// mbarrier, that is the thread that issued it, once it has waited for it; the copy then counts as
// an access that this thread made when it waited. If the copy signals an mbarrier, it is any thread
// that has tested the mbarrier after the copy's phase ended, and any thread ordered after such a
// thread.

#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "judge/chunk.h"

namespace machine {

// A range of a memory's words, in the part of its stamps that holds the numbers of copies in flight.
struct Range {
    u32* flights;
    i64 first, count;
};
using Ranges = std::vector<Range>;

// What an mbarrier's phase waits for, as stated in a message. A site is -1 if there is none.
struct PhaseBytes {
    i64 expected = 0, came = 0;
    i32 expecting = -1, coming = -1;
};

class Flights {
   public:
    static constexpr i64 NO_MBARRIER = 0;  // the words of mbarriers have negative numbers

    struct Flight {
        i32 site;
        int lane;        // of the thread that issued it
        i64 word;        // of the mbarrier that it reports to
        u32 phase;
        i64 address;     // of that mbarrier
        bool reduces;    // others may reduce into the same words meanwhile
    };

    bool any() const { return flights_.size() > 1; }
    const Flight& operator[](u32 number) const { return flights_[number]; }

    // New blocks begin: copies in flight for earlier blocks no longer matter.
    void start() {
        for (const Range& range : outside_) clear(range);
        outside_.clear();
        flights_.assign(1, {}), free_.clear(), in_phases_.clear(), mbarriers_.clear();
        last_tested_.clear();
    }

    // Begins a copy that the thread itself has to wait for.
    u32 begin(i32 site, int lane) {
        const Flight made{site, lane, NO_MBARRIER, 0, 0, false};
        if (free_.empty()) {
            flights_.push_back(made);
            return static_cast<u32>(flights_.size() - 1);
        }
        const u32 number = free_.back();
        free_.pop_back();
        flights_[number] = made;
        return number;
    }
    void end(u32 number) { free_.push_back(number); }

    // Begins a copy that belongs to the current phase of an mbarrier.
    u32 begin_in_phase(i32 site, int lane, i64 word, i64 address, bool reduces = false) {
        Phases& phases = mbarriers_[word];
        phases.has_copies = true;
        const u32 phase = phases.ended;
        u32& number = in_phases_[{word, phase, site, lane}];
        if (!number) {
            flights_.push_back({site, lane, word, phase, address, reduces});
            number = static_cast<u32>(flights_.size() - 1);
        }
        return number;
    }

    // If the memory outlives the block, the ranges are remembered, so that they can be cleared for the next one.
    void put(const Ranges& ranges, u32 number, bool outlives) {
        for (const Range& range : ranges) {
            std::fill_n(range.flights + range.first, range.count, number);
            if (outlives) outside_.push_back(range);
        }
    }

    // --- mbarriers ------------------------------------------------------------------------------

    void phase_over(i64 word) {
        Phases& phases = mbarriers_[word];
        phases.ended++;
        phases.bytes = {};
    }

    // Bytes that are expected (positive) or that have arrived (negative).
    void count_bytes(i64 word, i64 more, i32 site) {
        PhaseBytes& bytes = mbarriers_[word].bytes;
        if (more > 0) bytes.expected += more, bytes.expecting = site;
        if (more < 0) bytes.came -= more, bytes.coming = site;
    }
    PhaseBytes bytes(i64 word) const {
        const auto found = mbarriers_.find(word);
        return found == mbarriers_.end() ? PhaseBytes{} : found->second.bytes;
    }
    u32 phases_ended(i64 word) const {
        const auto found = mbarriers_.find(word);
        return found == mbarriers_.end() ? 0 : found->second.ended;
    }

    void tested(i64 word, i64 address, int lane, i64 now) {
        if (lane >= static_cast<int>(last_tested_.size())) last_tested_.resize(lane + 1);
        last_tested_[lane] = {word, address};
        Phases& phases = mbarriers_[word];
        if (phases.has_copies) phases.note(lane, phases.ended, now);
    }
    // The mbarrier that a lane tested last: its word's number and its address; 0 and 0 if none.
    std::pair<i64, i64> last_tested(int lane) const {
        return lane < static_cast<int>(last_tested_.size()) ? last_tested_[lane] : std::pair<i64, i64>{0, 0};
    }

    // Whether a lane knows that a copy is done. `ordered(other, when)` returns whether this lane
    // knows everything that another lane knew at that time.
    template <class Ordered>
    bool done_for(u32 number, int lane, i64 now, Ordered ordered) {
        const Flight& flight = flights_[number];
        if (flight.word == NO_MBARRIER) return false;
        Phases& phases = mbarriers_[flight.word];
        if (phases.ended <= flight.phase) return false;
        if (phases.known_to(lane) > flight.phase) return true;
        for (const auto& [other, known] : phases.known) {
            const auto when = std::upper_bound(
                known.begin(), known.end(), flight.phase,
                [](u32 phase, const Known& each) { return phase < each.ended; });
            if (when == known.end() || !ordered(other, when->when)) continue;
            phases.note(lane, when->ended, now);
            return true;
        }
        return false;
    }

   private:
    struct Known {  // how many phases have ended, and since when that is known
        u32 ended;
        i64 when;
    };
    struct Phases {
        u32 ended = 0;
        bool has_copies = false;  // before the first copy, what is known does not matter
        PhaseBytes bytes;
        std::map<int, std::vector<Known>> known;  // by lane

        u32 known_to(int lane) const {
            const auto found = known.find(lane);
            return found == known.end() ? 0 : found->second.back().ended;
        }
        void note(int lane, u32 count, i64 when) {
            if (known_to(lane) < count) known[lane].push_back({count, when});
        }
    };
    struct OfPhase {
        i64 word;
        u32 phase;
        i32 site;
        int lane;

        bool operator<(const OfPhase& other) const {
            return std::tie(word, phase, site, lane) <
                   std::tie(other.word, other.phase, other.site, other.lane);
        }
    };

    static void clear(const Range& range) {
        std::fill_n(range.flights + range.first, range.count, 0);
    }

    std::vector<Flight> flights_ = std::vector<Flight>(1);  // 0 is none
    std::vector<u32> free_;
    std::map<OfPhase, u32> in_phases_;
    std::unordered_map<i64, Phases> mbarriers_;
    std::vector<std::pair<i64, i64>> last_tested_;  // by lane
    std::vector<Range> outside_;
};

}  // namespace machine
