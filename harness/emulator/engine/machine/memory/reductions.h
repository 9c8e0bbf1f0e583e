// How a reducing bulk copy changes its target: element by element, as an atomic would.

#pragma once

#include <string>

#include "arithmetic/halves.h"
#include "machine.h"

namespace machine {

struct BulkReduction {
    const char* name;  // of the operation
    void (*apply)(u8* place, const u8* given, int bytes);
};

template <class T, class F>
void reduce_each(u8* place, const u8* given, int bytes, F reduce) {
    for (int at = 0; at < bytes; at += static_cast<int>(sizeof(T))) {
        T old, more;
        std::memcpy(&old, place + at, sizeof old);
        std::memcpy(&more, given + at, sizeof more);
        old = reduce(old, more);
        std::memcpy(place + at, &old, sizeof old);
    }
}

// Unlike in an addition, a NaN in double precision is not made quiet.
inline f64 sum_in_memory(f64 a, f64 b) { return b != b ? b : a != a ? a : canonical(a + b); }

inline f32 flushed_sum(f32 a, f32 b) { return flush(canonical(flush(a) + flush(b))); }

#define REDUCTION(NAME, T, EXPRESSION)                                                            \
    {"reduce_bulk." NAME, [](u8* place, const u8* given, int bytes) {                             \
         reduce_each<T>(place, given, bytes, [](T a, T b) -> T { return static_cast<T>(EXPRESSION); });  \
     }},

#define BITS(N, T)                                                                      \
    REDUCTION("add/" N, T, a + b) REDUCTION("and/" N, T, a & b) REDUCTION("or/" N, T, a | b) \
    REDUCTION("xor/" N, T, a ^ b)

#define ORDER(N, T) REDUCTION("min/" N, T, a < b ? a : b) REDUCTION("max/" N, T, a > b ? a : b)

#define HALVES(N, H) \
    REDUCTION("min/" N, u16, least_half<H>(a, b)) REDUCTION("max/" N, u16, greatest_half<H>(a, b))

inline const std::vector<BulkReduction>& bulk_reductions() {
    static const std::vector<BulkReduction> all = {
        BITS("u32", u32) BITS("u64", u64)
        ORDER("u32", u32) ORDER("s32", i32) ORDER("u64", u64) ORDER("s64", i64)
        REDUCTION("inc/u32", u32, a >= b ? 0 : a + 1)
        REDUCTION("dec/u32", u32, a == 0 || a > b ? b : a - 1)
        REDUCTION("add/f32", f32, canonical(a + b)) REDUCTION("add/f64", f64, sum_in_memory(a, b))
        REDUCTION("add/f32.ftz", f32, flushed_sum(a, b))
        REDUCTION("add/f16", u16, sum<F16>(a, b)) REDUCTION("add/bf16", u16, sum<BF16>(a, b))
        HALVES("f16", F16) HALVES("bf16", BF16)
    };
    return all;
}

#undef HALVES
#undef ORDER
#undef BITS
#undef REDUCTION

// The reduction with this name, or null if there is none.
inline const BulkReduction* reduction_named(const std::string& name) {
    for (const BulkReduction& reduction : bulk_reductions())
        if (name == reduction.name) return &reduction;
    return nullptr;
}

// The reduction of an operation, or null if it only copies.
inline const BulkReduction* reduction_of(const Op& op) {
    return reduction_named(entries()[op.handler].name);
}

}  // namespace machine
