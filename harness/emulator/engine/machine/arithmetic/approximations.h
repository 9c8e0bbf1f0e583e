// Approximations shared by both front ends.

#pragma once

#include "floats.h"

namespace machine {

inline f64 without_subnormals(f64 a) {
    return std::fabs(a) < std::numeric_limits<f64>::min() ? std::copysign(0.0, a) : a;
}

// From a double's upper word, computes the upper word of its reciprocal, or of its square root's
// reciprocal: `rcp.approx.ftz.f64`, MUFU.RCP64H.
inline u32 upper_reciprocal(u32 upper, bool of_root) {
    const f64 x = without_subnormals(bits_of<f64>(static_cast<u64>(upper) << 32));
    const f64 found = without_subnormals(1 / (of_root ? std::sqrt(x) : x));
    return found == found ? static_cast<u32>(bits_of<u64>(found) >> 32) : 0x7FFFFFFF;
}

inline f64 reciprocal_of_upper(f64 a, bool of_root) {
    const u32 found = upper_reciprocal(static_cast<u32>(bits_of<u64>(a) >> 32), of_root);
    return bits_of<f64>(static_cast<u64>(found) << 32);
}

}  // namespace machine
