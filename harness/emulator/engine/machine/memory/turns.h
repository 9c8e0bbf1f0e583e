// Accesses to local memory, and atomics; in both, the lanes take turns.

#pragma once

#include "stores.h"
#include "undo.h"

namespace machine {

// --- local memory: a row for each thread --------------------------------------------------------

inline u8* local_of(const Context& c, int lane) {
    return c.local + static_cast<i64>(c.thread(lane)) * c.launch->local_bytes;
}

inline u32* local_words(const Context& c, int lane, i64 address) {
    const i64 grain = c.launch->local_grain, row = (c.launch->local_bytes + grain - 1) / grain;
    return c.local_written + c.thread(lane) * row + address / grain;
}

inline void note_local(const Context& c, const Op& op, const Access& access, bool writes) {
    const i64 count = std::max(1, access.width / c.launch->local_grain);
    const u32 mark = static_cast<u32>(c.block + 1);
    each_lane(access.active, [&](int i) {
        u32* words = local_words(c, i, access.address[i]);
        for (i64 w = 0; w < count; w++) {
            if (writes)
                words[w] = mark;
            else if (words[w] != mark)
                throw Suspicion{UNWRITTEN, op.site, i};
        }
    });
}

// --- atomics ------------------------------------------------------------------------------------

// Lanes take turns in ascending order: `turn(lane, place, in_global)`. In global memory, other jobs' threads may access
// the same word at the same time.
template <int width, class F>
void in_turn(Context& c, const Op& op, F turn) {
    Access access = addressed(c, op, width);
    const i32 space = resolved(op, access);
    Buffer* buffer = nullptr;
    if (space == SHARED) {
        inside(op.site, access, c.launch->shared_bytes, width);
        const Collisions met = collisions(access);
        count_shared(c, op.site, shared_atomic_wavefronts(access, met, op.cost));
        count_collisions(c, op.site, access.active, met);
        if (c.checks) c.checks->noted.forget_all();
    } else if (space == LOCAL) {
        inside(op.site, access, c.launch->local_bytes, width);
        if (c.checks) note_local(c, op, access, false);
    } else {
        buffer = &buffer_of(c, op, access, width, UPDATE);
        count_global_atomic(c, op, *buffer, access);
        read_filled(c, op, *buffer, access, width);
        if (c.checks && buffer->watched) unfold_stamps(c, *buffer, access);
    }
    each_lane(access.active, [&](int i) {
        u8* place;
        if (buffer) {
            c.undo->keep(*buffer, access.address[i] - buffer->base);
            place = buffer->data - buffer->base + access.address[i];
            if (c.checks && buffer->watched)
                note_update(c, op, i, words_of(c, *buffer, access.address[i], width));
        } else if (space == SHARED) {
            place = c.shared + access.address[i];
            if (c.checks) note_update(c, op, i, words_of_shared(c, access.address[i], width));
        } else {
            place = local_of(c, i) + access.address[i];
        }
        turn(i, place, buffer != nullptr);
    });
    if (buffer) fill(c, *buffer, access);
}

}  // namespace machine
