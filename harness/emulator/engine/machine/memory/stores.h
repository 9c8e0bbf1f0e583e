// Stores of a warp, checked and undone if need be. Of lanes at one address the last one stays.
//
// `bytes(i)` gives the address of what lane i stores.

#pragma once

#include "undo.h"
#include "watch.h"

namespace machine {

template <class Bytes>
void put_shared(Context& c, i32 site, i32 kind, const Access& access, Bytes bytes) {
    if (c.checks) c.checks->noted.forget_all();
    const bool checked =
        c.checks &&
        !passes_in_a_row(c, access, words_of_shared(c, access.low, access.width), kind, WRITE);
    each_lane(access.active, [&](int i) {
        const u8* value = bytes(i);
        u8* place = c.shared + access.address[i];
        if (checked)
            note_write(c, site, kind, i, words_of_shared(c, access.address[i], access.width),
                       [&] { return std::memcmp(place, value, access.width) == 0; });
        std::memcpy(place, value, access.width);
    });
}

template <class Bytes>
void put_global(Context& c, const Op& op, Buffer& buffer, const Access& access, Bytes bytes) {
    const bool watched = c.checks && buffer.watched;
    if (watched) unfold_stamps(c, buffer, access);
    const bool checked =
        watched &&
        !passes_in_a_row(c, access, words_of(c, buffer, access.low, access.width), op.kind, WRITE);
    each_lane(access.active, [&](int i) {
        c.undo->keep(buffer, access.address[i] - buffer.base);
        const u8* value = bytes(i);
        u8* place = buffer.data - buffer.base + access.address[i];
        if (checked)
            note_write(c, op.site, op.kind, i, words_of(c, buffer, access.address[i], access.width),
                       [&] { return std::memcmp(place, value, access.width) == 0; });
        std::memcpy(place, value, access.width);
    });
}

}  // namespace machine
