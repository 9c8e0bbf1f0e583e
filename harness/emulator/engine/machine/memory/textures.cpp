// Fetches from textures, and loads and stores of surfaces, lane by lane.

#include "sampling.h"

#include "rows.h"

namespace machine {
namespace {

const Texture& texture_of(const Context& c, const Op& op, int lane) {
    const i64 number = c.row<i64>(op.source[0])[lane] - FIRST_TEXTURE;
    if (number < 0 || number >= c.launch->texture_count) throw Suspicion{NO_TEXTURE, op.site, lane};
    const Texture& texture = c.launch->textures[number];
    if (texture.kind != op.space || texture.is_surface != op.kind)
        throw Suspicion{NO_TEXTURE, op.site, lane};
    return texture;
}

template <class C>
void fetch(Context& c, const Op& op) {
    each_lane(c.active, [&](int i) {
        u32 bits[CHANNELS];
        sample<C>(texture_of(c, op, i), [&](int n) { return c.row<u32>(op.source[n + 1])[i]; }, bits);
        for (int n = 0; n < CHANNELS; n++)
            if (op.result[n] >= 0) c.row<u32>(op.result[n])[i] = bits[n];
    });
}

u8* place_of(const Context& c, const Op& op, int lane) {
    const OnSurface found =
        place_on(texture_of(c, op, lane), i64(op.width) * op.count, op.immediate,
                 [&](int n) -> i64 { return c.row<i32>(op.source[n + 1])[lane]; });
    if (found.refused) throw Suspicion{OUTSIDE_SURFACE, op.site, lane};
    return found.at;
}

template <class T>
void load_surface(Context& c, const Op& op) {
    each_lane(c.active, [&](int i) {
        const u8* place = place_of(c, op, i);
        for (int n = 0; n < op.count; n++)
            if (op.result[n] >= 0)
                c.row<Cell<T>>(op.result[n])[i] = Stored<T>::put(place ? channel<T>(place, n) : 0);
    });
}

// The values to be stored are the last operands.
template <class T>
void store_surface(Context& c, const Op& op) {
    each_lane(c.active, [&](int i) {
        u8* place = place_of(c, op, i);
        for (int n = 0; place && n < op.count; n++) {
            const T value = Stored<T>::get(c.row<Cell<T>>(op.source[op.cost + n])[i]);
            std::memcpy(place + n * sizeof(T), &value, sizeof(T));
        }
    });
}

}  // namespace

std::vector<Entry> texture_entries() {
    return {
        {"tex/f32", fetch<float>}, {"tex/s32", fetch<i32>},
        {"suld/1", load_surface<u8>}, {"suld/2", load_surface<u16>},
        {"suld/4", load_surface<u32>}, {"suld/8", load_surface<u64>},
        {"sust/1", store_surface<u8>}, {"sust/2", store_surface<u16>},
        {"sust/4", store_surface<u32>}, {"sust/8", store_surface<u64>},
    };
}

}  // namespace machine
