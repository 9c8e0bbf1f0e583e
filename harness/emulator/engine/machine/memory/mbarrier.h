// The word of an mbarrier: what its phase still waits for. `decode/mbarriers.py` initialises it.
//
// From the lowest bit up: 20 bits for pending arrivals, 20 bits for the arrivals that each phase expects, 23 bits
// (signed) for bytes still expected, and the parity of the phase. Hardware stores the same data in
// a different order, which no program may inspect.

#pragma once

#include "machine.h"

namespace machine {

struct Mbarrier {
    static constexpr int COUNT_BITS = 20, BYTES_BITS = 23, PARITY_BIT = 63;
    static constexpr u64 MOST = (u64(1) << COUNT_BITS) - 1;

    i64 pending, expected, bytes;
    u64 parity;

    static Mbarrier of(u64 word) {
        const i64 bytes = static_cast<i64>(word << 1) >> (64 - BYTES_BITS);
        return {static_cast<i64>(word & MOST), static_cast<i64>(word >> COUNT_BITS & MOST), bytes,
                word >> PARITY_BIT};
    }

    u64 word() const {
        const u64 more = static_cast<u64>(bytes) & ((u64(1) << BYTES_BITS) - 1);
        return parity << PARITY_BIT | more << 2 * COUNT_BITS | static_cast<u64>(expected) << COUNT_BITS |
               static_cast<u64>(pending);
    }

    // Adds arrivals and expected bytes. Returns false if there are more arrivals than were pending.
    bool update(i64 count, i64 more_bytes, bool drops) {
        if (count > pending || (drops && count > expected)) return false;
        pending -= count, bytes += more_bytes;
        if (drops) expected -= count;
        if (pending == 0 && bytes == 0) parity ^= 1, pending = expected;
        return true;
    }
};

inline bool same_phase(u64 before, u64 after) {
    return (before >> Mbarrier::PARITY_BIT) == (after >> Mbarrier::PARITY_BIT);
}

}  // namespace machine
