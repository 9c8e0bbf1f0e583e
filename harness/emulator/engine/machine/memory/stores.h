// Stores of a warp, with checks and the data to undo them. If lanes store to one address, the last one wins.
//
// `bytes(i)` returns the address of the value that lane i stores.

#pragma once

#include "undo.h"
#include "watch.h"

namespace machine {

// Word by word, because other workers may store to a word of global memory at the same time (usually the same value).
// `move(word, n)` is called for each word of a value, with the byte at which it begins.
template <class Move>
void each_word(const u8* value, int width, Move move) {
    const auto given = [&](auto word, int n) {
        std::memcpy(&word, value + n, sizeof word);
        move(word, n);
    };
    if (width == 4) return given(u32(), 0);
    if (width == 2) return given(u16(), 0);
    if (width == 1) return given(u8(), 0);
    for (int n = 0; n < width; n += 8) given(u64(), n);
}

inline void store_words(u8* place, const u8* value, int width) {
    each_word(value, width, [&](auto word, int n) {
        __atomic_store_n(reinterpret_cast<decltype(word)*>(place + n), word, __ATOMIC_RELAXED);
    });
}

inline bool are_words(const u8* place, const u8* value, int width) {
    bool equal = true;
    each_word(value, width, [&](auto word, int n) {
        equal &= __atomic_load_n(reinterpret_cast<const decltype(word)*>(place + n), __ATOMIC_RELAXED) == word;
    });
    return equal;
}

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
                       [&] { return are_words(place, value, access.width); });
        store_words(place, value, access.width);
    });
}

}  // namespace machine
