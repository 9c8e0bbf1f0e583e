// Reports a thread that accesses memory that an asynchronous copy in flight writes, or writes
// memory that it reads.

#pragma once

#include "flights.h"
#include "stamps_of_words.h"

namespace machine {

// Checks the words that an access goes to, and clears the finished copies of words that it writes.
// `is_excused` applies to a read. `ordered(other, when, lane)` returns whether a lane now knows
// everything that another lane knew at that time.
template <class Ordered>
void look_at_flights(Flights& flights, const Request& request, Stamps& stamps,
                     const std::vector<i64>& cells, const Geometry& geometry, i64 now, u64 first_block,
                     bool is_excused, Ordered ordered) {
    const int words = std::max(1, request.width() / stamps.grain);
    u32 last = 0;  // the copy that was checked last; neighbouring words usually belong to it, too
    int last_lane = -1;
    const auto look = [&](u32 number, const Touch& touch, bool writes) {
        if (number == last && touch.lane == last_lane) return;
        last = number, last_lane = touch.lane;
        if (writes && request.kind == ATOMIC && flights[number].reduces) return;
        const auto known = [&](int other, i64 when) { return ordered(other, when, touch.lane); };
        if (flights.done_for(number, touch.lane, now, known)) return;
        const Flights::Flight& flight = flights[number];
        const bool in_phase = flight.word != Flights::NO_MBARRIER;
        throw Accusation{COPY_UNDER_WAY, request.site, touch.lane,
                         {request.verb, request.width(), touch.address, request.memory,
                          geometry.thread_of(flight.lane), flight.site, writes,
                          in_phase ? flight.address : -1, flight.lane == touch.lane},
                         static_cast<i64>(first_block)};
    };
    for (size_t n = 0; n < request.touches.size(); n++)
        for (i64 cell = cells[n]; cell < cells[n] + words; cell++) {
            u32 &written = stamps.being_written[cell], &read = stamps.being_read[cell];
            if (written && !is_excused) look(written, request.touches[n], true);
            if (request.verb == READ) continue;
            if (read) look(read, request.touches[n], false);
            written = read = 0;
        }
}

}  // namespace machine
