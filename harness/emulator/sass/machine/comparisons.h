// Comparisons of floats: bits 0 to 3 of the flags are less, equal, greater and unordered; the result is
// combined with a predicate.

#pragma once

#include "rows_of.h"

namespace sass {

enum : i32 { WITH_OR = 16, WITH_XOR = 32 };  // AND otherwise

inline bool holds(i32 flags, f64 x, f64 y) {
    return x < y ? flags & 1 : x == y ? flags & 2 : x > y ? flags & 4 : flags & 8;
}

// The lanes for which the comparison holds. Each relation is tested separately, so that it vectorises.
template <class X, class Y> inline u32 lanes_that_hold(i32 flags, X x, Y y) {
    const u32 below = lanes_where([&](int i) { return x(i) < y(i); });
    const u32 equal = lanes_where([&](int i) { return x(i) == y(i); });
    const u32 above = lanes_where([&](int i) { return x(i) > y(i); });
    return (flags & 1 ? below : 0) | (flags & 2 ? equal : 0) | (flags & 4 ? above : 0) |
           (flags & 8 ? ~(below | equal | above) : 0);
}

inline u32 combined(const Context& c, const Instruction& n, u32 lanes) {
    const u32 with = c.predicate(n, 0);
    return n.flags & WITH_OR ? lanes | with : n.flags & WITH_XOR ? lanes ^ with : lanes & with;
}

// The second predicate receives the opposite result.
inline void set_compared(Context& c, const Instruction& n, u32 found) {
    c.set_predicate(n, 0, combined(c, n, found));
    c.set_predicate(n, 1, combined(c, n, ~found));
}

}  // namespace sass
