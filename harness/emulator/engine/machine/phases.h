// The fast run's knowledge of mbarriers: the order that their waits establish, and the copies that
// signal them.
//
// A warp whose lanes test an mbarrier acquires what its block did before the arrivals that belong
// to its ended phases, as the judge has it (`judge/ordering/release_acquire.h`): from another
// warp's arrival, what all other warps did; from an arrival within the warp, only if all of its
// lanes arrived together and now test together. A copy that signals an mbarrier is done for a
// thread that has tested it after the copy's phase, and for threads ordered after such a thread
// (`judge/ordering/flights.h`). Here, all of this is counted in epochs.

#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "stamps.h"

namespace machine {

class Phases {
   public:
    void clear() { all_.clear(), flights_.clear(); }
    void change() { changes_++; }  // a barrier

    // Some of a warp's lanes arrive at an mbarrier; `together`: all lanes of the warp. Everything before `epoch` is
    // published when the phase ends.
    void arrive(i64 address, int warp, u64 epoch, bool together) {
        changes_++;
        Published& now = all_[number_of(address)].pending;
        if (now.warp != warp) now.before = now.latest, now.warp = warp;
        now.latest = epoch;
        if (together) now.whole[warp] = epoch;
    }
    void end(i64 address) {
        Mbarrier& it = all_[number_of(address)];
        it.released = it.pending, it.ended++;
    }

    // Some of a warp's lanes test an mbarrier; `together`: all lanes of the warp. Returns whether the warp knows more
    // of what others did.
    bool test(i64 address, Warp& warp, u32 lanes, bool together, u64 epoch) {
        Mbarrier& it = all_[number_of(address)];
        if (!it.ended) return false;
        if (!it.known.empty()) it.note(warp.number, lanes, epoch), changes_++;
        const Published& known = it.released;
        const u64 of_others = known.warp == warp.number ? known.before : known.latest;
        const u64 of_own = known.whole[warp.number];
        each_lane(lanes, [&](int i) { warp.known[i] = std::max(warp.known[i], of_own); });
        if (of_others <= warp.acquired && (!together || of_own <= warp.synced)) return false;
        warp.acquired = std::max(warp.acquired, of_others);
        if (together) warp.synced = std::max(warp.synced, of_own);
        return true;
    }

    // --- copies in flight -----------------------------------------------------------------------

    // Lanes of a warp issue copies that belong to the current phase of an mbarrier. Returns the flight's number.
    u32 begin(i64 address, int warp, u32 lanes, u64 epoch) {
        const int number = number_of(address);
        Mbarrier& it = all_[number];
        if (it.known.empty()) it.known.resize(MOST_THREADS);
        it.copies.push_back(static_cast<u32>(flights_.size()));
        flights_.push_back({number, warp, lanes, it.ended, epoch});
        return it.copies.back();
    }
    // Lanes of a warp have arrived at an mbarrier while its current phase had that number, which may have ended with
    // the last of them. This publishes the copies that the same lanes issued in the phase.
    u32 phase(i64 address) { return all_[number_of(address)].ended; }
    void publish(i64 address, int warp, u32 lanes, u32 phase) {
        std::vector<u32>& copies = all_[number_of(address)].copies;
        for (const u32 number : copies) {
            Flight& flight = flights_[number];
            if (flight.warp == warp && flight.phase == phase) flight.unpublished &= ~lanes;
        }
        const auto is_over = [&](u32 n) { return !flights_[n].unpublished || flights_[n].phase < phase; };
        copies.erase(std::remove_if(copies.begin(), copies.end(), is_over), copies.end());
    }

    // Whether a lane of a warp, or all of them if `thread` is negative, may access what an issuer's copy has written.
    bool is_done(u32 flight, int issuer, const Warp& warp, int thread, u64 barrier) const {
        const Flight& it = flights_[flight];
        const Mbarrier& at = all_[it.mbarrier];
        if (at.ended <= it.phase) return false;
        const bool itself = thread < 0 ? at.known_to_warp(warp) > it.phase : at.known[thread] > it.phase;
        if (!itself && !at.is_told(it.phase, warp, thread, barrier)) return false;
        const bool own = it.warp == warp.number;
        const u64 known = own ? warp.knows_itself(thread) : warp.acquired;
        return issuer == thread || it.issued < barrier || it.issued < known || (own && itself && !it.unpublished);
    }
    // Whether this holds for all threads of the block. It is determined once after every change.
    bool is_done_for_all(u32 flight, const std::vector<Warp>& warps, u64 barrier) {
        Flight& it = flights_[flight];
        if (it.asked != changes_) it.asked = changes_, it.for_all |= known_to_all(it, warps, barrier);
        return it.for_all;
    }

   private:
    static constexpr int MOST_THREADS = 1024;

    struct Flight;
    bool known_to_all(const Flight& it, const std::vector<Warp>& warps, u64 barrier) const {
        const Mbarrier& at = all_[it.mbarrier];
        if (it.issued < barrier && at.is_told(it.phase, barrier)) return true;
        if (it.unpublished) return false;
        for (const Warp& warp : warps) {
            if (warp.exited == warp.threads) continue;
            const bool known = it.warp == warp.number || it.issued < std::max(barrier, warp.acquired);
            if (!known || at.known_to_warp(warp) <= it.phase) return false;
        }
        return true;
    }

    struct Published {  // epochs of arrivals
        u64 latest = 0, before = 0;  // the latest one, and the latest one by any other warp
        int warp = -1;               // of the latest one
        std::array<u64, MOST_THREADS / LANES> whole{};  // by warp: when all its lanes arrived together
    };
    struct Told {  // how many phases have ended, and since when a lane of the warp has known it
        u32 ended = 0;
        u64 since = 0;
    };
    struct Mbarrier {
        i64 address;
        u32 ended = 0;
        Published pending{}, released{};
        std::vector<u32> known{};    // by thread: phases that it knows to have ended; empty before the first copy
        std::array<Told, MOST_THREADS / LANES> told{};  // by warp
        std::vector<u32> copies{};   // of the current phase, if their issuers have not arrived since

        void note(int warp, u32 lanes, u64 epoch) {
            each_lane(lanes, [&](int i) { known[warp * LANES + i] = ended; });
            if (told[warp].ended < ended) told[warp] = {ended, epoch};
        }
        u32 known_to_warp(const Warp& warp) const {
            u32 least = ended;
            each_lane(warp.threads, [&](int i) { least = std::min(least, known[warp.number * LANES + i]); });
            return least;
        }
        // Whether the block is ordered after a test of any thread that found the phase ended.
        bool is_told(u32 phase, u64 barrier) const {
            return std::any_of(told.begin(), told.end(), [&](const Told& each) {
                return each.ended > phase && each.since < barrier;
            });
        }
        // The same for a thread, or for all threads of its warp if the number is negative.
        bool is_told(u32 phase, const Warp& warp, int thread, u64 barrier) const {
            if (is_told(phase, barrier)) return true;
            for (size_t w = 0; w < told.size(); w++) {
                const u64 knows = static_cast<int>(w) == warp.number ? warp.knows_itself(thread) : warp.acquired;
                if (told[w].ended > phase && told[w].since < knows) return true;
            }
            return false;
        }
    };
    struct Flight {
        int mbarrier, warp;
        u32 unpublished;  // the issuing lanes that have not arrived since
        u32 phase;
        u64 issued;
        u64 asked = 0;  // the number of changes when it was last asked whether all threads know
        bool for_all = false;
    };

    int number_of(i64 address) {
        for (size_t n = 0; n < all_.size(); n++)
            if (all_[n].address == address) return static_cast<int>(n);
        all_.push_back({address});
        return static_cast<int>(all_.size()) - 1;
    }

    std::vector<Mbarrier> all_;
    std::vector<Flight> flights_;
    u64 changes_ = 1;  // arrivals, tests and barriers
};

}  // namespace machine
