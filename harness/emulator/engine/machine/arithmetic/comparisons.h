// The comparisons common to all types of numbers, as rows of a table of operations.

#pragma once

#include "rows.h"

#define COMPARED(N, T)                                                   \
    OP2("setp.eq/" N, Predicate, T, T, a == b)                           \
    OP2("setp.ne/" N, Predicate, T, T, a < b || a > b)                   \
    OP2("setp.lt/" N, Predicate, T, T, a < b)                            \
    OP2("setp.le/" N, Predicate, T, T, a <= b)                           \
    OP2("setp.gt/" N, Predicate, T, T, a > b)                            \
    OP2("setp.ge/" N, Predicate, T, T, a >= b)
