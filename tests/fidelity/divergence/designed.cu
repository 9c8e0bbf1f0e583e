// Each kernel makes a warp diverge in one way. See divergence.h.

#include "divergence.h"

// Three branches in a row inside one; on the other side of that, a loop.
KERNEL(row) {
    START
    if (ON(a)) {
        k = ON(b) ? repeat(k, trips, 3, 1) : repeat(k, trips, 5, 3);
        k = ON(c) ? repeat(k, trips, 13, 1) : repeat(k, trips, 15, 3);
        k = ON(d) ? repeat(k, trips, 23, 1) : repeat(k, trips, 25, 3);
    } else {
        k = repeat(k, trips, 7, 5);
    }
    k = repeat(k, trips, 31, 1);
    END
}

// The same without other sides: lanes go straight to the point where all reconverge.
KERNEL(row_of_ifs) {
    START
    if (ON(a)) {
        if (ON(b)) k = repeat(k, trips, 3, 1);
        k += 7;
        if (ON(c)) k = repeat(k, trips, 5, 1);
        k ^= 9;
        if (ON(d)) k = repeat(k, trips, 9, 1);
    }
    k = repeat(k, trips, 31, 1);
    END
}

KERNEL(four_deep) {
    START
    if (ON(a)) {
        if (ON(b)) {
            if (ON(c)) {
                k = ON(d) ? repeat(k, trips, 3, 1) : repeat(k, trips, 5, 1);
                k += 3;
            } else {
                k = repeat(k, trips, 7, 1);
            }
            k += 5;
        } else {
            k = repeat(k, trips, 9, 1);
        }
        k += 7;
    } else {
        k = repeat(k, trips, 11, 1);
    }
    k = repeat(k, trips, 31, 1);
    END
}

// Four levels deep, and from every level straight to the point where all reconverge.
KERNEL(four_deep_of_ifs) {
    START
    if (ON(a)) {
        k = k * 3 + 1;
        if (ON(b)) {
            k = k * 5 + 1;
            if (ON(c)) {
                k = k * 7 + 1;
                if (ON(d)) k = repeat(k, trips, 9, 1);
            }
        }
    }
    k = repeat(k, trips, 31, 1);
    END
}

KERNEL(both_sides) {
    START
    if (ON(a)) {
        k = ON(b) ? repeat(k, trips, 3, 1) : repeat(k, trips, 5, 3);
        k += 9;
    } else {
        k = ON(c) ? repeat(k, trips, 13, 1) : repeat(k, trips, 15, 3);
        k += 11;
    }
    k = repeat(k, trips, 31, 1);
    END
}

KERNEL(both_sides_of_ifs) {
    START
    if (ON(a)) {
        k = k * 3 + 1;
        if (ON(b)) {
            k = k * 5 + 1;
            if (ON(c)) k = repeat(k, trips, 9, 1);
        }
    } else {
        k ^= 77;
        if (ON(c)) {
            k = k * 11 + 1;
            if (ON(d)) k = repeat(k, trips, 13, 1);
        }
    }
    k = repeat(k, trips, 31, 1);
    END
}

// One side reaches the point of reconvergence through a loop, and then the other side diverges.
KERNEL(late) {
    START
    if (ON(a)) {
        k += 3;
        if (ON(d)) k = repeat(k, trips, 3, 1);
        k = k * 5 + 2;
        if (ON(c)) k = repeat(k, trips, 9, 7);
        k ^= 1;
    } else {
        k ^= 77;
        if (ON(b)) k = repeat(k, trips, 13, 1);
    }
    k = repeat(k, trips, 31, 1);
    END
}

// A loop whose lanes leave after different numbers of trips.
KERNEL(leave) {
    START
    k = repeat(k, (ON(a) ? 1 : ON(b) ? 2 : ON(c) ? 3 : 4) * trips, 3, 1);
    k = repeat(k, trips, 31, 1);
    END
}

KERNEL(leave_inside) {
    START
    if (ON(d)) {
        k = repeat(k, (ON(a) ? 1 : ON(b) ? 2 : ON(c) ? 3 : 4) * trips, 3, 1);
        k += 7;
        if (ON(b)) k = repeat(k, trips, 5, 1);
    }
    k = repeat(k, trips, 31, 1);
    END
}

// Lanes leave a loop in which those that stay diverge at a branch.
KERNEL(branch_in_loop) {
    START
    const unsigned int rounds = ON(a) ? 1 : ON(b) ? 2 : 3;
#pragma unroll 1
    for (unsigned int r = 0; r < rounds; ++r) {
        k = ON(c) ? repeat(k, trips, 3, 1) : repeat(k, trips, 5, 3);
        k ^= r;
    }
    k = repeat(k, trips, 31, 1);
    END
}

// Lanes leave a loop at several places.
KERNEL(breaks) {
    START
#pragma unroll 1
    for (unsigned int r = 0; r < 8; ++r) {
        k = k * 3 + 1;
        if (ON(a) && r >= trips) break;
        k = k * 5 + r;
        if (ON(b) && r > trips) break;
        k ^= k >> 3;
        if (ON(c) && r > trips + 1) break;
        k += 77;
    }
    k = repeat(k, trips, 31, 1);
    END
}

// Lanes leave two loops at once.
KERNEL(out_of_two_loops) {
    START
#pragma unroll 1
    for (unsigned int q = 0; q < 4; ++q) {
#pragma unroll 1
        for (unsigned int r = 0; r < 4; ++r) {
            k = k * 3 + 1;
            if (ON(a) && q + r >= trips) goto out;
            k ^= k >> 3;
            if (ON(b) && r > trips) break;
        }
        k += 5;
        if (ON(c) && q == trips) break;
        if (ON(d)) k = repeat(k, trips, 7, 1);
    }
    k ^= 99;
out:
    k = repeat(k, trips, 31, 1);
    END
}

// Lanes leave the kernel from a loop.
KERNEL(exit_in_loop) {
    START
#pragma unroll 1
    for (unsigned int r = 0; r < 5; ++r) {
        k = k * 3 + 1;
        if (ON(a) && r >= trips) {
            END
            return;
        }
        if (ON(b)) k = repeat(k, trips, 5, 1);
        k ^= 3;
        if (ON(c) && r > trips) return;
    }
    k = repeat(k, trips, 31, 1);
    END
}

__device__ __noinline__ unsigned int called(unsigned int k, unsigned int lane, unsigned int b,
                                            unsigned int c, unsigned int trips) {
    k = ON(b) ? repeat(k, trips, 3, 1) : repeat(k, trips, 5, 3);
    if (ON(c)) k = repeat(k, trips, 15, 3);
    return k;
}

// A function in which a warp diverges is called by all lanes, and by some.
KERNEL(calls) {
    START
    k = called(k, lane, b, c, trips);
    if (ON(a)) k = called(k, lane, c, d, trips);
    k = repeat(k, trips, 31, 1);
    END
}

// A function is called by some lanes here and by others there.
KERNEL(called_from_two_places) {
    START
    if (ON(a))
        k = called(k, lane, b, c, trips) + 3;
    else
        k = called(k ^ 5, lane, c, d, trips) * 7;
    k = repeat(k, trips, 31, 1);
    END
}

// A switch: branches to addresses in a table.
KERNEL(indexed) {
    START
    switch (number) {
        case 0: k = repeat(k, trips, 3, 1); break;
        case 1: k = repeat(k, trips, 5, 1); break;
        case 2: k = repeat(k, trips, 7, 3); break;
        case 3: k = repeat(k, trips, 9, 1); break;
        case 4: k = repeat(k, trips, 11, 5); break;
        case 5: k = repeat(k, trips, 13, 1); break;
        case 6: k = repeat(k, trips, 15, 1) ^ 5; break;
        case 7: k = repeat(k, trips, 17, 9); break;
    }
    k = repeat(k, trips, 31, 1);
    END
}

// One whose cases fall through.
KERNEL(falling_through) {
    START
    switch (number) {
        case 7: k = k * 3 + x[1];
        case 6: k = k * 5 + x[2];
        case 5: k = k * 7 + x[3];
        case 4: k = k * 9 + x[4];
        case 3: k = k * 11 + x[5];
        case 2: k = k * 13 + x[6];
        case 1: k = k * 15 + x[7];
        case 0: k ^= 3;
    }
    k = repeat(k, trips, 31, 1);
    END
}

// Lanes of a warp, named by a mask, wait for each other.
KERNEL(named) {
    START
    if (ON(a)) {
        if (ON(b)) k = repeat(k, trips, 3, 1);
        __syncwarp(a);
        k += __popc(__ballot_sync(a, k & 1));
    } else {
        if (ON(c)) k = repeat(k, trips, 5, 1);
        __syncwarp(~a);
    }
    __syncwarp();
    if (ON(d)) k = repeat(k, trips, 9, 1);
    k += __shfl_xor_sync(~0u, k, 3);
    k = repeat(k, trips, 31, 1);
    END
}

// Lanes leave a loop in which the remaining ones still wait for each other.
KERNEL(named_in_loop) {
    START
    const unsigned int rounds = ON(a) ? 2 : 3;
#pragma unroll 1
    for (unsigned int r = 0; r < rounds; ++r) {
        k = k * 3 + r;
        __syncwarp(r < 2 ? ~0u : ~a);
        if (ON(b)) k = repeat(k, trips, 5, 1);
    }
    k = repeat(k, trips, 31, 1);
    END
}

// A branch to one of eight addresses, which the compiler would split into several.
KERNEL(one_of_eight) {
    START
    asm volatile(
        "{\n"
        "ways: .branchtargets W0, W1, W2, W3, W4, W5, W6, W7;\n"
        "brx.idx %1, ways;\n"
        "W0: mad.lo.u32 %0, %0, 3, 1; bra MEET;\n"
        "W1: mad.lo.u32 %0, %0, 5, 2; bra MEET;\n"
        "W2: mad.lo.u32 %0, %0, 7, 3; mad.lo.u32 %0, %0, 9, 3; bra MEET;\n"
        "W3: mad.lo.u32 %0, %0, 11, 4; bra MEET;\n"
        "W4: mad.lo.u32 %0, %0, 13, 5; xor.b32 %0, %0, 77; bra MEET;\n"
        "W5: mad.lo.u32 %0, %0, 15, 6; bra MEET;\n"
        "W6: mad.lo.u32 %0, %0, 17, 7; bra MEET;\n"
        "W7: mad.lo.u32 %0, %0, 19, 8;\n"
        "MEET:\n"
        "}\n"
        : "+r"(k)
        : "r"(number));
    k = repeat(k, trips, 31, 1);
    END
}
