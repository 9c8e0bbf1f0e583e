// What textures and surfaces are: texels, and how coordinates stand for them.

#pragma once

#include "machine.h"

namespace machine {

constexpr i64 FIRST_TEXTURE = i64(1) << 48;  // of the handles of a launch

enum TextureKind : i32 { LINE, PLANE, VOLUME, LAYERED_LINE, LAYERED_PLANE, CUBE };
enum TexelFormat : i32 {
    TEXEL_U8, TEXEL_S8, TEXEL_U16, TEXEL_S16, TEXEL_U32, TEXEL_S32, TEXEL_F16, TEXEL_F32
};
enum AddressMode : i32 { CLAMP, BORDER, WRAP, MIRROR };

inline int texel_bytes(i32 format) {  // of one channel
    return format < TEXEL_U16 ? 1 : format < TEXEL_U32 || format == TEXEL_F16 ? 2 : 4;
}

}  // namespace machine
