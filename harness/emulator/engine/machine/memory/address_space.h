// The addresses of buffers and of the generic windows, as `memory/address_space.py` lays them out.

#pragma once

#include "machine.h"

namespace machine {

constexpr int SLOT_BITS = 36;
constexpr i64 SHARED_WINDOW = i64(1) << 46;
constexpr i64 LOCAL_WINDOW = SHARED_WINDOW + (i64(1) << 32);
constexpr i64 WINDOW_BYTES = i64(1) << 24;

// What `discard` leaves undefined, and the bytes that are then there: NaN in any format, so that no use passes unnoticed.
constexpr int DISCARDED_BYTES = 128;
constexpr u8 DISCARDED = 0xFF;

constexpr i64 base_of(i32 space) {
    return space == SHARED ? SHARED_WINDOW : space == LOCAL ? LOCAL_WINDOW : 0;
}

// The state space that a generic address belongs to, which may differ from lane to lane.
constexpr i32 space_of(i64 address) {
    for (const i32 space : {SHARED, LOCAL})
        if (address >= base_of(space) && address < base_of(space) + WINDOW_BYTES) return space;
    return GLOBAL;
}

}  // namespace machine
