// What textures and surfaces are: texels, and how coordinates stand for them.

#pragma once

#include "machine.h"

namespace machine {

constexpr i64 FIRST_TEXTURE = i64(1) << 48;  // of the handles of a launch

inline int texel_bytes(i32 format) {  // of one channel
    return format < TEXEL_U16 ? 1 : format < TEXEL_U32 || format == TEXEL_F16 ? 2 : 4;
}

}  // namespace machine
