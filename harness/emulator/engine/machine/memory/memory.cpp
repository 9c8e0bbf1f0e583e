// The data that loads, stores and atomics move.

#include "arithmetic/halves.h"
#include "rows.h"
#include "stores.h"
#include "turns.h"

namespace machine {
namespace {

// --- loads --------------------------------------------------------------------------------------

// `place(i)`: the beginning of lane i's vector.
template <class T, class Place>
void fetch(Context& c, const Op& op, Place place) {
    for (int k = 0; k < op.count; k++) {
        if (op.result[k] < 0) continue;
        Cell<T>* row = c.row<Cell<T>>(op.result[k]);
        each_lane(c.active, [&](int i) {
            T value;
            std::memcpy(&value, place(i) + k * sizeof(T), sizeof(T));
            row[i] = Stored<T>::put(value);
        });
    }
}

using Four = u32 __attribute__((vector_size(16)));

// Loads vectors of four words, for four lanes at a time.
void fetch_fours(Context& c, const Op& op, const Access& access, const u8* start) {
    for (int i = 0; i < LANES; i += 4) {
        Four lane[4];
        for (int n = 0; n < 4; n++) std::memcpy(&lane[n], start + access.address[i + n], sizeof(Four));
        const Four low01 = __builtin_shuffle(lane[0], lane[1], Four{0, 4, 1, 5});
        const Four low23 = __builtin_shuffle(lane[2], lane[3], Four{0, 4, 1, 5});
        const Four high01 = __builtin_shuffle(lane[0], lane[1], Four{2, 6, 3, 7});
        const Four high23 = __builtin_shuffle(lane[2], lane[3], Four{2, 6, 3, 7});
        const Four element[] = {__builtin_shuffle(low01, low23, Four{0, 1, 4, 5}),
                                __builtin_shuffle(low01, low23, Four{2, 3, 6, 7}),
                                __builtin_shuffle(high01, high23, Four{0, 1, 4, 5}),
                                __builtin_shuffle(high01, high23, Four{2, 3, 6, 7})};
        for (int k = 0; k < 4; k++)
            if (op.result[k] >= 0) std::memcpy(c.row<u32>(op.result[k]) + i, &element[k], sizeof(Four));
    }
}

// The same, from memory that all lanes share.
template <class T>
void fetch(Context& c, const Op& op, const Access& access, const u8* start) {
    if (access.in_a_row && sizeof(T) >= 4 && op.count == 1) {
        if (op.result[0] >= 0)
            std::memcpy(c.row<T>(op.result[0]), start + access.low, LANES * sizeof(T));
    } else if (c.full && access.low == access.high) {
        for (int k = 0; k < op.count; k++) {
            if (op.result[k] < 0) continue;
            T value;
            std::memcpy(&value, start + access.low + k * sizeof(T), sizeof(T));
            Cell<T>* row = c.row<Cell<T>>(op.result[k]);
            std::fill(row, row + LANES, Stored<T>::put(value));
        }
    } else if (c.full && std::is_same_v<T, u32> && op.count == 4) {
        fetch_fours(c, op, access, start);
    } else {
        fetch<T>(c, op, [&](int i) { return start + access.address[i]; });
    }
}

template <class T>
void load(Context& c, const Op& op) {
    Access access = addressed(c, op, sizeof(T) * op.count);
    const i32 space = resolved(op, access);
    if (space == SHARED) {
        inside(op.site, access, c.launch->shared_bytes, sizeof(T) * op.count);
        if (op.cost != NOT_COUNTED) count_shared(c, op.site, shared_cost(c, op, access, true));
        note_shared_reads(c, op, access);
        fetch<T>(c, op, access, c.shared);
    } else if (space == LOCAL) {
        inside(op.site, access, c.launch->local_bytes, sizeof(T) * op.count);
        if (c.checks) note_local(c, op, access, false);
        fetch<T>(c, op, [&](int i) { return local_of(c, i) + access.address[i]; });
    } else {
        Buffer& buffer = buffer_of(c, op, access, sizeof(T) * op.count, READ);
        note_global_reads(c, op, buffer, access);
        read_filled(c, op, buffer, access, sizeof(T));
        count_global(c, op, buffer, access, sectors_of(c, op, access), READ);
        fetch<T>(c, op, access, buffer.data - buffer.base);
        if (op.kind != PLAIN) in_order(c);
    }
}

// --- stores -------------------------------------------------------------------------------------

// Writes a lane's vector as bytes.
template <class T>
void gather(const Context& c, const Op& op, int lane, u8* bytes) {
    for (int k = 0; k < op.count; k++) {
        const T value = Stored<T>::get(c.row<Cell<T>>(op.source[k + 1])[lane]);
        std::memcpy(bytes + k * sizeof(T), &value, sizeof(T));
    }
}

template <class T>
void store(Context& c, const Op& op) {
    Access access = addressed(c, op, sizeof(T) * op.count);
    const i32 space = resolved(op, access);
    u8 value[MAX_SOURCES * sizeof(T)];
    const auto bytes = [&](int i) {
        gather<T>(c, op, i, value);
        return static_cast<const u8*>(value);
    };
    if (space == SHARED) {
        inside(op.site, access, c.launch->shared_bytes, sizeof(T) * op.count);
        count_shared(c, op.site, shared_cost(c, op, access, false));
        put_shared(c, op.site, op.kind, access, bytes);
    } else if (space == LOCAL) {
        inside(op.site, access, c.launch->local_bytes, sizeof(T) * op.count);
        if (c.checks) note_local(c, op, access, true);
        each_lane(access.active, [&](int i) {
            std::memcpy(local_of(c, i) + access.address[i], bytes(i), access.width);
        });
    } else {
        Buffer& buffer = buffer_of(c, op, access, sizeof(T) * op.count, WRITE);
        count_global(c, op, buffer, access, sectors_of(c, op, access), WRITE);
        if (op.kind != PLAIN) in_order(c);
        put_global(c, op, buffer, access, bytes);
        fill(c, buffer, access);
    }
}

// --- atomics ------------------------------------------------------------------------------------

template <class T, class F>
void atomic(Context& c, const Op& op, F applied) {
    const Cell<T>* firsts = c.row<Cell<T>>(op.source[1]);
    const Cell<T>* seconds = c.row<Cell<T>>(op.source[op.count >= 2 ? 2 : 1]);
    Cell<T>* result = op.result[0] >= 0 ? c.row<Cell<T>>(op.result[0]) : nullptr;
    in_turn<sizeof(T)>(c, op, [&](int i, u8* place, bool in_global) {
        T old, made;
        const T first = Stored<T>::get(firsts[i]), second = Stored<T>::get(seconds[i]);
        if (in_global && c.launch->jobs > 1) {
            T* word = reinterpret_cast<T*>(place);
            __atomic_load(word, &old, __ATOMIC_SEQ_CST);
            do made = applied(old, first, second, in_global);
            while (!__atomic_compare_exchange(word, &old, &made, false, __ATOMIC_SEQ_CST,
                                              __ATOMIC_SEQ_CST));
        } else {
            std::memcpy(&old, place, sizeof(T));
            made = applied(old, first, second, in_global);
            std::memcpy(place, &made, sizeof(T));
        }
        if (result) result[i] = Stored<T>::put(old);
    });
}

// 128 bits, in two registers each. Launches with these atomics in global memory do not run with several jobs.
template <bool Compares>
void atomic_128(Context& c, const Op& op) {
    in_turn<16>(c, op, [&](int i, u8* place, bool) {
        const auto read = [&](int n) { return c.row<u64>(op.source[n])[i]; };
        const u64 given[] = {read(1), read(2)};
        u64 old[2];
        std::memcpy(old, place, sizeof old);
        if (!Compares) {
            std::memcpy(place, given, sizeof given);
        } else if (old[0] == given[0] && old[1] == given[1]) {
            const u64 swapped[] = {read(3), read(4)};
            std::memcpy(place, swapped, sizeof swapped);
        }
        for (int half = 0; half < 2; half++)
            if (op.result[half] >= 0) c.row<u64>(op.result[half])[i] = old[half];
    });
}

// In global memory, floats are added by the L2 cache, which treats subnormals as zero; in shared memory, by a loop with
// an ordinary addition, which keeps them.
f32 float_sum(f32 a, f32 b, bool in_global) {
    return canonical(in_global ? flush(flush(a) + flush(b)) : a + b);
}

#define ATOMIC_OP(NAME, T, EXPRESSION)                                              \
    {NAME, [](Context& c, const Op& op) {                                           \
         atomic<T>(c, op, []([[maybe_unused]] T a, T b, [[maybe_unused]] T d,       \
                             [[maybe_unused]] bool in_global) -> T {                \
             return EXPRESSION;                                                     \
         });                                                                        \
     }, UPDATES},

#define ATOMIC_BITS(N, T)              \
    ATOMIC_OP("atom.add/" N, T, a + b) \
    ATOMIC_OP("atom.and/" N, T, a & b) \
    ATOMIC_OP("atom.or/" N, T, a | b)  \
    ATOMIC_OP("atom.xor/" N, T, a ^ b) \
    ATOMIC_OP("atom.exch/" N, T, b)    \
    ATOMIC_OP("atom.cas/" N, T, a == b ? d : a)

#define ATOMIC_HALVES_BY(OPERATION, N, F)                 \
    ATOMIC_OP("atom." OPERATION "." N "/u16", u16, F(a, b)) \
    ATOMIC_OP("atom." OPERATION "." N "x2/u32", u32, pair(F(low(a), low(b)), F(high(a), high(b))))

#define ATOMIC_HALVES(N, H)              \
    ATOMIC_HALVES_BY("add", N, sum<H>)   \
    ATOMIC_HALVES_BY("min", N, least_half<H>) ATOMIC_HALVES_BY("max", N, greatest_half<H>)

#define ATOMIC_ORDER(N, T)                     \
    ATOMIC_OP("atom.min/" N, T, a < b ? a : b) \
    ATOMIC_OP("atom.max/" N, T, a > b ? a : b)

}  // namespace

std::vector<Entry> memory_entries() {
    return {
        {"ld/u8", load<u8>, LOADS}, {"ld/s8", load<i8>, LOADS}, {"ld/u16", load<u16>, LOADS},
        {"ld/s16", load<i16>, LOADS}, {"ld/4", load<u32>, LOADS}, {"ld/8", load<u64>, LOADS},
        {"st/1", store<u8>, STORES}, {"st/2", store<u16>, STORES}, {"st/4", store<u32>, STORES},
        {"st/8", store<u64>, STORES},
        ATOMIC_BITS("u32", u32) ATOMIC_BITS("u64", u64)
        ATOMIC_ORDER("u32", u32) ATOMIC_ORDER("s32", i32)
        ATOMIC_ORDER("u64", u64) ATOMIC_ORDER("s64", i64)
        ATOMIC_OP("atom.add/f32", float, float_sum(a, b, in_global))
        ATOMIC_OP("atom.add/f64", double, canonical(a + b, a, b))
        ATOMIC_OP("atom.inc/u32", u32, a >= b ? 0 : a + 1)
        ATOMIC_OP("atom.dec/u32", u32, a == 0 || a > b ? b : a - 1)
        ATOMIC_OP("atom.cas/u16", u16, a == b ? d : a)
        {"atom.exch/b128", atomic_128<false>, UPDATES}, {"atom.cas/b128", atomic_128<true>, UPDATES},
        ATOMIC_HALVES("f16", F16) ATOMIC_HALVES("bf16", BF16)
    };
}

}  // namespace machine
