// Helpers that apply a function of one lane's operands to all lanes that act.

#pragma once

#include "sass.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace sass {

struct Operand {
    const u32* row;
    u32 keep, flip, plus;
    u32 operator[](int i) const { return ((row[i] & keep) ^ flip) + plus; }
};

struct Plain {
    const u32* row;
    u32 operator[](int i) const { return row[i]; }
};

inline Operand operand(const Context& c, const Instruction& n, int which) {
    const Source& s = n.source[which];
    return {c.source(s), s.keep, s.flip, s.plus};
}
inline Plain plain(const Context& c, const Instruction& n, int which) {
    return {c.source(n.source[which])};
}
inline bool is_plain(const Source& s) { return s.keep == EVERYBODY && !(s.flip | s.plus); }

// A 64-bit operand in two rows. Its modifiers apply to all 64 bits: for a float, `flip` changes the sign; an integer
// is negated by flipping all of its bits and adding `plus`.
struct Wide {
    const u32 *low, *high;
    u32 keep, flip, plus;
    u64 operator[](int i) const {
        const u64 raw = static_cast<u64>(high[i]) << 32 | low[i];
        return flip == EVERYBODY ? ~raw + plus : raw;
    }
    f64 stored(int i) const { return bits_of<f64>(static_cast<u64>(high[i]) << 32 | low[i]); }
    f64 number(int i) const {
        return bits_of<f64>(static_cast<u64>((high[i] & keep) ^ flip) << 32 | low[i]);
    }
};

inline Wide wide(const Context& c, const Instruction& n, int which) {
    const Source& s = n.source[which];
    return {c.source(s), c.source_high(s), s.keep, s.flip, s.plus};
}

template <class F> inline void write(Context& c, u32* r, F value) {
    if (c.full) {
        _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++) r[i] = value(i);
    } else {
        _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++) {
            const u32 v = value(i);
            r[i] = (v & c.mask[i]) | (r[i] & ~c.mask[i]);
        }
    }
}

// Both halves are computed before either is written, because results may overwrite operands.
template <class F> inline void write_wide(Context& c, const Instruction& n, F value) {
    u32 *low = c.result(n), *high = c.result(n, 0, 1);
    u64 values[LANES];
    for (int i = 0; i < LANES; i++) values[i] = value(i);
    for (int i = 0; i < LANES; i++) {
        const u32 m = c.mask[i];
        low[i] = (static_cast<u32>(values[i]) & m) | (low[i] & ~m);
        high[i] = (static_cast<u32>(values[i] >> 32) & m) | (high[i] & ~m);
    }
}

// The lanes for which a function is true.
template <class F> inline u32 lanes_where(F is_true) {
    alignas(64) u32 row[LANES];
    for (int i = 0; i < LANES; i++) row[i] = is_true(i) ? EVERYBODY : 0;
    u32 set = 0;
#ifdef __AVX2__
    for (int i = 0; i < LANES; i += 8) {
        const __m256 part = _mm256_load_ps(reinterpret_cast<const float*>(row + i));
        set |= static_cast<u32>(_mm256_movemask_ps(part)) << i;
    }
#else
    for (int i = 0; i < LANES; i++) set |= (row[i] & 1) << i;
#endif
    return set;
}

template <class F> inline void map1(Context& c, const Instruction& n, F f) {
    if (is_plain(n.source[0])) {
        const Plain a = plain(c, n, 0);
        write(c, c.result(n), [&](int i) { return f(a[i]); });
    } else {
        const Operand a = operand(c, n, 0);
        write(c, c.result(n), [&](int i) { return f(a[i]); });
    }
}

template <class F> inline void map2(Context& c, const Instruction& n, F f) {
    if (is_plain(n.source[0]) && is_plain(n.source[1])) {
        const Plain a = plain(c, n, 0), b = plain(c, n, 1);
        write(c, c.result(n), [&](int i) { return f(a[i], b[i]); });
    } else {
        const Operand a = operand(c, n, 0), b = operand(c, n, 1);
        write(c, c.result(n), [&](int i) { return f(a[i], b[i]); });
    }
}

template <class F> inline void map3(Context& c, const Instruction& n, F f) {
    if (is_plain(n.source[0]) && is_plain(n.source[1]) && is_plain(n.source[2])) {
        const Plain a = plain(c, n, 0), b = plain(c, n, 1), d = plain(c, n, 2);
        write(c, c.result(n), [&](int i) { return f(a[i], b[i], d[i]); });
    } else {
        const Operand a = operand(c, n, 0), b = operand(c, n, 1), d = operand(c, n, 2);
        write(c, c.result(n), [&](int i) { return f(a[i], b[i], d[i]); });
    }
}

inline u32 bit(u32 lanes, int i) { return lanes >> i & 1; }

enum Shuffle : i32 { IDX, UP, DOWN, BFLY };  // `flags`

// The lane whose value a lane gets: its own if the one asked for is out of range.
inline int source_of_shuffle(i32 mode, int lane, u32 operand, u32 limits, bool* in_range = nullptr) {
    const int mask = limits >> 8 & 31, clamp = limits & 31, by = operand & 31;
    const int most = (lane & mask) | (clamp & ~mask), least = lane & mask;
    int from = lane;
    bool fits = false;
    switch (mode) {
        case UP: from = lane - by, fits = from >= most; break;
        case DOWN: from = lane + by, fits = from <= most; break;
        case BFLY: from = lane ^ by, fits = from <= most; break;
        default: from = least | (by & ~mask & 31), fits = from <= most;
    }
    if (in_range) *in_range = fits;
    return fits ? from : lane;
}

}  // namespace sass
