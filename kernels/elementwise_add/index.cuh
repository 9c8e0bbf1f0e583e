// The type of an index into arrays that may have more than 2^32 elements.
#pragma once

#include <type_traits>

// Arithmetic on 64 bits takes two instructions, and a division a hundred, so 32 bits serve where
// they suffice: the matrix defines WIDE as 1 for more than 2^31 elements, and as 0 for fewer.
#ifndef WIDE
#define WIDE 1
#endif

using Index = std::conditional_t<WIDE != 0, unsigned long long, unsigned int>;
