// Arithmetic rounded towards zero, down or up, with the processor's own operations.
//
// To a compiler, a sum is the same whichever way the processor rounds, so it could be moved past the change of
// direction. Each change therefore acts as a barrier for all memory: code that reads its operands from memory after one
// change, and writes its result before the next, is executed between the two.

#pragma once

#include <cfenv>

#include "floats.h"

namespace machine {

class Direction {
   public:
    explicit Direction(i64 rounding) : before_(std::fegetround()) { turn(way(rounding)); }
    ~Direction() { turn(before_); }
    Direction(const Direction&) = delete;
    Direction& operator=(const Direction&) = delete;

   private:
    static int way(i64 rounding) {
        switch (rounding) {
            case TOWARDS_ZERO: return FE_TOWARDZERO;
            case DOWN: return FE_DOWNWARD;
            case UP: return FE_UPWARD;
            default: return FE_TONEAREST;
        }
    }

    static void turn(int way) {
        asm volatile("" ::: "memory");
        std::fesetround(way);
        asm volatile("" ::: "memory");
    }

    const int before_;
};

}  // namespace machine
