// Floats of 8 bits: e4m3 (without infinities) and e5m2.
//
// Conversions to these types round to the nearest and clamp to the largest number; all of their values are exact in
// f16.

#pragma once

#include "halves.h"

namespace machine {

template <int Digits, int Lowest, u8 Largest, u8 Infinite> struct Fp8 {
    static constexpr u8 NOT_A_NUMBER = 0x7F;

    static u8 narrow(f32 value, bool rectifies) {
        if (value != value) return NOT_A_NUMBER;
        const f32 magnitude = std::fabs(value);
        const u8 sign = std::signbit(value) ? 0x80 : 0;
        if (rectifies && sign) return 0;
        if (magnitude >= widened(Largest)) return sign | Largest;
        const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), Lowest) : Lowest;
        const f32 steps = std::nearbyint(std::scalbn(magnitude, Digits - exponent));
        return static_cast<u8>(sign | ((exponent - Lowest) * (1 << Digits) + static_cast<int>(steps)));
    }

    static u16 widen(u8 raw, bool rectifies) {
        const u8 magnitude = raw & 0x7F;
        if (magnitude == NOT_A_NUMBER || magnitude > Infinite) return CANONICAL_NAN;
        const u16 sign = static_cast<u16>((raw & 0x80) << 8);
        if (rectifies && sign) return 0;
        return static_cast<u16>(sign | (magnitude == Infinite ? F16::INFINITE : F16::narrow(widened(magnitude))));
    }

   private:
    static f32 widened(u8 magnitude) {
        const int exponent = magnitude >> Digits, fraction = magnitude & ((1 << Digits) - 1);
        const int steps = exponent ? fraction | 1 << Digits : fraction;
        return std::scalbn(static_cast<f32>(steps), std::max(exponent, 1) - 1 + Lowest - Digits);
    }
};

using E4M3 = Fp8<3, -6, 0x7E, 0x7F>;
using E5M2 = Fp8<2, -14, 0x7B, 0x7C>;

}  // namespace machine
