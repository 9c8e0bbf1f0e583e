// The word of an mbarrier: what its phase still waits for. `decode/mbarriers.py` sets it up.
//
// From the lowest bit: 20 bits of arrivals that are pending, 20 bits of those that each phase waits
// for, 23 bits (signed) of bytes that are still to come, and the parity of the phase. Hardware keeps
// the same in another order, which no program may look at.

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

    // Some arrive, and so many more bytes are to come; false where nobody was left to arrive.
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
