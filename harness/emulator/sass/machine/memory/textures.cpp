// Fetches from textures, and loads and stores of surfaces.
//
// A fetch has its coordinates in the registers of the first operand, with a layer before them, or
// after them if it has gradients. The registers of the second operand hold the rest: for a
// scattered fetch, the third and later coordinates, then the handle if no other operand has it, a
// level or gradients, and offsets in texels. There is only one level, so no level is selected.

#include "addresses.h"
#include "memory/sampling.h"

namespace sass {
namespace {

using machine::CHANNELS;
using machine::Texture;

enum : i32 { HAS_LEVEL = 1, LAYER_BEHIND = 2, IS_SCATTERED = 4, HANDLE_AMONG_OTHERS = 8, HAS_OFFSETS = 16, COUNTS_TEXELS = 32 };
constexpr int COORDINATES[] = {1, 2, 3, 2, 3, 3};  // by machine::TextureKind
constexpr int HANDLE = 2;                          // the source that holds it

// `handle` is the lower half of a handle. A line is fetched as the only row of a plane.
Texture texture_of(const Context& c, u32 handle, i32 kind, bool is_surface, int lane) {
    const u32 number = handle - static_cast<u32>(machine::FIRST_TEXTURE);
    if (number >= static_cast<u32>(c.launch->texture_count)) throw Fault{NO_TEXTURE, lane, handle};
    Texture found = static_cast<const Texture*>(c.launch->textures)[number];
    if (!is_surface && kind == machine::PLANE && found.kind == machine::LINE) found.kind = kind;
    if (found.kind != kind || found.is_surface != is_surface) throw Fault{NO_TEXTURE, lane, handle};
    return found;
}

inline u32 word(const Value& value, int n, int lane) { return value.row[value.step * n + lane]; }

// Offsets have four bits each and are signed.
inline u32 offset(u32 all, int n) { return static_cast<u32>(static_cast<i32>(all << (28 - 4 * n)) >> 28); }

template <class C> void sampled(const Context& c, const Instruction& n, int lane, u32 (&bits)[CHANNELS]) {
    const Value first = value_of(c, n, 0), others = value_of(c, n, 1);
    const bool layered = n.space == machine::LAYERED_LINE || n.space == machine::LAYERED_PLANE;
    const int count = COORDINATES[n.space];
    int taken = 0;
    u32 at[3];
    const int turned = layered && n.flags & LAYER_BEHIND ? count - 1 : 0;
    for (int k = 0; k < count; k++)
        at[k] = n.flags & IS_SCATTERED && k >= 2 ? word(others, taken++, lane)
                                                 : word(first, (k + turned) % count, lane);
    const u32 handle = n.flags & HANDLE_AMONG_OTHERS ? word(others, taken++, lane)
                                                     : c.source(n.source[HANDLE])[lane];
    taken += n.flags & HAS_LEVEL ? 1 : 0;
    if (n.flags & HAS_OFFSETS)
        for (int k = layered; k < count; k++) at[k] += offset(word(others, taken, lane), k - layered);
    const Texture texture = texture_of(c, handle, n.space, false, lane);
    machine::sample<C>(texture, [&](int k) { return at[k]; }, bits);
}

// Returns the channels that the immediate selects: two in the second result, then two in the first.
void fetch(Context& c, const Instruction& n) {
    u32 out[CHANNELS][LANES] = {};
    each_lane(c.on, [&](int lane) {
        u32 bits[CHANNELS];
        n.flags & COUNTS_TEXELS ? sampled<i32>(c, n, lane, bits) : sampled<f32>(c, n, lane, bits);
        for (int channel = 0, k = 0; channel < CHANNELS; channel++)
            if (n.immediate >> channel & 1) out[k++][lane] = bits[channel];
    });
    const int wanted = __builtin_popcountll(static_cast<u64>(n.immediate));
    for (int k = 0; k < wanted; k++)
        write(c, c.result(n, k < 2, k % 2), [&](int lane) { return out[k][lane]; });
}

// --- surfaces -----------------------------------------------------------------------------------

enum : i32 { KIND_BITS = 7, BEYOND_SHIFT = 4 };

// The location of a lane's bytes, or null. The coordinates are in consecutive registers, followed by a layer.
u8* place_of(const Context& c, const Instruction& n, int lane, u32 handle) {
    const i32 kind = n.flags & KIND_BITS;
    const bool layered = kind == machine::LAYERED_LINE || kind == machine::LAYERED_PLANE;
    const int count = COORDINATES[kind];
    const Value at = value_of(c, n, 0);
    const machine::OnSurface found = machine::place_on(
        texture_of(c, handle, kind, true, lane), n.width, n.flags >> BEYOND_SHIFT, [&](int k) -> i64 {
            return static_cast<i32>(word(at, layered ? (k + count - 1) % count : k, lane));
        });
    if (found.refused) throw Fault{OUTSIDE_SURFACE, lane, handle};
    return found.at;
}

void load_surface(Context& c, const Instruction& n) {
    const u32* handles = c.source(n.source[HANDLE]);
    u32 out[4][LANES] = {};
    each_lane(c.on, [&](int lane) {
        const u8* from = place_of(c, n, lane, handles[lane]);
        u32 words[4] = {};
        if (from) std::memcpy(words, from, n.width);
        for (int w = 0; w < 4; w++) out[w][lane] = words[w];
    });
    for (int w = 0; w < (n.width + 3) / 4; w++)
        write(c, c.result(n, 0, w), [&](int lane) { return out[w][lane]; });
}

void store_surface(Context& c, const Instruction& n) {
    const u32* handles = c.source(n.source[HANDLE]);
    const Value value = value_of(c, n, 3);
    each_lane(c.on, [&](int lane) {
        u8* to = place_of(c, n, lane, handles[lane]);
        u32 words[4];
        for (int w = 0; w < 4; w++) words[w] = word(value, w, lane);
        if (to) std::memcpy(to, words, n.width);
    });
}

}  // namespace

std::vector<Entry> texture_entries() {
    return {{"FETCH", fetch}, {"SULD", load_surface}, {"SUST", store_surface}};
}

}  // namespace sass
