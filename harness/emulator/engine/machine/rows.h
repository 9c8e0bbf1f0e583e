// Operations on rows of lanes: a function of one lane's values, applied to all active lanes.

#pragma once

#include <type_traits>

#include "machine.h"

namespace machine {

struct Predicate {};  // stored as 0 or all ones

// How a type is stored in a lane, and how it is read and written.
template <class T> struct Stored {
    using Cell = std::conditional_t<
        sizeof(T) >= 4, T, std::conditional_t<std::is_signed_v<T>, i32, u32>>;
    using Value = T;
    static T get(Cell cell) { return static_cast<T>(cell); }
    static Cell put(T value) { return static_cast<Cell>(value); }
};

template <> struct Stored<Predicate> {
    using Cell = i32;
    using Value = bool;
    static bool get(Cell cell) { return cell != 0; }
    static Cell put(bool value) { return -static_cast<i32>(value); }
};

template <class T> using Cell = typename Stored<T>::Cell;

enum class Shuffle { IDX, UP, DOWN, BFLY };

// The lane that a lane reads from, and whether it is in range (PTX ISA, shfl).
inline int source_of_shuffle(Shuffle mode, int lane, u32 b, u32 c, bool& in_range) {
    const int by = b & 31, clamp = c & 31, segment = c >> 8 & 31;
    const int top = (lane & segment) | (clamp & ~segment);
    const int source = mode == Shuffle::UP     ? lane - by
                       : mode == Shuffle::DOWN ? lane + by
                       : mode == Shuffle::BFLY ? lane ^ by
                                      : (lane & segment) | (by & ~segment);
    in_range = mode == Shuffle::UP ? source >= top : source <= top;
    return in_range ? source & 31 : lane;
}

// ivdep is safe because a lane's result may overwrite an operand of the same lane, but never one of another lane.
#define EACH_LANE(VALUE)                                                       \
    if (c.full) {                                                              \
        _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++) r[i] = (VALUE);   \
    } else {                                                                   \
        _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++) {                 \
            const Cell<R> value = (VALUE);                                     \
            r[i] = c.mask[i] ? value : r[i];                                   \
        }                                                                      \
    }

template <class R, class A, class F> inline void map(Context& c, const Op& op, F f) {
    Cell<R>* r = c.row<Cell<R>>(op.result[0]);
    const Cell<A>* a = c.row<Cell<A>>(op.source[0]);
    EACH_LANE(Stored<R>::put(f(Stored<A>::get(a[i]))))
}

template <class R, class A, class B, class F> inline void map(Context& c, const Op& op, F f) {
    Cell<R>* r = c.row<Cell<R>>(op.result[0]);
    const Cell<A>* a = c.row<Cell<A>>(op.source[0]);
    const Cell<B>* b = c.row<Cell<B>>(op.source[1]);
    EACH_LANE(Stored<R>::put(f(Stored<A>::get(a[i]), Stored<B>::get(b[i]))))
}

template <class R, class A, class B, class C, class F> inline void map(Context& c, const Op& op, F f) {
    Cell<R>* r = c.row<Cell<R>>(op.result[0]);
    const Cell<A>* a = c.row<Cell<A>>(op.source[0]);
    const Cell<B>* b = c.row<Cell<B>>(op.source[1]);
    const Cell<C>* d = c.row<Cell<C>>(op.source[2]);
    EACH_LANE(Stored<R>::put(f(Stored<A>::get(a[i]), Stored<B>::get(b[i]), Stored<C>::get(d[i]))))
}

template <class R, class A, class B, class C, class D, class F>
inline void map(Context& c, const Op& op, F f) {
    Cell<R>* r = c.row<Cell<R>>(op.result[0]);
    const Cell<A>* a = c.row<Cell<A>>(op.source[0]);
    const Cell<B>* b = c.row<Cell<B>>(op.source[1]);
    const Cell<C>* d = c.row<Cell<C>>(op.source[2]);
    const Cell<D>* e = c.row<Cell<D>>(op.source[3]);
    EACH_LANE(Stored<R>::put(f(Stored<A>::get(a[i]), Stored<B>::get(b[i]), Stored<C>::get(d[i]),
                               Stored<D>::get(e[i]))))
}

// An entry of a table of operations: its name, its types, and the result of operands a, b, c, d.
#define OP1(NAME, R, A, EXPRESSION)                                                          \
    {NAME, [](Context& c, const Op& op) {                                                    \
         map<R, A>(c, op, [&](typename Stored<A>::Value a) -> typename Stored<R>::Value {    \
             return EXPRESSION;                                                              \
         });                                                                                 \
     }},
#define OP2(NAME, R, A, B, EXPRESSION)                                                       \
    {NAME, [](Context& c, const Op& op) {                                                    \
         map<R, A, B>(c, op, [&](typename Stored<A>::Value a, typename Stored<B>::Value b)   \
                                 -> typename Stored<R>::Value { return EXPRESSION; });       \
     }},
#define OP3(NAME, R, A, B, C, EXPRESSION)                                                    \
    {NAME, [](Context& ctx, const Op& op) {                                                  \
         map<R, A, B, C>(ctx, op, [&](typename Stored<A>::Value a, typename Stored<B>::Value b, \
                                      typename Stored<C>::Value c)                           \
                                      -> typename Stored<R>::Value { return EXPRESSION; });  \
     }},
#define OP4(NAME, R, A, B, C, D, EXPRESSION)                                                 \
    {NAME, [](Context& ctx, const Op& op) {                                                  \
         map<R, A, B, C, D>(                                                                 \
             ctx, op, [&](typename Stored<A>::Value a, typename Stored<B>::Value b,          \
                          typename Stored<C>::Value c, typename Stored<D>::Value d)          \
                          -> typename Stored<R>::Value { return EXPRESSION; });              \
     }},

}  // namespace machine
