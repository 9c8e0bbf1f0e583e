// The elements that registers hold as factors and sums of a matrix product.
//
// `read` reads the elements that a register holds in the lanes of the warp, lane by lane; `write` writes them.

#pragma once

#include <algorithm>
#include <array>

#include "arithmetic/fp8.h"
#include "machine.h"

namespace machine {

template <class H> struct Packed {
    using Number = f64;
    using Word = u32;
    static constexpr int HELD = 2;
    static void read(const Word* row, f64* out) {
        u16 raw[LANES * HELD];
        std::memcpy(raw, row, sizeof raw);
        for (int i = 0; i < LANES * HELD; i++) out[i] = static_cast<f64>(H::widen(raw[i]));
    }
    static void write(Word* row, const f64* in, bool) {
        u16 raw[LANES * HELD];
        for (int i = 0; i < LANES * HELD; i++) raw[i] = H::narrow(in[i]);
        std::memcpy(row, raw, sizeof raw);
    }
};

template <class T> struct Single {
    using Number = f64;
    using Word = T;
    static constexpr int HELD = 1;
    static void read(const Word* row, f64* out) {
        for (int i = 0; i < LANES; i++) out[i] = static_cast<f64>(row[i]);
    }
    static void write(Word* row, const f64* in, bool) {
        for (int i = 0; i < LANES; i++) row[i] = canonical(static_cast<T>(in[i]));
    }
};

struct Tf32 {
    using Number = f64;
    using Word = u32;
    static constexpr int HELD = 1;
    static void read(const Word* row, f64* out) {
        for (int i = 0; i < LANES; i++) out[i] = static_cast<f64>(bits_of<f32>(row[i] & 0xFFFFE000));
    }
};

template <class F> struct Fp8s {
    using Number = f64;
    using Word = u32;
    static constexpr int HELD = 4;
    static void read(const Word* row, f64* out) {
        static const std::array<f64, 256> numbers = [] {
            std::array<f64, 256> all;
            for (int i = 0; i < 256; i++) all[i] = F16::widen(F::widen(static_cast<u8>(i), false));
            return all;
        }();
        u8 raw[LANES * HELD];
        std::memcpy(raw, row, sizeof raw);
        for (int i = 0; i < LANES * HELD; i++) out[i] = numbers[raw[i]];
    }
};

template <class T> struct Bytes {
    using Number = i32;
    using Word = u32;
    static constexpr int HELD = 4;
    static void read(const Word* row, i32* out) {
        T raw[LANES * HELD];
        std::memcpy(raw, row, sizeof raw);
        for (int i = 0; i < LANES * HELD; i++) out[i] = raw[i];
    }
};

template <bool has_sign> struct Nibbles {
    using Number = i32;
    using Word = u32;
    static constexpr int HELD = 8;
    static void read(const Word* row, i32* out) {
        u8 raw[LANES * HELD / 2];
        std::memcpy(raw, row, sizeof raw);
        for (int i = 0; i < LANES * HELD / 2; i++) {
            const i32 low = raw[i] & 15, high = raw[i] >> 4;
            out[2 * i] = has_sign ? (low ^ 8) - 8 : low;
            out[2 * i + 1] = has_sign ? (high ^ 8) - 8 : high;
        }
    }
};

struct Int32 {
    using Number = i64;
    using Word = i32;
    static constexpr int HELD = 1;
    static void read(const Word* row, i64* out) {
        for (int i = 0; i < LANES; i++) out[i] = row[i];
    }
    static void write(Word* row, const i64* in, bool clamps) {
        for (int i = 0; i < LANES; i++) {
            const i64 most = INT32_MAX, least = INT32_MIN;
            row[i] = static_cast<i32>(clamps ? std::max(least, std::min(most, in[i])) : in[i]);
        }
    }
};

using F16s = Packed<F16>;
using BF16s = Packed<BF16>;

}  // namespace machine
