// Texture sampling and surface addressing: from coordinates to texels.
//
// CUDA C++ Programming Guide, "Texture Fetching": address modes, and filtering with weights of eight
// fractional bits. Both machines include this: the one that executes PTX, and the one for SASS.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arithmetic/halves.h"
#include "machine.h"

namespace machine {

// The first of a launch's handles. Machine code uses their lower 32 bits.
constexpr i64 FIRST_TEXTURE = i64(1) << 48 | i64(1) << 30;

inline int texel_bytes(i32 format) {  // of one channel
    return format < TEXEL_U16 ? 1 : format < TEXEL_U32 || format == TEXEL_F16 ? 2 : 4;
}

constexpr float WEIGHTS = 256;  // steps of a weight, from 0 to 1
constexpr double NORMALIZED_STEPS = 1 << 21;  // steps from 0 to 1, to which an H200 rounds down
constexpr int CHANNELS = 4;

struct Texel {
    float value[CHANNELS] = {};
};

// --- texels -------------------------------------------------------------------------------------

inline const u8* texel_at(const Texture& t, i64 x, i64 y, i64 z) {
    return t.data + ((z * t.height + y) * t.width + x) * t.channels * texel_bytes(t.format);
}

template <class T>
T channel(const u8* texel, int n) {
    T value;
    std::memcpy(&value, texel + n * sizeof(T), sizeof(T));
    return value;
}

// A channel's bits, as returned by an instruction that does not convert them.
inline u32 channel_bits(const Texture& t, const u8* texel, int n) {
    switch (t.format) {
        case TEXEL_U8: return channel<u8>(texel, n);
        case TEXEL_S8: return static_cast<u32>(i32(channel<i8>(texel, n)));
        case TEXEL_U16: return channel<u16>(texel, n);
        case TEXEL_S16: return static_cast<u32>(i32(channel<i16>(texel, n)));
        default: return channel<u32>(texel, n);
    }
}

inline double value_of(const Texture& t, const u8* texel, int n) {
    switch (t.format) {
        case TEXEL_U8: return channel<u8>(texel, n) / 255.0;
        case TEXEL_S8: return channel<i8>(texel, n) / 127.0;
        case TEXEL_U16: return channel<u16>(texel, n) / 65535.0;
        case TEXEL_S16: return channel<i16>(texel, n) / 32767.0;
        case TEXEL_F16: return F16::widen(channel<u16>(texel, n));
        default: return channel<float>(texel, n);
    }
}

inline bool gives_floats(const Texture& t) { return t.format >= TEXEL_F16 || t.as_fractions; }

// --- coordinates --------------------------------------------------------------------------------

constexpr i64 NOWHERE = -1;

// The texel that a number refers to along an axis of `count` texels, or NOWHERE, which reads as zero.
inline i64 addressed(i64 number, i64 count, i32 mode) {
    switch (mode) {
        case BORDER: return number >= 0 && number < count ? number : NOWHERE;
        case WRAP: return ((number % count) + count) % count;
        case MIRROR: {
            const i64 twice = ((number % (2 * count)) + 2 * count) % (2 * count);
            return twice < count ? twice : 2 * count - 1 - twice;
        }
        default: return std::clamp<i64>(number, 0, count - 1);
    }
}

// Converts to an integer. Numbers too large for that become the end of the range, NaN its lower end.
inline i64 whole(double x) {
    constexpr double FAR = 1 << 30;
    return static_cast<i64>(x >= FAR ? FAR : x >= -FAR ? x : -FAR);
}

// The two texels along an axis that a fetch combines, and the second one's weight.
struct Along {
    i64 first = 0, second = 0;
    float weight = 0;
};

inline Along along(double x, i64 count, i32 mode, const Texture& t, bool linear) {
    if (t.normalized) {
        const int period = mode == WRAP ? 1 : mode == MIRROR ? 2 : 0;
        if (period) x -= period * std::floor(x / period);
        x = std::floor(x * NORMALIZED_STEPS) / NORMALIZED_STEPS * static_cast<double>(count);
    }
    // Without normalized coordinates, the modes that repeat do not apply.
    else if (mode == WRAP || mode == MIRROR)
        mode = CLAMP;
    if (!linear) {
        const i64 only = addressed(whole(std::floor(x)), count, mode);
        return {only, only, 0};
    }
    const double fixed = std::floor((x - 0.5) * WEIGHTS + 0.5);
    const i64 number = whole(std::floor(fixed / WEIGHTS));
    if (mode == CLAMP && (number < 0 || number >= count - 1)) {  // beyond the centre of the first or last texel
        const i64 only = addressed(number, count, mode);
        return {only, only, 0};
    }
    return {addressed(number, count, mode), addressed(number + 1, count, mode),
            static_cast<float>(std::clamp(fixed / WEIGHTS - static_cast<double>(number), 0.0, 1.0))};
}

// --- fetches ------------------------------------------------------------------------------------

// The face of a cube that a direction hits. Sets x and y to the position there, from 0 to 1.
inline i64 face_of(float& x, float& y, float z) {
    const float a = std::fabs(x), b = std::fabs(y), c = std::fabs(z);
    i64 face;
    float s, t, m;
    if (a >= b && a >= c)
        face = x < 0 ? 1 : 0, m = a, s = x < 0 ? z : -z, t = -y;
    else if (b >= c)
        face = y < 0 ? 3 : 2, m = b, s = x, t = y < 0 ? -z : z;
    else
        face = z < 0 ? 5 : 4, m = c, s = z < 0 ? -x : x, t = -y;
    x = (s / m + 1) / 2, y = (t / m + 1) / 2;
    return face;
}

struct Fetch {
    Along x, y, z;
};

// coordinate(n): the n-th coordinate of a fetch; a layer comes first.
template <class Coordinate>
Fetch placed(const Texture& t, bool linear, Coordinate coordinate, u32 layer) {
    const auto axis = [&](int n, float at, i32 count) {
        return along(at, count, t.address[n], t, linear);
    };
    const i64 of_layer = std::min<i64>(layer, t.depth - 1);
    const Along third{of_layer, of_layer, 0};
    switch (t.kind) {
        // A line is a plane's only row, sampled at the row's upper border.
        case LINE: return {axis(0, coordinate(0), t.width), axis(1, 0, 1), {}};
        case PLANE: return {axis(0, coordinate(0), t.width), axis(1, coordinate(1), t.height), {}};
        case VOLUME:
            return {axis(0, coordinate(0), t.width), axis(1, coordinate(1), t.height),
                    axis(2, coordinate(2), t.depth)};
        case LAYERED_LINE: return {axis(0, coordinate(1), t.width), {}, third};
        case LAYERED_PLANE:
            return {axis(0, coordinate(1), t.width), axis(1, coordinate(2), t.height), third};
        default: {
            float x = coordinate(0), y = coordinate(1);
            const i64 face = face_of(x, y, coordinate(2));
            return {axis(0, x, t.width), axis(1, y, t.height), {face, face, 0}};
        }
    }
}

// The weights of the eight texels around a position. The total is divided between the layers, in each layer between
// left and right, and then between above and below, in whole steps of 1/256. This, and the rounding of half steps, was
// derived from H200 readings.
struct Weights {
    double of[8];

    explicit Weights(const Fetch& f) {
        const double x = f.x.weight, y = f.y.weight, z = f.z.weight;
        for (int layer = 0; layer < 2; layer++) {
            const double whole = WEIGHTS * (layer ? z : 1 - z);
            const double right = std::floor(whole * x + 0.5), left = whole - right;
            const double right_below = std::floor(right * y + 0.5);
            const double left_below = std::ceil(left * y - 0.5);
            double* const corner = of + 4 * layer;
            corner[0] = (left - left_below) / WEIGHTS, corner[2] = left_below / WEIGHTS;
            corner[1] = (right - right_below) / WEIGHTS, corner[3] = right_below / WEIGHTS;
        }
    }
};

// Rounds to the nearest half. Ties are rounded away from zero.
inline float nearest_half(double value) {
    const u16 half = F16::narrow(static_cast<float>(value));
    const double low = std::fabs(F16::widen(half)), high = std::fabs(F16::widen(half + 1));
    return F16::widen(2 * std::fabs(value) == low + high ? half + 1 : half);
}

// A filtered value with the precision of its texels. Sums are multiples of 1/256 of a step, so any
// smaller part is an error of the division by the largest number.
inline float narrowed(const Texture& t, double value) {
    constexpr double HALF = 0.5 + 1e-6;
    switch (t.format) {
        case TEXEL_U8:
        case TEXEL_U16: return static_cast<float>(std::floor(value * 65535 + HALF) / 65535);
        case TEXEL_S8:
        case TEXEL_S16: return static_cast<float>(std::floor(value * 32767 + HALF) / 32767);
        case TEXEL_F16: return nearest_half(value);
        default: return static_cast<float>(value);
    }
}

inline Texel filtered(const Texture& t, const Fetch& f) {
    const Weights weights(f);
    const Along* const axes[] = {&f.x, &f.y, &f.z};
    double sum[CHANNELS] = {};
    for (int corner = 0; corner < 8; corner++) {
        if (weights.of[corner] == 0) continue;
        i64 at[3];
        for (int n = 0; n < 3; n++) at[n] = corner >> n & 1 ? axes[n]->second : axes[n]->first;
        if (std::min({at[0], at[1], at[2]}) < 0) continue;
        const u8* texel = texel_at(t, at[0], at[1], at[2]);
        for (int n = 0; n < t.channels; n++)
            sum[n] += weights.of[corner] * value_of(t, texel, n);
    }
    Texel out;
    for (int n = 0; n < t.channels; n++)
        out.value[n] = t.linear ? canonical(narrowed(t, sum[n])) : static_cast<float>(sum[n]);
    if (t.format == TEXEL_S8 || t.format == TEXEL_S16)  // their lowest number is one step below -1
        for (float& value : out.value) value = std::max(value, -1.0f);
    return out;
}

// Computes the four channels' bits. C: the type of the coordinates, whose bits raw(n) returns; a layer comes first. A
// fetch that does not convert returns the texel's bits, whatever its result type.
template <class C, class Raw>
void sample(const Texture& t, Raw raw, u32 (&bits)[CHANNELS]) {
    constexpr bool counted = !std::is_same_v<C, float>;
    const auto coordinate = [&](int n) {
        if constexpr (!counted) return bits_of<float>(raw(n));
        // The centre of a texel, where sampling returns the texel itself.
        return static_cast<float>(static_cast<i32>(raw(n))) + 0.5f;
    };
    const bool linear = t.linear && gives_floats(t) && !counted;
    Fetch f;
    if (counted && t.kind == LINE) {  // linear memory, outside which texels are zero
        const i64 only = addressed(static_cast<i32>(raw(0)), t.width, BORDER);
        f.x = {only, only, 0};
    } else {
        f = placed(t, linear, coordinate, raw(0));
    }
    std::fill_n(bits, CHANNELS, 0);
    if (gives_floats(t)) {
        const Texel texel = filtered(t, f);
        std::memcpy(bits, texel.value, sizeof bits);
    } else if (std::min({f.x.first, f.y.first, f.z.first}) >= 0) {
        const u8* texel = texel_at(t, f.x.first, f.y.first, f.z.first);
        for (int n = 0; n < t.channels; n++) bits[n] = channel_bits(t, texel, n);
    }
}

// --- surfaces -----------------------------------------------------------------------------------

enum Beyond : i64 { TRAPS, CLAMPS, ZEROES };

struct OnSurface {
    u8* at;        // null if there is nothing to read or write
    bool refused;  // the access ends the launch
};

// coordinate(n): the n-th coordinate; a layer comes first, then the byte in a row.
template <class Coordinate>
OnSurface place_on(const Texture& t, i64 size, i64 beyond, Coordinate coordinate) {
    const i64 row_bytes = i64(t.width) * t.channels * texel_bytes(t.format);
    const bool layered = t.kind == LAYERED_LINE || t.kind == LAYERED_PLANE;
    // A layer is unsigned: to a GPU, the layer before the first is far beyond the last.
    i64 x = coordinate(layered), y = 0, z = layered ? u32(coordinate(0)) : 0;
    if (t.kind == PLANE || t.kind == VOLUME) y = coordinate(1);
    if (t.kind == LAYERED_PLANE) y = coordinate(2);
    if (t.kind == VOLUME) z = coordinate(2);
    const bool inside = x >= 0 && x + size <= row_bytes && y >= 0 && y < t.height && z >= 0 &&
                        z < t.depth && x % size == 0;
    if (!inside) {
        if (beyond == ZEROES) return {nullptr, false};
        if (beyond == TRAPS || x % size || size > row_bytes) return {nullptr, true};
        x = std::clamp<i64>(x, 0, row_bytes - size);
        y = std::clamp<i64>(y, 0, t.height - 1), z = std::clamp<i64>(z, 0, t.depth - 1);
    }
    return {const_cast<u8*>(t.data) + (z * t.height + y) * row_bytes + x, false};
}

}  // namespace machine
