// Reports every word that an access covers to the checks.

#pragma once

#include <algorithm>

#include "access.h"
#include "checks.h"
#include "stamp_pages.h"

namespace machine {

constexpr int NOBODY = -1;

// The stamps of the words that one lane's access covers.
struct Words {
    u64 *written, *read;
    i64 first, count;
    bool own;        // private to the block: only the block itself can have written it
    bool one_width;  // all stores are equally wide; otherwise one that changes nothing may hide a wider one
};

inline Words words_of(const Context& c, const Buffer& buffer, i64 address, int width) {
    const int shift = __builtin_ctz(c.launch->global_granule);
    return {buffer.written, buffer.read, (address - buffer.base) >> shift,
            std::max(1, width >> shift), false, c.launch->global_one_width != 0};
}

inline Words words_of_shared(const Context& c, i64 address, int width) {
    const int shift = __builtin_ctz(c.launch->shared_granule);
    return {c.shared_written, c.shared_read, address >> shift,
            std::max(1, width >> shift), true, c.launch->shared_one_width != 0};
}

// Unfolds the pages of stamps that an access goes to, before words of a buffer are checked.
inline void unfold_stamps(const Context& c, const Buffer& buffer, const Access& access) {
    const int shift = __builtin_ctz(c.launch->global_granule) + StampPages::PAGE_SHIFT;
    const i64 first = (access.low - buffer.base) >> shift;
    if (first == (access.high - buffer.base) >> shift && buffer.unfolded[first]) return;
    c.stamp_pages->unfold(buffer, access, shift, c.checks->start());
}

// With several jobs, other blocks may stamp the same words at the same time. Each side then first writes its own stamp,
// by an exchange, and checks the other's afterwards, so that at least one of the two sees the other.
inline bool others_stamp(const Context& c, const Words& words) {
    return c.launch->jobs > 1 && !words.own;
}

// Whether a plain access to a word conflicts with nothing. In the block's own memory, an earlier block's accesses do
// not matter, but a word that only an earlier block has written may not be read.
inline bool may_be_read(const Moment& checks, const Words& words, i64 word, u64 mine) {
    return checks.clear(words.written[word], mine, checks.start(), !words.own);
}

inline bool passes(const Moment& checks, const Words& words, i64 word, u64 mine, Verb verb) {
    const u64 since = words.own ? 0 : checks.start();
    return (verb == READ ? may_be_read(checks, words, word, mine)
                         : checks.hides_nothing(words.written[word], words.own)) &
           checks.clear(words.read[word], mine, since, !words.own);
}

// --- one lane -----------------------------------------------------------------------------------

// `alone` is false for a lane that represents several at its address: a word that it wrote itself is then not ordered
// before the reads of all of them.
inline void note_read(const Context& c, const Op& op, int lane, bool alone, const Words& words) {
    Checks& checks = *c.checks;
    const u64 mine = alone ? checks.stamp(c.thread(lane), op.kind)
                           : checks.stamp(c.thread(0), op.kind, Stamp::ONE_WARP);
    const int thread = alone ? c.thread(lane) : NOBODY;
    const bool simple = op.kind == PLAIN && !others_stamp(c, words);
    for (i64 w = words.first; w < words.first + words.count; w++) {
        if (simple && passes(checks, words, w, mine, READ)) {
            words.read[w] = mine;
            continue;
        }
        u64 before = __atomic_load_n(&words.read[w], __ATOMIC_SEQ_CST);
        if (simple && checks.says_it_all(before, mine) && may_be_read(checks, words, w, mine))
            continue;
        if (words.own) {
            words.read[w] = checks.joined(checks.of_this_block(before) ? before : 0, mine);
        } else if (others_stamp(c, words)) {
            while (!__atomic_compare_exchange_n(&words.read[w], &before,
                                                checks.joined(before, mine), false,
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            }
        } else {
            words.read[w] = checks.joined(before, mine);
        }
        const u64 written = __atomic_load_n(&words.written[w], __ATOMIC_SEQ_CST);
        if (words.own && !checks.of_this_block(written)) throw Suspicion{UNWRITTEN, op.site, lane};
        if (!checks.harmless(written, *c.warp, thread, op.kind, Moment::ONE_ATOMIC))
            throw Suspicion{RACE, op.site, lane};
    }
}

// `unchanged()` says whether the lane writes the value that is already there.
template <class Unchanged>
void note_write(const Context& c, i32 site, i32 kind, int lane, const Words& words,
                Unchanged unchanged) {
    Checks& checks = *c.checks;
    const int thread = c.thread(lane);
    const u64 mine = checks.stamp(thread, kind);
    const bool simple = kind == PLAIN && !others_stamp(c, words);
    for (i64 w = words.first; w < words.first + words.count; w++) {
        if (simple && passes(checks, words, w, mine, WRITE)) {
            words.written[w] = mine;
            continue;
        }
        const bool is_shared = others_stamp(c, words);
        const u64 written = is_shared ? __atomic_exchange_n(&words.written[w], mine, __ATOMIC_SEQ_CST)
                                      : words.written[w];
        const bool changes = !unchanged();
        const u64 over = checks.over(written, mine, changes, words.own);
        if (!is_shared) {
            words.written[w] = over;
        } else if (over != mine) {  // a stamp that another block has written since is kept
            u64 left = mine;
            __atomic_compare_exchange_n(&words.written[w], &left, over, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST);
        }
        const bool stale = words.own && !checks.of_this_block(written);
        const bool excused = words.one_width && !changes && !(written & Stamp::CHANGED_AGAIN);
        if (!stale && !checks.harmless(written, *c.warp, thread, kind, Moment::BOTH_ATOMIC) && !excused)
            throw Suspicion{RACE, site, lane};
        const u64 read = __atomic_load_n(&words.read[w], __ATOMIC_SEQ_CST);
        if (words.own && !checks.of_this_block(read)) continue;
        if (!checks.harmless(read, *c.warp, thread, kind, Moment::ONE_ATOMIC))
            throw Suspicion{RACE, site, lane};
    }
}

inline void note_update(const Context& c, const Op& op, int lane, const Words& words) {
    u64& written = words.written[words.first];
    if (words.own && words.count == 1 && c.checks->only_updated(written, words.read[words.first])) {
        written = c.checks->stamp(c.thread(lane), ATOMIC) | Stamp::CHANGED_AGAIN |
                  (written & Stamp::WEAKER_BEFORE);
        return;
    }
    if (words.own)
        for (i64 w = words.first; w < words.first + words.count; w++)
            if (!c.checks->of_this_block(words.written[w]))
                throw Suspicion{UNWRITTEN, op.site, lane};
    note_write(c, op.site, ATOMIC, lane, words, [] { return false; });
}

// --- buffers that held nothing before the launch ------------------------------------------------

// Words that are written in part are left to the judge, which follows their values.
inline void read_filled(const Context& c, const Op& op, const Buffer& buffer, const Access& access,
                        int unit) {
    if (!c.checks || !buffer.filled) return;
    each_lane(access.active, [&](int i) {
        const u8* at = buffer.filled + (access.address[i] - buffer.base);
        for (int word = 0; word < access.width; word += unit, at += unit)
            if (std::any_of(at, at + unit, [](u8 byte) { return byte == 0; }))
                throw Suspicion{UNWRITTEN, op.site, i};
    });
}

inline void fill(const Context& c, const Buffer& buffer, const Access& access) {
    if (!c.checks || !buffer.filled) return;
    each_lane(access.active, [&](int i) {
        u8* at = buffer.filled + (access.address[i] - buffer.base);
        for (int n = 0; n < access.width; n++) mark(at[n]);
    });
}

// --- a warp -------------------------------------------------------------------------------------

// Whether all lanes' words are consecutive and none of them conflicts, which is the usual case. The words are then
// stamped all at once.
inline bool passes_in_a_row(const Context& c, const Access& access, const Words& words, i32 kind,
                            Verb verb) {
    if (!access.in_a_row || kind != PLAIN || others_stamp(c, words)) return false;
    Checks& checks = *c.checks;
    const u64 first = checks.stamp(c.thread(0), PLAIN);
    const int count = static_cast<int>(words.count) * LANES;
    const int shift = __builtin_ctz(static_cast<unsigned>(words.count));
    bool clear = true;
    for (int n = 0; n < count; n++)
        clear &= passes(checks, words, words.first + n, first + (n >> shift), verb);
    if (!clear) return false;
    u64* stamped = (verb == READ ? words.read : words.written) + words.first;
    for (int n = 0; n < count; n++) stamped[n] = first + (n >> shift);
    return true;
}

// Finds the lanes that are the first at their address. A read is noted once for all lanes at an address.
inline const Pattern& with_leaders(const Context& c, const Op& op, const Access& access) {
    Pattern& pattern = pattern_of(c, op);
    if (pattern.leader_count) return pattern;
    Seen seen;
    pattern.alone = access.active;
    each_lane(access.active, [&](int i) {
        const int first = seen.number(access.address[i], i);
        if (first != i) {
            pattern.alone &= ~(1u << first | 1u << i);
            return;
        }
        pattern.leader[pattern.leader_count++] = static_cast<u8>(i);
    });
    return pattern;
}

// Notes a plain read of every leader's words, unless one of them may conflict with a write.
// words: those of the lowest address.
inline bool passes_at_once(const Context& c, const Pattern& pattern, const Words& words, int shift) {
    const Moment now = *c.checks;  // a copy, so that the compiler knows that it does not change
    const u64 alone = c.checks->stamp(c.thread(0), PLAIN);
    const u64 together = c.checks->stamp(c.thread(0), PLAIN, Stamp::ONE_WARP);
    const u64 since = words.own ? 0 : now.start();
    bool is_noted = words.own;
    for (int n = 0; n < pattern.leader_count; n++) {
        const int i = pattern.leader[n];
        const i64 first = words.first + ((pattern.relative[i] - pattern.low) >> shift);
        const u64 mine = pattern.alone >> i & 1 ? alone + i : together;
        for (i64 w = first; w < first + words.count; w++) {
            const bool is_ordered = now.ordered(words.written[w], now.start());
            if (!is_ordered && !may_be_read(now, words, w, mine)) return false;
            u64& read = words.read[w];
            if (now.read_by_block(read)) {
                is_noted &= is_ordered;
                continue;
            }
            is_noted = false;
            if (now.ordered(read, since) || now.clear(read, mine, since, !words.own))
                read = mine;
            else if (!now.says_it_all(read, mine))
                read = now.joined(words.own && !now.of_this_block(read) ? 0 : read, mine);
        }
    }
    if (is_noted) c.checks->noted.add(pattern, words.first);
    return true;
}

// Whether a word's stamps already cover a read by the warp, and nothing conflicts with it.
inline bool is_noted(const Context& c, const Words& words) {
    const Checks& checks = *c.checks;
    return checks.ordered(words.written[words.first], checks.start()) &
           checks.says_it_all(words.read[words.first], static_cast<u64>(c.thread(0)));
}

// words_at: the words of an access at an address.
template <class WordsAt>
void note_reads(const Context& c, const Op& op, const Access& access, int granule, WordsAt words_at) {
    const Words words = words_at(access.low);
    const bool is_simple = op.kind == PLAIN && !others_stamp(c, words);
    if (is_simple && access.low == access.high && words.count == 1 && is_noted(c, words)) return;
    if (is_simple && words.own && c.checks->noted.has(pattern_of(c, op), words.first)) return;
    if (passes_in_a_row(c, access, words, op.kind, READ)) return;
    const Pattern& pattern = with_leaders(c, op, access);
    if (is_simple && passes_at_once(c, pattern, words, __builtin_ctz(granule))) return;
    for (int n = 0; n < pattern.leader_count; n++) {
        const int i = pattern.leader[n];
        note_read(c, op, i, pattern.alone >> i & 1, words_at(access.address[i]));
    }
}

inline void note_global_reads(const Context& c, const Op& op, const Buffer& buffer,
                              const Access& access) {
    if (!c.checks || !buffer.watched) return;
    unfold_stamps(c, buffer, access);
    note_reads(c, op, access, c.launch->global_granule,
               [&](i64 address) { return words_of(c, buffer, address, access.width); });
}

// Not inlined, because few launches have copies that signal mbarriers.
[[gnu::noinline]] inline void settle(const Context& c, const Access& access) {
    each_lane(access.active, [&](int i) {
        const Words words = words_of_shared(c, access.address[i], access.width);
        for (i64 w = words.first; w < words.first + words.count; w++) c.checks->settle(words.written[w]);
    });
}

inline void note_shared_reads(const Context& c, const Op& op, const Access& access) {
    if (!c.checks) return;
    if (c.checks->has_flights) settle(c, access);
    note_reads(c, op, access, c.launch->shared_granule,
               [&](i64 address) { return words_of_shared(c, address, access.width); });
}

}  // namespace machine
