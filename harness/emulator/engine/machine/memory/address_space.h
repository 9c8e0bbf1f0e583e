// Where buffers and the windows of generic addresses lie, as `memory/address_space.py` lays them out.

#pragma once

#include "machine.h"

namespace machine {

constexpr int SLOT_BITS = 36;
constexpr i64 SHARED_WINDOW = i64(1) << 46;
constexpr i64 LOCAL_WINDOW = SHARED_WINDOW + (i64(1) << 32);
constexpr i64 WINDOW_BYTES = i64(1) << 24;

}  // namespace machine
