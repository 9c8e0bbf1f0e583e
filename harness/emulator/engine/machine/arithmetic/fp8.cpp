// Conversions of 8-bit floats, two per register.

#include "fp8.h"
#include "rows.h"

namespace machine {
namespace {

template <class F> u16 both(f32 high, f32 low, bool rectifies) {
    return static_cast<u16>(F::narrow(high, rectifies) << 8 | F::narrow(low, rectifies));
}

template <class F> void from_floats(Context& c, const Op& op) {
    const bool rectifies = op.immediate & RECTIFIES;
    map<u16, f32, f32>(c, op, [=](f32 high, f32 low) { return both<F>(high, low, rectifies); });
}

template <class F> void from_halves(Context& c, const Op& op) {
    const bool rectifies = op.immediate & RECTIFIES;
    map<u16, u32>(c, op, [=](u32 a) {
        return both<F>(F16::widen(high(a)), F16::widen(low(a)), rectifies);
    });
}

template <class F> void to_halves(Context& c, const Op& op) {
    const bool rectifies = op.immediate & RECTIFIES;
    map<u32, u16>(c, op, [=](u16 a) {
        return pair(F::widen(static_cast<u8>(a), rectifies), F::widen(static_cast<u8>(a >> 8), rectifies));
    });
}

}  // namespace

std::vector<Entry> fp8_entries() {
    return {
        {"cvt/e4m3x2.f32", from_floats<E4M3>}, {"cvt/e5m2x2.f32", from_floats<E5M2>},
        {"cvt/e4m3x2.f16x2", from_halves<E4M3>}, {"cvt/e5m2x2.f16x2", from_halves<E5M2>},
        {"cvt/f16x2.e4m3x2", to_halves<E4M3>}, {"cvt/f16x2.e5m2x2", to_halves<E5M2>},
    };
}

}  // namespace machine
