// Races in shared and in global memory: between the threads of a block, and between blocks.
//
// Every word has the stamps of its last write and of two reads: the latest one, and one by the most distant
// thread: if possible in another block, else in another warp, else in another lane. An access races with
// another thread's stamped access if nothing orders that one before it (`ordering.h`) and at least one of the
// two writes. Two reads are enough: of two warps that have read a word, one is not the writer's. What a thread
// knows of others through barriers, flags and locks is kept in `handovers.h`.
//
// All lanes of a chunk execute an instruction together, so races do not show in the results; the stamps do not
// depend on that.

#pragma once

#include <map>

#include "handovers.h"
#include "judge/asynchronous/swizzles.h"
#include "proxies.h"
#include "under_way.h"
#include "volatile_words.h"

namespace machine {

class Races : public Handovers {
   public:
    using Handovers::Handovers;

    Proxies proxies;
    Swizzles swizzles;
    // By sites: how often a write that changes nothing met an unordered read, and how often volatile accesses
    // to a flag met.
    std::map<VolatileWords::Sites, i64> let_pass, volatile_flags;

    void start(u64 first_block) {
        Handovers::start(first_block);
        known_.assign(geometry_.all_lanes(), {});
        proxies.start();
        swizzles.start();
    }

    // The launch is over.
    void end() {
        if (const auto found = volatile_.judged(volatile_flags)) throw *found;
    }

    // A thread has waited for a copy, which then counts as if the thread had made it at this
    // moment.
    void land(i32 site, int lane, u32 number, const Ranges& written, Stamps* to, const Ranges& read,
              Stamps* from) {
        const u64 stamp = static_cast<u64>(log.add(site)) << EVENT_SHIFT | static_cast<u64>(lane);
        const auto each = [&](const Ranges& ranges, auto function) {
            for (const Range& range : ranges)
                for (i64 cell = range.first; cell < range.first + range.count; cell++)
                    if (range.flights[cell] == number) range.flights[cell] = 0, function(cell);
        };
        each(written, [&](i64 cell) { to->written[cell] = stamp; });
        stamps_ = from;
        each(read, [&](i64 cell) { note_read(cell, stamp); });
        flights.end(number);
    }

    // `cells` are the first words of the accesses. For a store, `values` are the bytes written, and
    // `unchanged` says for each access whether memory already holds them.
    void access(const Request& request, Stamps& stamps, const std::vector<i64>& cells,
                const u8* values, const std::vector<u8>& unchanged) {
        request_ = &request, stamps_ = &stamps;
        begin();
        if (flights.any()) look_out(cells);
        const int words = std::max(1, request.width() / stamps.grain);
        const size_t touches = request.touches.size();
        if (request.verb == WRITE && stamps.own) at_once(cells, values);
        for (int word = 0; word < words; word++) {
            const auto each = [&](auto function) {
                for (size_t n = 0; n < touches; n++) function(n, cells[n] + word);
            };
            const Hazard hazard = request.verb == READ    ? READ_AFTER_WRITE
                                  : request.verb == WRITE ? WRITE_AFTER_WRITE
                                                          : ATOMIC_AFTER_WRITE;
            each([&](size_t n, i64 cell) {
                if (request.verb == READ && flights.any() &&
                    is_of_copy(stamps.written[cell], stamps.being_written[cell]))
                    return;
                if (request.verb == READ && !stamps.writers.empty() && wrote_it_too(cell, n)) return;
                check(hazard, n, word, stamps.written[cell], same(unchanged, n));
            });
            if (!stamps.below_atomics.empty())
                each([&](size_t n, i64 cell) {
                    const auto found = stamps.below_atomics.find(cell);
                    if (found != stamps.below_atomics.end())
                        check(hazard, n, word, found->second, same(unchanged, n));
                });
            if (request.verb == READ) {
                each([&](size_t n, i64 cell) { note_read(cell, stamp(n)); });
                continue;
            }
            for (const auto& reads : {stamps.read.get(), stamps.read_too.get()})
                each([&](size_t n, i64 cell) {
                    check(WRITE_AFTER_READ, n, word, reads[cell], same(unchanged, n));
                });
            if (request.verb == WRITE && !stamps.own && word == 0) at_once(cells, values);
            each([&](size_t n, i64 cell) {
                const u64 before = stamps.written[cell];
                const bool silent =
                    same(unchanged, n) &&
                    (stamps.own ? before && (before & SILENT || ordered_by_block(before, n))
                                : !before || before & SILENT);
                made_[n] = stamp(n) | (silent ? SILENT : 0);
            });
            each([&](size_t n, i64 cell) { keep_below(cell, n); });
            each([&](size_t n, i64 cell) {
                note_writer(cell, n, same(unchanged, n));
                stamps.written[cell] = made_[n];
            });
            if (request.kind == BLOCK_ATOMIC && !stamps.own)
                each([&](size_t n, i64 cell) {
                    const u64 winner = stamps.written[cell];
                    if (block(winner) != block(stamp(n))) check(ATOMIC_AFTER_ATOMIC, n, word, winner, 0);
                });
        }
    }

   private:
    static constexpr int KNOWN = 4, DISTANCES = 8;
    static constexpr size_t MOST_EXTENT = 64;  // words for each touch

    struct Distance {
        u64 before, mine;
        int distance;
    };
    struct Ends {  // the first and the last touch at a word
        size_t first, last;
    };

    static bool same(const std::vector<u8>& unchanged, size_t n) {
        return !unchanged.empty() && unchanged[n];
    }

    u64 stamp(size_t n) const { return head_ | static_cast<u64>(request_->touches[n].lane); }
    bool of_this_chunk(u64 stamp) const { return event_of(stamp) >= log.chunk_began(); }
    bool ordered_by_block(u64 before, size_t n) const {
        return near_by(lane_of(before), request_->touches[n].lane) &&
               ordering.ordered(lane_of(before), event_of(before), request_->touches[n].lane);
    }

    // Whether the last write of a word was that of a copy that `look_out` has found to be done for
    // the reader: through the mbarrier itself, or through a thread that has tested it.
    bool is_of_copy(u64 written, u32 copy) const {
        if (!copy || !of_this_chunk(written)) return false;
        const Flights::Flight& flight = flights[copy];
        return flight.word != Flights::NO_MBARRIER && flight.lane == lane_of(written) &&
               flight.site == log.site(event_of(written));
    }

    // Whether only the block's own threads can reach the memory.
    bool of_one_block() const { return stamps_->own && geometry_.cluster == 1; }

    void begin() {
        const i32 kind =
            of_one_block() && request_->kind == BLOCK_ATOMIC ? i32(ATOMIC) : request_->kind;
        const i64 event = log.add(request_->site);
        head_ = static_cast<u64>(event) << EVENT_SHIFT | static_cast<u64>(kind) << MARK_KIND_SHIFT;
        made_.resize(request_->touches.size());
        if (kind == PLAIN) return;
        meet(*request_, event);
        if (judged_.traits[request_->site] & STEERS) steer();
    }

    // Reports an access that conflicts with a copy in flight.
    void look_out(const std::vector<i64>& cells) {
        const bool excused = request_->verb == READ && stamps_->own &&
                             judged_.traits[request_->site] & SPECULATIVE;
        const u64 first_block = log.first_block();
        look_at_flights(flights, *request_, *stamps_, cells, geometry_, log.now() - 1, first_block,
                        excused, [&](int other, i64 when, int lane) { return knows(lane, other, when); });
    }

    // How far apart two accesses are: by one thread, in one warp, in one block or in different blocks. An access
    // that the block has ordered since counts as none. The result is cached, because an access asks about the
    // same two accesses again and again.
    int distance(u64 before, u64 mine) {
        if (!before) return 0;
        Distance& last = distances_[event_of(before) % DISTANCES];
        if (last.before != before || last.mine != mine) last = {before, mine, measured(before, mine)};
        return last.distance;
    }
    int measured(u64 before, u64 mine) const {
        if (!of_this_chunk(before)) return 3;
        const int old_lane = lane_of(before), new_lane = lane_of(mine);
        if (old_lane == new_lane) return 0;
        if (geometry_.block_of(old_lane) != geometry_.block_of(new_lane)) return 3;
        if (stamps_->own && ordering.ordered(old_lane, event_of(before), new_lane)) return 0;
        return geometry_.warp_of(old_lane) == geometry_.warp_of(new_lane) ? 1 : 2;
    }

    void note_read(i64 cell, u64 mine) {
        u64 &latest = stamps_->read[cell], &too = stamps_->read_too[cell];
        const int of_latest = distance(latest, mine);
        if (of_latest > 0) {
            const int of_too = distance(too, mine);
            const bool as_old = event_of(latest) == event_of(mine) && event_of(too) == event_of(mine);
            if (of_too < of_latest || (of_too == of_latest && !as_old)) too = latest;
        }
        latest = mine;
    }

    // Called before a write replaces the stamp of the last one, which may have to be kept.
    void keep_below(i64 cell, size_t n) {
        auto& below = stamps_->below_atomics;
        const u64 before = stamps_->written[cell];
        if (kind_of(made_[n]) == PLAIN) {
            if (!below.empty()) below.erase(cell);
        } else if (before && kind_of(before) == PLAIN) {
            const bool over = stamps_->own && ordering.by_barrier(lane_of(before), event_of(before));
            if (!over) below[cell] = before;
        }
    }

    // Called before a write's stamp replaces the last one: notes who has written the value that the word then has,
    // unless it is equal only by luck.
    void note_writer(i64 cell, size_t n, bool unchanged) {
        const u64 before = stamps_->written[cell], mine = made_[n];
        const bool plain = kind_of(before) == PLAIN && kind_of(mine) == PLAIN;
        const bool equal = before && plain && of_this_chunk(before) &&
                           (unchanged || event_of(before) == event_of(mine)) && !(judged_.traits[request_->site] & VARIES);
        if (!equal) {
            if (!stamps_->writers.empty()) stamps_->writers.erase(cell);
        } else if (lane_of(before) != lane_of(mine) && !ordered_by_block(before, n)) {
            stamps_->writers[cell].insert({lane_of(before), lane_of(mine)});
        }
    }

    // Whether the reading lane has written the value itself that others have written as well: it reads that value in
    // any order.
    bool wrote_it_too(i64 cell, size_t n) const {
        const auto found = stamps_->writers.find(cell);
        return found != stamps_->writers.end() && found->second.count(request_->touches[n].lane) &&
               of_this_chunk(stamps_->written[cell]);
    }

    // Marks the words as flags: the value that a thread reads there affects what a thread does
    // next.
    void steer() {
        for (const Touch& touch : request_->touches)
            for (i64 at = 0; at < request_->width(); at += stamps_->grain)
                volatile_.steers(word_of(*request_, touch, at));
    }

    // Reports a race by a lane if another thread's access is not ordered before its own, unless an
    // exception applies.
    void check(Hazard hazard, size_t n, int word, u64 before, bool unchanged) {
        const Touch& touch = request_->touches[n];
        const int later = touch.lane;
        if (!before) return;
        u64& known = known_[later][event_of(before) % KNOWN];
        if (known == before) return;
        const int earlier = lane_of(before);
        const i64 when = event_of(before);
        const bool near = of_this_chunk(before);
        if (near && earlier == later) return;
        const bool inside = near && geometry_.block_of(earlier) == geometry_.block_of(later);
        if (near && near_by(earlier, later) && ordering.ordered(earlier, when, later)) {
            known = before;
            return;
        }
        const bool same_warp = inside && geometry_.warp_of(earlier) == geometry_.warp_of(later);
        const bool both_write = request_->verb != READ && hazard != WRITE_AFTER_READ;
        const Meets meets = may_meet(kind_of(before), request_->kind, same_warp,
                                     inside || of_one_block(), both_write);
        if (meets == MAY_MEET) return;
        const i32 site = log.site(when);
        if (stamps_->own) {
            const bool reads_late = hazard == READ_AFTER_WRITE;
            if ((reads_late || hazard == WRITE_AFTER_READ) &&
                judged_.traits[reads_late ? request_->site : site] & SPECULATIVE)
                return;
        }
        const int thread = geometry_.thread_of(earlier);
        i32 bare = -1;
        if (handed_over(inside, earlier, block(before), when, later, &bare)) {
            known = before;
            return;
        }
        const bool is_read = hazard == READ_AFTER_WRITE || hazard == WRITE_AFTER_READ;
        const VolatileWords::Sites sites = hazard == READ_AFTER_WRITE
                                               ? VolatileWords::Sites{site, request_->site}
                                               : VolatileWords::Sites{request_->site, site};
        const bool changes_nothing = unchanged || (hazard == READ_AFTER_WRITE && before & SILENT);
        // If a value that varies between threads equals the value already there, this is a
        // coincidence.
        const bool by_luck = is_read && stamps_->own && judged_.traits[sites.first] & VARIES;
        if (changes_nothing && !by_luck) {
            if (is_read) let_pass[sites]++;
            return;
        }
        const bool of_a_block = kind_of(before) == BLOCK_ATOMIC || request_->kind == BLOCK_ATOMIC;
        const bool is_volatile = kind_of(before) == VOLATILE || request_->kind == VOLATILE;
        const Accusation accusation{
            RACE_BETWEEN, request_->site, later,
            {hazard, request_->width(), touch.address, request_->memory,
             inside ? -1 : geometry_.in_grid(block(before)), thread, site, same_warp,
             !inside && of_a_block, is_volatile, bare, changes_nothing},
            static_cast<i64>(log.first_block())};
        if (meets == RACES) throw accusation;
        const i64 at = word_of(*request_, touch, i64(word) * stamps_->grain);
        volatile_.meet(at, {request_->site, site}, accusation);
    }

    // Reports lanes that write different values to one word in one instruction without permission.
    // If any two values differ, one of them differs from the first or from the last.
    void at_once(const std::vector<i64>& cells, const u8* values) {
        const i32 kind = request_->kind;
        if (kind == ATOMIC) return;
        const size_t touches = cells.size();
        bool ascending = true;  // as in most accesses, and then no two are at one word
        for (size_t n = 1; n < touches; n++) ascending &= cells[n - 1] < cells[n];
        if (ascending || all_differ(cells)) return;
        if (kind == VOLATILE)  // within a warp they are a race at any word
            compare(cells, values, [&](size_t n) {
                return cells[n] * geometry_.all_warps() + request_->touches[n].warp;
            });
        compare(cells, values, [&](size_t n) { return cells[n]; });
    }

    // Whether all words are different. Returns false without checking for a few words spread over a
    // large range.
    bool all_differ(const std::vector<i64>& cells) {
        const auto [least, most] = std::minmax_element(cells.begin(), cells.end());
        const size_t extent = static_cast<size_t>(*most - *least) + 1;
        if (extent > MOST_EXTENT * cells.size()) return false;
        seen_.assign(extent, 0);
        for (const i64 cell : cells)
            if (seen_[cell - *least]++) return false;
        return true;
    }

    // Compares the accesses that have the same `place`.
    template <class Place>
    void compare(const std::vector<i64>& cells, const u8* values, Place place) {
        ends_.clear();
        bool twice = false;
        for (size_t n = 0; n < cells.size(); n++) {
            const auto [known, is_new] = ends_.try_emplace(place(n), Ends{n, n});
            known->second.last = n;
            twice |= !is_new;
        }
        if (!twice) return;
        for (size_t n = 0; n < cells.size(); n++) {
            const Ends& ends = ends_[place(n)];
            disagree(n, ends.last, values);
            disagree(n, ends.first, values);
        }
    }

    void disagree(size_t n, size_t with, const u8* values) {
        const size_t width = request_->width();
        if (!std::memcmp(values + n * width, values + with * width, width)) return;
        const Touch& touch = request_->touches[n];
        const int other = request_->touches[with].lane, mine = touch.lane;
        const bool inside = geometry_.block_of(other) == geometry_.block_of(mine);
        const bool same_warp = inside && geometry_.warp_of(other) == geometry_.warp_of(mine);
        const i32 kind = request_->kind;
        const Meets meets = may_meet(kind, kind, same_warp, inside || of_one_block(), true);
        if (meets == MAY_MEET) return;
        const i64 number = geometry_.in_grid(block_number(other));
        const Accusation accusation{
            RACE_AT_ONCE, request_->site, mine,
            {static_cast<i64>(width), touch.address, request_->memory, inside ? -1 : number,
             geometry_.thread_of(other)},
            static_cast<i64>(log.first_block())};
        if (meets == RACES) throw accusation;
        volatile_.meet(word_of(*request_, touch), {request_->site, request_->site}, accusation);
    }

    VolatileWords volatile_;
    const Request* request_ = nullptr;
    Stamps* stamps_ = nullptr;
    u64 head_ = 0;
    // By lane: the last stamps that the lane was found to know. Neighbouring words usually have the
    // same stamps, and a lane never forgets what it knows.
    std::vector<std::array<u64, KNOWN>> known_;
    std::array<Distance, DISTANCES> distances_{};
    std::vector<u64> made_;
    std::unordered_map<i64, Ends> ends_;
    std::vector<u8> seen_;
};

}  // namespace machine
