// What waits at mbarriers order, in the fast run.
//
// A warp whose lanes test an mbarrier acquires what its block did before the arrivals that belong to its ended phases,
// as the judge has it (`judge/ordering/release_acquire.h`): from another warp's arrival what all other warps did, and
// within the warp only if all of its lanes have arrived together and now test together. Here, this is counted in epochs.

#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "machine.h"

namespace machine {

class Phases {
   public:
    void clear() { all_.clear(); }

    // Some of a warp's lanes arrive at an mbarrier; `together`: all lanes of the warp. Everything before `epoch` is
    // published when the phase ends.
    void arrive(i64 address, int warp, u64 epoch, bool together) {
        Published& now = of(address).pending;
        if (now.warp != warp) now.before = now.latest, now.warp = warp;
        now.latest = epoch;
        if (together) now.whole[warp] = epoch;
    }
    void end(i64 address) {
        Mbarrier& it = of(address);
        it.released = it.pending, it.has_ended = true;
    }

    // Some of a warp's lanes test an mbarrier. Returns whether the warp has learnt something.
    bool test(i64 address, Warp& warp, bool together) {
        const Mbarrier& it = of(address);
        if (!it.has_ended) return false;
        const Published& known = it.released;
        const u64 of_others = known.warp == warp.number ? known.before : known.latest;
        const u64 of_own = together ? known.whole[warp.number] : 0;
        if (of_others <= warp.acquired && of_own <= warp.synced) return false;
        warp.acquired = std::max(warp.acquired, of_others), warp.synced = std::max(warp.synced, of_own);
        return true;
    }

   private:
    struct Published {  // epochs of arrivals
        u64 latest = 0, before = 0;  // the latest one, and the latest one by any other warp
        int warp = -1;               // of the latest one
        std::array<u64, 1024 / LANES> whole{};  // by warp: when all its lanes arrived together
    };
    struct Mbarrier {
        i64 address;
        bool has_ended = false;
        Published pending{}, released{};
    };

    Mbarrier& of(i64 address) {
        for (Mbarrier& each : all_)
            if (each.address == address) return each;
        all_.push_back({address});
        return all_.back();
    }

    std::vector<Mbarrier> all_;
};

}  // namespace machine
