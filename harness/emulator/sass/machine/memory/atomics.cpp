// Atomics: how they change a word, lane by lane, and their cost.

#include <algorithm>

#include "addresses.h"
#include "races/judge.h"

namespace sass {
namespace {

enum Operation : i32 { ADD, MIN, MAX, INC, DEC, AND, OR, XOR, EXCHANGE, CAS, COUNT_UP, CAST };
enum Type : i32 {
    U32, S32, U64, S64, F32, F64, F16X2, BF16X2, F16, BF16, F32X2, F32X4, F16X4, F16X8, BF16X4, BF16X8
};

inline i32 operation_of(const Instruction& n) { return n.flags & 15; }
inline i32 type_of(const Instruction& n) { return n.flags >> 4 & 15; }

// The type of each word of a vector; other types are their own.
inline i32 word_of(i32 type) {
    switch (type) {
        case F32X2: case F32X4: return F32;
        case F16X4: case F16X8: return F16X2;
        case BF16X4: case BF16X8: return BF16X2;
        default: return type;
    }
}

template <class T> T updated(i32 operation, T old, T value, T other) {
    switch (operation) {
        case ADD: return old + value;
        case COUNT_UP: return old + 1;
        case MIN: return std::min(old, value);
        case MAX: return std::max(old, value);
        case INC: return old >= value ? 0 : old + 1;
        case DEC: return old == 0 || old > value ? value : old - 1;
        case AND: return old & value;
        case OR: return old | value;
        case XOR: return old ^ value;
        case CAS:
        case CAST: return old == value ? other : old;
        default: return value;
    }
}

template <class T> u64 whole_number(i32 operation, u8* at, u64 value, u64 other) {
    T old;
    std::memcpy(&old, at, sizeof old);
    const T now = updated<T>(operation, old, static_cast<T>(value), static_cast<T>(other));
    std::memcpy(at, &now, sizeof now);
    return static_cast<std::make_unsigned_t<T>>(old);
}

template <class H> u32 updated_pair(i32 operation, u32 old, u32 value) {
    const auto half = operation == MIN   ? machine::least_half<H>
                      : operation == MAX ? machine::greatest_half<H>
                                         : machine::sum<H>;
    return machine::pair(half(machine::low(old), machine::low(value)), half(machine::high(old), machine::high(value)));
}

template <class U, class F> u64 replaced(u8* at, F f) {
    U old;
    std::memcpy(&old, at, sizeof old);
    const U now = f(old);
    std::memcpy(at, &now, sizeof now);
    return old;
}

inline f32 plus(f32 a, f32 b) {
    return canonical(machine::flush(machine::flush(a) + machine::flush(b)));
}

// A float, or a pair of halves.
[[gnu::noinline]] u32 updated_word(i32 type, i32 operation, u32 old, u32 value) {
    if (type == F16X2) return updated_pair<machine::F16>(operation, old, value);
    if (type == BF16X2) return updated_pair<machine::BF16>(operation, old, value);
    return bits_of<u32>(plus(bits_of<f32>(old), bits_of<f32>(value)));
}

[[gnu::noinline]] u64 applied(i32 type, i32 operation, u8* at, u64 value, u64 other) {
    switch (type) {
        case U32: return whole_number<u32>(operation, at, value, other);
        case S32: return whole_number<i32>(operation, at, value, other);
        case U64: return whole_number<u64>(operation, at, value, other);
        case S64: return whole_number<i64>(operation, at, value, other);
        case F64:
            return replaced<u64>(at, [&](u64 old) {
                const f64 a = bits_of<f64>(old), b = bits_of<f64>(value);
                return bits_of<u64>(canonical(a + b, a, b));
            });
        default:
            return replaced<u32>(at, [&](u32 old) { return updated_word(type, operation, old, static_cast<u32>(value)); });
    }
}

// Of the lanes that attempt a conditional store (CAST), only the first in each bank succeeds; the
// others have to retry.
u32 first_in_each_bank(const Access& access) {
    u32 taken = 0, first = 0;
    each_lane(access.active, [&](int i) {
        const u32 bank = 1u << (access.address[i] / machine::WORD_BYTES % machine::BANKS);
        if (!(taken & bank)) first |= 1u << i;
        taken |= bank;
    });
    return first;
}

machine::Wavefronts shared_cost(const Access& access, i32 operation) {
    if (operation == CAST) return {2, 2};
    const machine::AtomicCost kind = operation == COUNT_UP ? machine::COUNTS_UP
                                     : operation == CAS    ? machine::COMPARES
                                                           : machine::ONE_BY_ONE;
    return machine::shared_atomic_wavefronts(access, machine::collisions(access), kind);
}

// Sources: two for the address, then a value, then the value that a compare-and-swap stores.
void atomic(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access access = addressed(c, n);
    const i32 operation = operation_of(n), type = type_of(n);
    // There are no atomics on pairs of halves in shared memory, and no additions of 64 bits in the block's own: the
    // code continues with a loop for them. The H100 adds 64 bits in another block's at once.
    if (n.flags & SAYS_SUCCESS) {
        u32 left = n.space == GENERIC ? lanes_of(c, access, SHARED) : 0;
        if (type == U64 || type == S64)
            left &= lanes_where([&](int i) { return (access.address[i] - machine::SHARED_WINDOW) >> RANK_SHIFT == c.block->rank; });
        const u32 done = c.on & ~left;
        c.set_predicate(n, 0, done);
        if (!done) return;
        c.counts.mixed[c.at] += done != c.on;
        access.active = done;
        if (done != c.on) machine::survey(access);
    }
    Places places;
    const i32 space = place(c, n, access, UPDATE, places);
    if (c.judge) c.judge->update(c, n, access, space, places);
    if (space == GLOBAL) {
        const machine::Collisions met = machine::collisions(access);
        const int at_once = machine::global_sectors(access);
        const int sectors = machine::global_atomic_sectors(access, met, at_once);
        count_global(c, sectors);
        c.counts.colliding[c.at] += sectors != at_once;
    } else if (space == SHARED) {
        const u32 elsewhere = lanes_elsewhere(c, access);
        const Access own = elsewhere ? without_remote(c, access, elsewhere, true) : access;
        if (own.active) count_shared(c, shared_cost(own, operation));
    } else if (space == MIXED) {
        c.counts.mixed[c.at]++;
    }
    const Value value = value_of(c, n, 2), other = value_of(c, n, 3);
    const bool is_wide = type == U64 || type == S64 || type == F64;
    const auto number = [&](const Value& v, int i) {
        return is_wide ? static_cast<u64>(v.row[v.step + i]) << 32 | v.row[i] : u64(v.row[i]);
    };
    u32 *low = c.result(n), *high = c.result(n, 0, 1);
    if (const i32 word = word_of(type); word != type) {
        for (int w = 0; w < n.width / 4; w++) {
            u32* result = n.flags & HAS_RESULT ? c.result(n, 0, w) : nullptr;
            each_lane(access.active, [&](int i) {
                const u32 more = value.row[value.step * w + i];
                const u64 old = replaced<u32>(places.at[i] + 4 * w, [&](u32 before) {
                    return updated_word(word, operation, before, more);
                });
                if (result) result[i] = static_cast<u32>(old);
            });
        }
        return;
    }
    u32 succeeded = 0;
    const u32 trying = operation == CAST ? first_in_each_bank(access) : access.active;
    each_lane(access.active & ~trying, [&](int i) {
        low[i] = 0;
        if (is_wide) high[i] = 0;
    });
    each_lane(trying, [&](int i) {
        const u64 first = number(value, i), second = number(other, i);
        const u64 old = applied(type, operation, places.at[i], first, second);
        succeeded |= static_cast<u32>(old == first) << i;
        if (!(n.flags & HAS_RESULT)) return;
        const u64 result = operation == CAST ? old == first : old;  // a wide attempt gives a wide 0 or 1
        low[i] = static_cast<u32>(result);
        if (is_wide) high[i] = static_cast<u32>(result >> 32);
    });
    if (operation == CAST) c.set_predicate(n, 0, succeeded);
}

}  // namespace

std::vector<Entry> atomic_entries() {
    return {{"ATOMIC", atomic}};
}

}  // namespace sass
