// Made by scripts/divergence/generate.py: warps that divide at random. See divergence.h.

#include "divergence.h"

KERNEL(random_48) {
    START
    if (ON(b & c)) {
        if (ON(b)) {
            if (!ON(b)) {
                k = k * 3 + 3;
            }
            k = repeat(k, trips, 5, 3);
        } else {
            if (ON(c & d)) {
                k = k * 7 + 5;
            }
        }
        switch (number) {
            case 0: k = repeat(k, trips, 9, 0);
            case 1: k = repeat(k, trips, 11, 1);
                break;
            case 2: k = repeat(k, trips, 13, 2);
                break;
            case 3: k = repeat(k, trips, 15, 3);
                break;
            case 4: k = repeat(k, trips, 17, 4);
                break;
            case 5: k = repeat(k, trips, 19, 5);
            case 6: k = repeat(k, trips, 21, 6);
            case 7: k = repeat(k, trips, 23, 7);
                break;
        }
        k = k * 25 + 5;
    }
    switch (number) {
        case 0: k = repeat(k, trips, 27, 0);
            break;
        case 1: k = repeat(k, trips, 29, 1);
            break;
        case 2: k = repeat(k, trips, 31, 2);
            break;
        case 3: k = repeat(k, trips, 33, 3);
            break;
        case 4: k = repeat(k, trips, 35, 4);
            break;
        case 5: k = repeat(k, trips, 37, 5);
            break;
        case 6: k = repeat(k, trips, 39, 6);
            break;
        case 7: k = repeat(k, trips, 41, 7);
            break;
    }
    if (ON(a & d)) {
        if (ON(a | c)) {
            if (!ON(b)) {
                k = repeat(k, trips, 43, 4);
                k = repeat(k, trips, 45, 3);
            }
            k = repeat(k, trips, 47, 5);
        }
        switch (number) {
            case 0: k = repeat(k, trips, 49, 0);
            case 1: k = repeat(k, trips, 51, 1);
                break;
            case 2: k = repeat(k, trips, 53, 2);
                break;
            case 3: k = repeat(k, trips, 55, 3);
                break;
            case 4: k = repeat(k, trips, 57, 4);
            case 5: k = repeat(k, trips, 59, 5);
                break;
            case 6: k = repeat(k, trips, 61, 6);
            case 7: k = repeat(k, trips, 63, 7);
        }
    } else {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(c)); ++r1) {
            k += r1;
            k = k * 65 + 6;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_49) {
    START
    if (ON(d & a)) {
        k = k * 3 + 1;
        if (ON(b)) {
            if (ON(c & d)) {
                k = k * 5 + 2;
                k = k * 7 + 6;
            }
            if (ON(d)) {
                k = repeat(k, trips, 9, 4);
                k = k * 11 + 5;
                k = repeat(k, trips, 13, 6);
            }
            if (ON(c | b)) {
                k = repeat(k, trips, 15, 8);
                k = k * 17 + 9;
                k = k * 19 + 1;
            }
        }
        k = k * 21 + 5;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_50) {
    START
    if (!ON(c)) {
        if (ON(a & c)) {
            k = k * 3 + 3;
        }
        k = k * 5 + 6;
        if (ON(a | b)) {
            k = k * 7 + 6;
            if (ON(a & d)) {
                k = k * 9 + 2;
                k = k * 11 + 5;
            } else {
                k = k * 13 + 9;
                k = k * 15 + 2;
            }
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (!ON(d)); ++r1) {
                k += r1;
                k = repeat(k, trips, 17, 2);
                k = k * 19 + 1;
            }
        }
    }
    if (ON(a | c)) {
#pragma unroll 1
        for (unsigned int r2 = 0; r2 < trips + (ON(b)); ++r2) {
            k += r2;
            if (ON(c)) {
                k = repeat(k, trips, 21, 9);
            }
        }
        switch (number) {
            case 0: k = repeat(k, trips, 23, 0);
                break;
            case 1: k = repeat(k, trips, 25, 1);
            case 2: k = repeat(k, trips, 27, 2);
                break;
            case 3: k = repeat(k, trips, 29, 3);
                break;
            case 4: k = repeat(k, trips, 31, 4);
                break;
            case 5: k = repeat(k, trips, 33, 5);
            case 6: k = repeat(k, trips, 35, 6);
                break;
            case 7: k = repeat(k, trips, 37, 7);
                break;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_51) {
    START
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (!ON(b)); ++r1) {
        k += r1;
        if (ON(d & c)) {
            if (ON(d)) {
                k = repeat(k, trips, 3, 1);
            }
            k = repeat(k, trips, 5, 6);
        } else {
            if (!ON(a) && r1 >= 1) break;
            k = k * 7 + 2;
        }
        switch (number) {
            case 0: k = repeat(k, trips, 9, 0);
                break;
            case 1: k = repeat(k, trips, 11, 1);
                break;
            case 2: k = repeat(k, trips, 13, 2);
            case 3: k = repeat(k, trips, 15, 3);
            case 4: k = repeat(k, trips, 17, 4);
                break;
            case 5: k = repeat(k, trips, 19, 5);
            case 6: k = repeat(k, trips, 21, 6);
            case 7: k = repeat(k, trips, 23, 7);
        }
        if (ON(b & c)) {
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(d)); ++r2) {
                k += r2;
                k = k * 25 + 8;
                k = k * 27 + 9;
            }
            if (ON(d)) {
                k = k * 29 + 7;
                k = repeat(k, trips, 31, 4);
            }
        } else {
            if (ON(a | b)) {
                if (ON(c & d) && r1 >= 1) break;
                k = k * 33 + 9;
            }
            if (ON(b & a)) {
                k = k * 35 + 3;
                k = k * 37 + 9;
            } else {
                if (ON(d | b) && r1 >= 0) continue;
                k = repeat(k, trips, 39, 3);
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_52) {
    START
    k = k * 3 + 9;
    if (ON(c)) {
        if (ON(b | d)) {
            if (!ON(d)) {
                k = k * 5 + 4;
            } else {
                k = k * 7 + 7;
                k = k * 9 + 7;
            }
        } else {
            if (ON(b | a)) {
                k = repeat(k, trips, 11, 3);
                k = k * 13 + 3;
                k = k * 15 + 7;
            }
        }
    } else {
        if (!ON(d)) {
            k = repeat(k, trips, 17, 2);
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_53) {
    START
    if (ON(d | c)) {
        if (!ON(a)) {
            if (ON(a)) {
                k = k * 3 + 4;
                k = repeat(k, trips, 5, 9);
            }
            if (ON(d & a)) {
                k = repeat(k, trips, 7, 9);
                k = k * 9 + 4;
            }
        } else {
            if (ON(d & a)) {
                k = k * 11 + 1;
            } else {
                k = k * 13 + 8;
            }
        }
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (!ON(c)); ++r1) {
            k += r1;
            k = repeat(k, trips, 15, 3);
        }
#pragma unroll 1
        for (unsigned int r2 = 0; r2 < trips + (ON(c & d)); ++r2) {
            k += r2;
            if (!ON(d)) {
                k = repeat(k, trips, 17, 2);
                if (ON(d) && r2 >= 1) break;
            }
            if (!ON(b) && r2 >= 1) break;
            switch (number) {
                case 0: k = repeat(k, trips, 19, 0);
                    break;
                case 1: k = repeat(k, trips, 21, 1);
                    break;
                case 2: k = repeat(k, trips, 23, 2);
                    break;
                case 3: k = repeat(k, trips, 25, 3);
                    break;
                case 4: k = repeat(k, trips, 27, 4);
                    break;
                case 5: k = repeat(k, trips, 29, 5);
                case 6: k = repeat(k, trips, 31, 6);
                    break;
                case 7: k = repeat(k, trips, 33, 7);
                    break;
            }
        }
    }
    if (!ON(a)) {
#pragma unroll 1
        for (unsigned int r3 = 0; r3 < trips + (ON(d & b)); ++r3) {
            k += r3;
            if (ON(d & c)) {
                k = k * 35 + 9;
                k = repeat(k, trips, 37, 2);
                if (ON(d)) { END return; }
            }
        }
    } else {
        if (ON(d | a)) {
            if (ON(a & d)) {
                k = k * 39 + 9;
                k = k * 41 + 1;
            }
        } else {
            if (ON(a)) {
                k = repeat(k, trips, 43, 1);
            } else {
                k = k * 45 + 6;
                k = k * 47 + 7;
            }
            k = k * 49 + 1;
        }
        if (ON(b)) {
            if (ON(b | c)) {
                k = k * 51 + 8;
                k = k * 53 + 1;
            }
            if (!ON(c)) {
                k = k * 55 + 6;
                k = repeat(k, trips, 57, 4);
            } else {
                k = k * 59 + 4;
                k = k * 61 + 3;
            }
        } else {
            if (!ON(b)) {
                k = k * 63 + 3;
                k = k * 65 + 7;
            } else {
                k = k * 67 + 1;
                k = repeat(k, trips, 69, 1);
            }
        }
    }
    if (ON(d | b)) {
        if (ON(a | d)) {
            k = repeat(k, trips, 71, 6);
            if (!ON(b)) {
                k = k * 73 + 6;
                k = repeat(k, trips, 75, 1);
                k = repeat(k, trips, 77, 5);
            }
        }
        if (ON(d | b)) {
            k = k * 79 + 6;
            k = k * 81 + 9;
        } else {
            if (ON(c)) {
                k = k * 83 + 8;
                k = k * 85 + 6;
            } else {
                if (ON(d & a)) { END return; }
                k = k * 87 + 1;
            }
        }
        if (!ON(a)) {
            k = repeat(k, trips, 89, 6);
        } else {
            k = k * 91 + 6;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_54) {
    START
    if (ON(c | b)) {
        if (!ON(d)) {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(d)); ++r1) {
                k += r1;
                k = repeat(k, trips, 3, 7);
                k = k * 5 + 2;
                k = repeat(k, trips, 7, 5);
            }
        }
        switch (number) {
            case 0: k = repeat(k, trips, 9, 0);
            case 1: k = repeat(k, trips, 11, 1);
                break;
            case 2: k = repeat(k, trips, 13, 2);
                break;
            case 3: k = repeat(k, trips, 15, 3);
                break;
            case 4: k = repeat(k, trips, 17, 4);
                break;
            case 5: k = repeat(k, trips, 19, 5);
                break;
            case 6: k = repeat(k, trips, 21, 6);
            case 7: k = repeat(k, trips, 23, 7);
        }
    } else {
        k = k * 25 + 4;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_55) {
    START
    if (ON(b & c)) {
        if (ON(a | b)) {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(d | b)); ++r1) {
                k += r1;
                k = k * 3 + 5;
                k = k * 5 + 9;
                if (!ON(a) && r1 >= 0) break;
            }
            if (!ON(b)) {
                k = k * 7 + 1;
                if (ON(c & b)) { END return; }
            } else {
                k = k * 9 + 3;
            }
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (!ON(b)); ++r2) {
                k += r2;
                if (ON(a) && r2 >= 1) break;
                k = repeat(k, trips, 11, 5);
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_56) {
    START
    k = k * 3 + 8;
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(c | d)); ++r1) {
        k += r1;
        if (ON(a & b)) {
            switch (number) {
                case 0: k = repeat(k, trips, 5, 0);
                    break;
                case 1: k = repeat(k, trips, 7, 1);
                case 2: k = repeat(k, trips, 9, 2);
                    break;
                case 3: k = repeat(k, trips, 11, 3);
                    break;
                case 4: k = repeat(k, trips, 13, 4);
                    break;
                case 5: k = repeat(k, trips, 15, 5);
                    break;
                case 6: k = repeat(k, trips, 17, 6);
                case 7: k = repeat(k, trips, 19, 7);
                    break;
            }
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (!ON(b)); ++r2) {
                k += r2;
                k = k * 21 + 4;
                k = k * 23 + 4;
                if (ON(c) && r2 >= 1) continue;
            }
            switch (number) {
                case 0: k = repeat(k, trips, 25, 0);
                    break;
                case 1: k = repeat(k, trips, 27, 1);
                    break;
                case 2: k = repeat(k, trips, 29, 2);
                    break;
                case 3: k = repeat(k, trips, 31, 3);
                    break;
                case 4: k = repeat(k, trips, 33, 4);
                    break;
                case 5: k = repeat(k, trips, 35, 5);
                    break;
                case 6: k = repeat(k, trips, 37, 6);
                    break;
                case 7: k = repeat(k, trips, 39, 7);
                    break;
            }
        }
        if (ON(b & a) && r1 >= 1) break;
        if (ON(c & a)) {
            k = repeat(k, trips, 41, 1);
            if (ON(b)) {
                k = repeat(k, trips, 43, 7);
            }
        }
    }
    if (ON(a | c)) {
        if (ON(b | a)) {
            switch (number) {
                case 0: k = repeat(k, trips, 45, 0);
                    break;
                case 1: k = repeat(k, trips, 47, 1);
                    break;
                case 2: k = repeat(k, trips, 49, 2);
                    break;
                case 3: k = repeat(k, trips, 51, 3);
                case 4: k = repeat(k, trips, 53, 4);
                    break;
                case 5: k = repeat(k, trips, 55, 5);
                    break;
                case 6: k = repeat(k, trips, 57, 6);
                    break;
                case 7: k = repeat(k, trips, 59, 7);
                    break;
            }
        }
        k = k * 61 + 5;
        k = repeat(k, trips, 63, 2);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_57) {
    START
    if (ON(a & d)) {
        if (!ON(d)) {
            k = k * 3 + 8;
            switch (number) {
                case 0: k = repeat(k, trips, 5, 0);
                    break;
                case 1: k = repeat(k, trips, 7, 1);
                    break;
                case 2: k = repeat(k, trips, 9, 2);
                    break;
                case 3: k = repeat(k, trips, 11, 3);
                case 4: k = repeat(k, trips, 13, 4);
                case 5: k = repeat(k, trips, 15, 5);
                case 6: k = repeat(k, trips, 17, 6);
                    break;
                case 7: k = repeat(k, trips, 19, 7);
                    break;
            }
        } else {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(b & a)); ++r1) {
                k += r1;
                if (ON(a | c) && r1 >= 1) break;
                if (ON(c) && r1 >= 1) break;
            }
            k = k * 21 + 5;
        }
        if (ON(c & b)) {
            if (!ON(a)) {
                if (!ON(c)) { END return; }
            }
            if (ON(b)) {
                k = k * 23 + 5;
            } else {
                k = k * 25 + 4;
                k = k * 27 + 9;
            }
            k = k * 29 + 3;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_58) {
    START
    if (!ON(b)) {
        if (ON(c & b)) {
            if (ON(c)) {
                k = k * 3 + 2;
            } else {
                k = k * 5 + 6;
                k = k * 7 + 5;
            }
            if (!ON(c)) {
                k = k * 9 + 4;
                k = k * 11 + 3;
                k = k * 13 + 1;
            }
        } else {
            k = k * 15 + 8;
            switch (number) {
                case 0: k = repeat(k, trips, 17, 0);
                    break;
                case 1: k = repeat(k, trips, 19, 1);
                case 2: k = repeat(k, trips, 21, 2);
                case 3: k = repeat(k, trips, 23, 3);
                    break;
                case 4: k = repeat(k, trips, 25, 4);
                    break;
                case 5: k = repeat(k, trips, 27, 5);
                    break;
                case 6: k = repeat(k, trips, 29, 6);
                    break;
                case 7: k = repeat(k, trips, 31, 7);
                    break;
            }
        }
    }
    if (ON(d)) {
        k = k * 33 + 8;
    }
    if (ON(c | d)) {
        if (ON(b)) {
            if (ON(a)) {
                k = k * 35 + 2;
            }
        } else {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(c | d)); ++r1) {
                k += r1;
                k = repeat(k, trips, 37, 6);
                k = repeat(k, trips, 39, 2);
                k = k * 41 + 3;
            }
        }
        if (ON(c)) {
            if (!ON(b)) {
                k = k * 43 + 6;
            } else {
                k = k * 45 + 2;
                k = k * 47 + 1;
            }
            if (ON(d | b)) {
                k = repeat(k, trips, 49, 4);
            } else {
                k = k * 51 + 3;
                k = k * 53 + 2;
            }
            if (ON(a | c)) {
                k = repeat(k, trips, 55, 8);
                k = k * 57 + 9;
                k = k * 59 + 5;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_59) {
    START
    k = k * 3 + 8;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_60) {
    START
    if (!ON(b)) {
        if (!ON(a)) {
            if (!ON(a)) {
                k = repeat(k, trips, 3, 3);
            }
        }
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(a)); ++r1) {
            k += r1;
            switch (number) {
                case 0: k = repeat(k, trips, 5, 0);
                    break;
                case 1: k = repeat(k, trips, 7, 1);
                case 2: k = repeat(k, trips, 9, 2);
                    break;
                case 3: k = repeat(k, trips, 11, 3);
                    break;
                case 4: k = repeat(k, trips, 13, 4);
                    break;
                case 5: k = repeat(k, trips, 15, 5);
                case 6: k = repeat(k, trips, 17, 6);
                    break;
                case 7: k = repeat(k, trips, 19, 7);
            }
            if (ON(a & c)) {
                k = k * 21 + 9;
                k = k * 23 + 1;
            }
        }
    }
#pragma unroll 1
    for (unsigned int r2 = 0; r2 < trips + (!ON(a)); ++r2) {
        k += r2;
#pragma unroll 1
        for (unsigned int r3 = 0; r3 < trips + (ON(d | c)); ++r3) {
            k += r3;
            k = repeat(k, trips, 25, 6);
            if (ON(a | c)) {
                k = k * 27 + 2;
            } else {
                k = k * 29 + 9;
            }
#pragma unroll 1
            for (unsigned int r4 = 0; r4 < trips + (ON(d | a)); ++r4) {
                k += r4;
                k = k * 31 + 2;
            }
        }
        if (!ON(d) && r2 >= 0) break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_61) {
    START
    k = repeat(k, trips, 3, 9);
    if (ON(c & b)) {
        if (ON(c | a)) {
            k = repeat(k, trips, 5, 6);
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (!ON(a)); ++r1) {
                k += r1;
                k = k * 7 + 3;
                k = repeat(k, trips, 9, 5);
            }
        }
        if (ON(d & b)) {
            switch (number) {
                case 0: k = repeat(k, trips, 11, 0);
                    break;
                case 1: k = repeat(k, trips, 13, 1);
                    break;
                case 2: k = repeat(k, trips, 15, 2);
                    break;
                case 3: k = repeat(k, trips, 17, 3);
                    break;
                case 4: k = repeat(k, trips, 19, 4);
                    break;
                case 5: k = repeat(k, trips, 21, 5);
                    break;
                case 6: k = repeat(k, trips, 23, 6);
                    break;
                case 7: k = repeat(k, trips, 25, 7);
            }
            if (ON(b | a)) {
                k = k * 27 + 4;
                k = repeat(k, trips, 29, 6);
            } else {
                k = k * 31 + 7;
            }
            if (ON(b | a)) {
                k = repeat(k, trips, 33, 8);
                k = k * 35 + 1;
            }
        }
        if (ON(b & c)) {
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(d)); ++r2) {
                k += r2;
                k = k * 37 + 2;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_62) {
    START
    k = repeat(k, trips, 3, 2);
    if (ON(d & b)) {
        k = repeat(k, trips, 5, 1);
    }
    if (ON(b)) {
        k = k * 7 + 6;
        k = repeat(k, trips, 9, 4);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_63) {
    START
    if (ON(c | b)) {
        k = k * 3 + 2;
    } else {
        if (!ON(a)) {
            switch (number) {
                case 0: k = repeat(k, trips, 5, 0);
                    break;
                case 1: k = repeat(k, trips, 7, 1);
                case 2: k = repeat(k, trips, 9, 2);
                case 3: k = repeat(k, trips, 11, 3);
                case 4: k = repeat(k, trips, 13, 4);
                case 5: k = repeat(k, trips, 15, 5);
                    break;
                case 6: k = repeat(k, trips, 17, 6);
                    break;
                case 7: k = repeat(k, trips, 19, 7);
                    break;
            }
            if (ON(b)) {
                k = repeat(k, trips, 21, 6);
            } else {
                k = k * 23 + 1;
            }
        }
    }
    if (ON(d & a)) {
        if (ON(d & a)) {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (!ON(a)); ++r1) {
                k += r1;
                if (!ON(a) && r1 >= 1) break;
                k = k * 25 + 5;
                if (!ON(c) && r1 >= 1) break;
            }
            if (ON(a | d)) {
                k = k * 27 + 5;
                k = repeat(k, trips, 29, 9);
                k = k * 31 + 8;
            }
            if (ON(a | c)) {
                if (!ON(c)) { END return; }
                k = k * 33 + 5;
            }
        }
    } else {
        if (ON(a | c)) {
            if (ON(d & a)) {
                if (ON(c | b)) { END return; }
                k = repeat(k, trips, 35, 8);
            } else {
                if (ON(a & b)) { END return; }
                k = k * 37 + 7;
            }
            k = k * 39 + 2;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_64) {
    START
    k = k * 3 + 7;
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(a & d)); ++r1) {
        k += r1;
        if (ON(b | a) && r1 >= 1) break;
        k = k * 5 + 2;
        k = k * 7 + 2;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_65) {
    START
    if (!ON(c)) {
        if (ON(c | d)) {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (!ON(d)); ++r1) {
                k += r1;
                k = k * 3 + 5;
                if (ON(b)) { END return; }
                k = repeat(k, trips, 5, 6);
            }
        } else {
            if (ON(d | b)) {
                k = k * 7 + 6;
            }
            if (!ON(c)) {
                k = k * 9 + 9;
                k = k * 11 + 9;
                k = k * 13 + 9;
            }
        }
        if (!ON(c)) {
            if (ON(c)) {
                k = k * 15 + 5;
                k = k * 17 + 3;
            }
            if (ON(d | c)) {
                k = repeat(k, trips, 19, 2);
                k = repeat(k, trips, 21, 7);
                k = k * 23 + 8;
            }
        } else {
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(c | a)); ++r2) {
                k += r2;
                k = k * 25 + 3;
                k = repeat(k, trips, 27, 9);
                k = k * 29 + 5;
            }
            if (ON(b & d)) {
                k = k * 31 + 3;
            }
        }
    }
    if (ON(b & c)) {
        switch (number) {
            case 0: k = repeat(k, trips, 33, 0);
            case 1: k = repeat(k, trips, 35, 1);
                break;
            case 2: k = repeat(k, trips, 37, 2);
            case 3: k = repeat(k, trips, 39, 3);
                break;
            case 4: k = repeat(k, trips, 41, 4);
                break;
            case 5: k = repeat(k, trips, 43, 5);
                break;
            case 6: k = repeat(k, trips, 45, 6);
            case 7: k = repeat(k, trips, 47, 7);
        }
    } else {
        if (ON(a & b)) {
            if (ON(a & c)) {
                k = repeat(k, trips, 49, 9);
            } else {
                k = repeat(k, trips, 51, 5);
            }
            if (ON(b & a)) {
                if (ON(b | d)) { END return; }
                k = repeat(k, trips, 53, 9);
            }
        }
        if (ON(b)) {
            if (ON(c | a)) { END return; }
            k = repeat(k, trips, 55, 1);
            if (ON(b)) {
                k = k * 57 + 1;
            } else {
                k = k * 59 + 1;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_66) {
    START
    if (ON(d | a)) {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(a | c)); ++r1) {
            k += r1;
            k = repeat(k, trips, 3, 2);
        }
        k = repeat(k, trips, 5, 7);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_67) {
    START
    k = k * 3 + 7;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_68) {
    START
    if (!ON(a)) {
        if (ON(d & c)) {
            k = k * 3 + 1;
        }
        if (ON(a)) {
            k = repeat(k, trips, 5, 4);
        } else {
            if (ON(d | c)) {
                k = repeat(k, trips, 7, 1);
            } else {
                k = k * 9 + 3;
            }
        }
    } else {
        if (ON(d & c)) {
            if (ON(d)) {
                k = repeat(k, trips, 11, 1);
                if (!ON(d)) { END return; }
            } else {
                k = k * 13 + 6;
            }
        } else {
            switch (number) {
                case 0: k = repeat(k, trips, 15, 0);
                    break;
                case 1: k = repeat(k, trips, 17, 1);
                    break;
                case 2: k = repeat(k, trips, 19, 2);
                    break;
                case 3: k = repeat(k, trips, 21, 3);
                    break;
                case 4: k = repeat(k, trips, 23, 4);
                case 5: k = repeat(k, trips, 25, 5);
                    break;
                case 6: k = repeat(k, trips, 27, 6);
                    break;
                case 7: k = repeat(k, trips, 29, 7);
            }
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (!ON(a)); ++r1) {
                k += r1;
                k = k * 31 + 6;
                k = repeat(k, trips, 33, 2);
                k = k * 35 + 5;
            }
        }
    }
    switch (number) {
        case 0: k = repeat(k, trips, 37, 0);
        case 1: k = repeat(k, trips, 39, 1);
        case 2: k = repeat(k, trips, 41, 2);
            break;
        case 3: k = repeat(k, trips, 43, 3);
            break;
        case 4: k = repeat(k, trips, 45, 4);
            break;
        case 5: k = repeat(k, trips, 47, 5);
            break;
        case 6: k = repeat(k, trips, 49, 6);
            break;
        case 7: k = repeat(k, trips, 51, 7);
    }
    if (ON(a & c)) {
        k = k * 53 + 3;
        if (!ON(c)) {
            switch (number) {
                case 0: k = repeat(k, trips, 55, 0);
                case 1: k = repeat(k, trips, 57, 1);
                    break;
                case 2: k = repeat(k, trips, 59, 2);
                    break;
                case 3: k = repeat(k, trips, 61, 3);
                case 4: k = repeat(k, trips, 63, 4);
                    break;
                case 5: k = repeat(k, trips, 65, 5);
                case 6: k = repeat(k, trips, 67, 6);
                    break;
                case 7: k = repeat(k, trips, 69, 7);
                    break;
            }
            if (ON(c)) {
                if (ON(b & a)) { END return; }
            }
        } else {
            if (ON(a)) {
                k = k * 71 + 6;
                k = k * 73 + 3;
            } else {
                k = k * 75 + 2;
            }
            if (ON(a | b)) {
                k = k * 77 + 2;
                k = k * 79 + 5;
            } else {
                k = k * 81 + 6;
                k = k * 83 + 2;
            }
        }
        if (!ON(b)) {
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(b)); ++r2) {
                k += r2;
                k = k * 85 + 4;
            }
            if (ON(a & b)) {
                k = k * 87 + 7;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_69) {
    START
    k = k * 3 + 2;
    k = repeat(k, trips, 5, 2);
    switch (number) {
        case 0: k = repeat(k, trips, 7, 0);
            break;
        case 1: k = repeat(k, trips, 9, 1);
        case 2: k = repeat(k, trips, 11, 2);
        case 3: k = repeat(k, trips, 13, 3);
        case 4: k = repeat(k, trips, 15, 4);
            break;
        case 5: k = repeat(k, trips, 17, 5);
            break;
        case 6: k = repeat(k, trips, 19, 6);
            break;
        case 7: k = repeat(k, trips, 21, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_70) {
    START
    if (!ON(d)) {
        k = repeat(k, trips, 3, 4);
        if (ON(d | a)) {
            if (ON(d)) {
                k = repeat(k, trips, 5, 5);
            }
        } else {
            if (ON(a)) {
                k = repeat(k, trips, 7, 4);
            } else {
                k = repeat(k, trips, 9, 7);
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_71) {
    START
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (!ON(a)); ++r1) {
        k += r1;
        if (!ON(a)) {
            if (!ON(c)) { END return; }
            k = repeat(k, trips, 3, 1);
            k = k * 5 + 7;
        }
    }
    switch (number) {
        case 0: k = repeat(k, trips, 7, 0);
            break;
        case 1: k = repeat(k, trips, 9, 1);
            break;
        case 2: k = repeat(k, trips, 11, 2);
        case 3: k = repeat(k, trips, 13, 3);
            break;
        case 4: k = repeat(k, trips, 15, 4);
        case 5: k = repeat(k, trips, 17, 5);
        case 6: k = repeat(k, trips, 19, 6);
            break;
        case 7: k = repeat(k, trips, 21, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_72) {
    START
    switch (number) {
        case 0: k = repeat(k, trips, 3, 0);
        case 1: k = repeat(k, trips, 5, 1);
            break;
        case 2: k = repeat(k, trips, 7, 2);
            break;
        case 3: k = repeat(k, trips, 9, 3);
            break;
        case 4: k = repeat(k, trips, 11, 4);
            break;
        case 5: k = repeat(k, trips, 13, 5);
        case 6: k = repeat(k, trips, 15, 6);
        case 7: k = repeat(k, trips, 17, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_73) {
    START
    k = k * 3 + 9;
    if (ON(b & d)) {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(b)); ++r1) {
            k += r1;
            k = k * 5 + 7;
        }
    } else {
        if (ON(d)) {
            if (ON(a & b)) {
                k = k * 7 + 1;
                k = k * 9 + 5;
            }
            if (ON(b | c)) {
                k = k * 11 + 4;
            }
        } else {
            if (!ON(d)) {
                k = k * 13 + 1;
                k = k * 15 + 7;
            } else {
                k = k * 17 + 6;
            }
        }
        if (!ON(d)) {
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(c | b)); ++r2) {
                k += r2;
                k = k * 19 + 8;
                k = k * 21 + 2;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_74) {
    START
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(a)); ++r1) {
        k += r1;
        if (ON(c | a)) {
            if (ON(d & a)) {
                k = k * 3 + 9;
                k = k * 5 + 8;
            }
            switch (number) {
                case 0: k = repeat(k, trips, 7, 0);
                    break;
                case 1: k = repeat(k, trips, 9, 1);
                    break;
                case 2: k = repeat(k, trips, 11, 2);
                case 3: k = repeat(k, trips, 13, 3);
                case 4: k = repeat(k, trips, 15, 4);
                    break;
                case 5: k = repeat(k, trips, 17, 5);
                case 6: k = repeat(k, trips, 19, 6);
                case 7: k = repeat(k, trips, 21, 7);
            }
        }
        if (ON(c)) {
            k = k * 23 + 7;
        }
    }
    switch (number) {
        case 0: k = repeat(k, trips, 25, 0);
            break;
        case 1: k = repeat(k, trips, 27, 1);
            break;
        case 2: k = repeat(k, trips, 29, 2);
            break;
        case 3: k = repeat(k, trips, 31, 3);
            break;
        case 4: k = repeat(k, trips, 33, 4);
        case 5: k = repeat(k, trips, 35, 5);
            break;
        case 6: k = repeat(k, trips, 37, 6);
            break;
        case 7: k = repeat(k, trips, 39, 7);
            break;
    }
    if (ON(b | a)) {
        k = repeat(k, trips, 41, 4);
        k = k * 43 + 5;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_75) {
    START
    switch (number) {
        case 0: k = repeat(k, trips, 3, 0);
            break;
        case 1: k = repeat(k, trips, 5, 1);
            break;
        case 2: k = repeat(k, trips, 7, 2);
        case 3: k = repeat(k, trips, 9, 3);
            break;
        case 4: k = repeat(k, trips, 11, 4);
            break;
        case 5: k = repeat(k, trips, 13, 5);
            break;
        case 6: k = repeat(k, trips, 15, 6);
            break;
        case 7: k = repeat(k, trips, 17, 7);
    }
    if (ON(a & c)) {
        if (ON(d & c)) {
            if (ON(d | a)) {
                k = k * 19 + 4;
                k = k * 21 + 5;
                k = repeat(k, trips, 23, 3);
            }
            k = k * 25 + 5;
            k = k * 27 + 2;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_76) {
    START
    if (ON(d & a)) {
        if (ON(c | b)) {
            if (ON(c & a)) {
                if (!ON(d)) { END return; }
                k = k * 3 + 1;
                if (!ON(b)) { END return; }
            }
            k = k * 5 + 5;
        }
    } else {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(a)); ++r1) {
            k += r1;
            if (ON(d | a)) {
                k = k * 7 + 1;
                if (ON(b & d) && r1 >= 1) break;
            } else {
                k = k * 9 + 1;
            }
        }
    }
    k = repeat(k, trips, 11, 9);
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_77) {
    START
    if (!ON(b)) {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(b)); ++r1) {
            k += r1;
            if (ON(b | a)) {
                k = k * 3 + 2;
            } else {
                k = k * 5 + 4;
                k = k * 7 + 4;
            }
            if (!ON(a)) {
                k = k * 9 + 8;
                k = k * 11 + 5;
            } else {
                k = k * 13 + 6;
                k = k * 15 + 7;
            }
        }
    }
    switch (number) {
        case 0: k = repeat(k, trips, 17, 0);
        case 1: k = repeat(k, trips, 19, 1);
            break;
        case 2: k = repeat(k, trips, 21, 2);
            break;
        case 3: k = repeat(k, trips, 23, 3);
            break;
        case 4: k = repeat(k, trips, 25, 4);
        case 5: k = repeat(k, trips, 27, 5);
        case 6: k = repeat(k, trips, 29, 6);
            break;
        case 7: k = repeat(k, trips, 31, 7);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_78) {
    START
    k = k * 3 + 5;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_79) {
    START
    if (!ON(c)) {
        if (ON(b & a)) {
            if (ON(c | a)) {
                k = k * 3 + 2;
                k = k * 5 + 8;
            } else {
                k = repeat(k, trips, 7, 6);
            }
        } else {
            k = k * 9 + 8;
            k = k * 11 + 4;
        }
    } else {
        if (ON(b & c)) {
            k = k * 13 + 1;
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (!ON(c)); ++r1) {
                k += r1;
                k = repeat(k, trips, 15, 6);
                k = k * 17 + 9;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_80) {
    START
    if (ON(d & b)) {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(d)); ++r1) {
            k += r1;
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(a | d)); ++r2) {
                k += r2;
                k = k * 3 + 4;
                k = k * 5 + 4;
                k = k * 7 + 6;
            }
            k = k * 9 + 1;
        }
        if (ON(c)) {
            k = k * 11 + 4;
#pragma unroll 1
            for (unsigned int r3 = 0; r3 < trips + (ON(c)); ++r3) {
                k += r3;
                k = repeat(k, trips, 13, 8);
                k = repeat(k, trips, 15, 1);
            }
        }
    } else {
        k = k * 17 + 2;
    }
    k = k * 19 + 3;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_81) {
    START
    if (ON(c | d)) {
        k = repeat(k, trips, 3, 3);
        switch (number) {
            case 0: k = repeat(k, trips, 5, 0);
                break;
            case 1: k = repeat(k, trips, 7, 1);
                break;
            case 2: k = repeat(k, trips, 9, 2);
            case 3: k = repeat(k, trips, 11, 3);
                break;
            case 4: k = repeat(k, trips, 13, 4);
                break;
            case 5: k = repeat(k, trips, 15, 5);
                break;
            case 6: k = repeat(k, trips, 17, 6);
                break;
            case 7: k = repeat(k, trips, 19, 7);
        }
    } else {
        if (!ON(b)) {
            if (ON(d | a)) {
                k = repeat(k, trips, 21, 5);
                k = repeat(k, trips, 23, 2);
            }
            if (!ON(c)) {
                k = k * 25 + 4;
            } else {
                k = repeat(k, trips, 27, 5);
            }
            k = k * 29 + 1;
        }
    }
    if (ON(b)) {
        k = k * 31 + 6;
        k = k * 33 + 4;
    } else {
        if (ON(c | a)) {
            if (ON(a | d)) {
                k = k * 35 + 1;
                k = repeat(k, trips, 37, 7);
                k = k * 39 + 4;
            }
        } else {
            if (!ON(c)) {
                k = k * 41 + 2;
            } else {
                k = k * 43 + 1;
            }
            if (ON(b | a)) {
                k = k * 45 + 7;
            }
        }
        if (ON(b & a)) {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(a | b)); ++r1) {
                k += r1;
                if (!ON(a) && r1 >= 1) break;
                k = repeat(k, trips, 47, 9);
            }
            if (!ON(b)) {
                k = k * 49 + 4;
            } else {
                k = k * 51 + 2;
                k = k * 53 + 8;
            }
            if (ON(b | a)) {
                k = k * 55 + 4;
                k = k * 57 + 8;
            }
        }
    }
    if (ON(c & b)) {
        if (ON(b)) {
            if (!ON(b)) {
                k = k * 59 + 5;
                k = k * 61 + 1;
                k = k * 63 + 5;
            }
            if (ON(c | b)) {
                k = repeat(k, trips, 65, 1);
            }
        }
        if (ON(c)) {
            if (!ON(a)) {
                k = repeat(k, trips, 67, 5);
                k = repeat(k, trips, 69, 4);
            }
            if (ON(d)) {
                k = k * 71 + 9;
            }
            if (ON(d & a)) {
                k = k * 73 + 7;
            } else {
                k = k * 75 + 5;
                k = repeat(k, trips, 77, 2);
            }
        }
    } else {
        if (!ON(c)) {
            k = k * 79 + 6;
        } else {
            k = k * 81 + 7;
            k = repeat(k, trips, 83, 5);
        }
        if (ON(b)) {
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(a | b)); ++r2) {
                k += r2;
                k = repeat(k, trips, 85, 2);
                if (!ON(b) && r2 >= 1) break;
            }
        } else {
            k = repeat(k, trips, 87, 6);
            if (ON(a)) {
                k = repeat(k, trips, 89, 8);
                k = k * 91 + 9;
            } else {
                if (ON(c)) { END return; }
                k = k * 93 + 9;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_82) {
    START
    if (!ON(c)) {
        k = k * 3 + 7;
        k = k * 5 + 4;
    } else {
        k = repeat(k, trips, 7, 2);
        if (ON(c)) {
            k = k * 9 + 4;
            if (ON(a & c)) {
                k = k * 11 + 7;
                k = repeat(k, trips, 13, 7);
                k = repeat(k, trips, 15, 5);
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_83) {
    START
    if (ON(a | d)) {
        if (!ON(b)) { END return; }
    } else {
        k = k * 3 + 7;
        if (!ON(b)) {
            k = k * 5 + 1;
            if (!ON(c)) {
                k = repeat(k, trips, 7, 6);
                k = k * 9 + 7;
            } else {
                k = k * 11 + 1;
            }
        }
    }
    if (ON(d | a)) {
        k = k * 13 + 8;
        if (ON(b & a)) {
            k = k * 15 + 3;
            if (ON(a & d)) {
                k = repeat(k, trips, 17, 7);
                k = repeat(k, trips, 19, 6);
            } else {
                k = repeat(k, trips, 21, 5);
            }
        } else {
            if (ON(d)) {
                k = k * 23 + 8;
            } else {
                k = repeat(k, trips, 25, 8);
            }
        }
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(d)); ++r1) {
            k += r1;
            switch (number) {
                case 0: k = repeat(k, trips, 27, 0);
                    break;
                case 1: k = repeat(k, trips, 29, 1);
                    break;
                case 2: k = repeat(k, trips, 31, 2);
                    break;
                case 3: k = repeat(k, trips, 33, 3);
                case 4: k = repeat(k, trips, 35, 4);
                    break;
                case 5: k = repeat(k, trips, 37, 5);
                    break;
                case 6: k = repeat(k, trips, 39, 6);
                case 7: k = repeat(k, trips, 41, 7);
            }
            k = k * 43 + 9;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_84) {
    START
    if (ON(a)) {
        if (ON(b | d)) {
            if (ON(b & c)) {
                k = repeat(k, trips, 3, 6);
                k = k * 5 + 8;
                k = k * 7 + 3;
            }
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(c)); ++r1) {
                k += r1;
                if (ON(c) && r1 >= 1) break;
            }
            k = k * 9 + 9;
        }
#pragma unroll 1
        for (unsigned int r2 = 0; r2 < trips + (ON(a | d)); ++r2) {
            k += r2;
            if (!ON(b) && r2 >= 0) continue;
        }
        if (ON(c & d)) {
            if (ON(d)) {
                k = k * 11 + 5;
            } else {
                k = k * 13 + 7;
            }
        }
    }
#pragma unroll 1
    for (unsigned int r3 = 0; r3 < trips + (ON(d & b)); ++r3) {
        k += r3;
        if (ON(c) && r3 >= 1) break;
#pragma unroll 1
        for (unsigned int r4 = 0; r4 < trips + (ON(c)); ++r4) {
            k += r4;
            if (ON(c & b)) {
                k = k * 15 + 7;
                k = repeat(k, trips, 17, 2);
            } else {
                if (ON(d | a) && r4 >= 1) break;
            }
            k = k * 19 + 9;
            if (!ON(c)) {
                k = k * 21 + 8;
                k = repeat(k, trips, 23, 4);
            }
        }
    }
    if (ON(c)) {
        if (ON(a)) {
            if (ON(c)) {
                k = k * 25 + 8;
                k = k * 27 + 5;
                k = k * 29 + 2;
            }
        }
        if (!ON(c)) {
            if (ON(a & b)) {
                k = k * 31 + 8;
                k = k * 33 + 5;
            } else {
                k = k * 35 + 1;
            }
            k = k * 37 + 7;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_85) {
    START
    switch (number) {
        case 0: k = repeat(k, trips, 3, 0);
        case 1: k = repeat(k, trips, 5, 1);
            break;
        case 2: k = repeat(k, trips, 7, 2);
        case 3: k = repeat(k, trips, 9, 3);
            break;
        case 4: k = repeat(k, trips, 11, 4);
        case 5: k = repeat(k, trips, 13, 5);
        case 6: k = repeat(k, trips, 15, 6);
            break;
        case 7: k = repeat(k, trips, 17, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_86) {
    START
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(c)); ++r1) {
        k += r1;
        if (ON(d) && r1 >= 1) break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_87) {
    START
    if (ON(a & b)) {
        if (ON(a)) {
            k = k * 3 + 8;
            k = k * 5 + 4;
        }
        k = repeat(k, trips, 7, 9);
        if (ON(a & c)) {
            if (ON(c | d)) {
                k = k * 9 + 8;
            } else {
                k = repeat(k, trips, 11, 2);
                k = k * 13 + 1;
            }
            if (ON(d)) {
                k = k * 15 + 1;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_88) {
    START
    if (ON(c)) {
        k = k * 3 + 6;
        k = repeat(k, trips, 5, 4);
        k = k * 7 + 3;
    }
    switch (number) {
        case 0: k = repeat(k, trips, 9, 0);
            break;
        case 1: k = repeat(k, trips, 11, 1);
            break;
        case 2: k = repeat(k, trips, 13, 2);
            break;
        case 3: k = repeat(k, trips, 15, 3);
            break;
        case 4: k = repeat(k, trips, 17, 4);
            break;
        case 5: k = repeat(k, trips, 19, 5);
            break;
        case 6: k = repeat(k, trips, 21, 6);
        case 7: k = repeat(k, trips, 23, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_89) {
    START
    switch (number) {
        case 0: k = repeat(k, trips, 3, 0);
        case 1: k = repeat(k, trips, 5, 1);
            break;
        case 2: k = repeat(k, trips, 7, 2);
            break;
        case 3: k = repeat(k, trips, 9, 3);
            break;
        case 4: k = repeat(k, trips, 11, 4);
        case 5: k = repeat(k, trips, 13, 5);
            break;
        case 6: k = repeat(k, trips, 15, 6);
            break;
        case 7: k = repeat(k, trips, 17, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_90) {
    START
    k = k * 3 + 8;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_91) {
    START
    switch (number) {
        case 0: k = repeat(k, trips, 3, 0);
            break;
        case 1: k = repeat(k, trips, 5, 1);
            break;
        case 2: k = repeat(k, trips, 7, 2);
            break;
        case 3: k = repeat(k, trips, 9, 3);
        case 4: k = repeat(k, trips, 11, 4);
        case 5: k = repeat(k, trips, 13, 5);
        case 6: k = repeat(k, trips, 15, 6);
            break;
        case 7: k = repeat(k, trips, 17, 7);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_92) {
    START
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(c)); ++r1) {
        k += r1;
        k = repeat(k, trips, 3, 2);
        if (ON(a) && r1 >= 0) break;
        k = repeat(k, trips, 5, 3);
    }
    if (!ON(d)) {
        k = repeat(k, trips, 7, 8);
    } else {
        if (!ON(a)) {
            k = repeat(k, trips, 9, 4);
        } else {
            k = k * 11 + 7;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_93) {
    START
    switch (number) {
        case 0: k = repeat(k, trips, 3, 0);
        case 1: k = repeat(k, trips, 5, 1);
        case 2: k = repeat(k, trips, 7, 2);
            break;
        case 3: k = repeat(k, trips, 9, 3);
            break;
        case 4: k = repeat(k, trips, 11, 4);
            break;
        case 5: k = repeat(k, trips, 13, 5);
        case 6: k = repeat(k, trips, 15, 6);
            break;
        case 7: k = repeat(k, trips, 17, 7);
            break;
    }
    k = k * 19 + 6;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_94) {
    START
    k = repeat(k, trips, 3, 2);
    if (ON(c)) {
        if (ON(d & c)) {
            k = k * 5 + 7;
            if (ON(c)) {
                k = repeat(k, trips, 7, 3);
                k = k * 9 + 5;
            } else {
                k = k * 11 + 2;
                k = k * 13 + 6;
            }
            k = k * 15 + 5;
        }
        if (ON(a & b)) {
            k = k * 17 + 3;
        }
        if (ON(b)) {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(a & c)); ++r1) {
                k += r1;
                if (!ON(b)) { END return; }
            }
        } else {
            switch (number) {
                case 0: k = repeat(k, trips, 19, 0);
                    break;
                case 1: k = repeat(k, trips, 21, 1);
                case 2: k = repeat(k, trips, 23, 2);
                    break;
                case 3: k = repeat(k, trips, 25, 3);
                    break;
                case 4: k = repeat(k, trips, 27, 4);
                    break;
                case 5: k = repeat(k, trips, 29, 5);
                    break;
                case 6: k = repeat(k, trips, 31, 6);
                case 7: k = repeat(k, trips, 33, 7);
                    break;
            }
        }
    }
    if (ON(b & d)) {
        if (ON(b & c)) { END return; }
        if (!ON(b)) {
            if (ON(a & c)) {
                k = repeat(k, trips, 35, 1);
                k = k * 37 + 4;
            }
            switch (number) {
                case 0: k = repeat(k, trips, 39, 0);
                    break;
                case 1: k = repeat(k, trips, 41, 1);
                    break;
                case 2: k = repeat(k, trips, 43, 2);
                    break;
                case 3: k = repeat(k, trips, 45, 3);
                    break;
                case 4: k = repeat(k, trips, 47, 4);
                    break;
                case 5: k = repeat(k, trips, 49, 5);
                case 6: k = repeat(k, trips, 51, 6);
                    break;
                case 7: k = repeat(k, trips, 53, 7);
                    break;
            }
        } else {
            if (ON(a)) {
                k = k * 55 + 2;
            } else {
                k = k * 57 + 9;
                k = repeat(k, trips, 59, 6);
            }
        }
    } else {
        k = repeat(k, trips, 61, 8);
        if (ON(c)) {
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (!ON(b)); ++r2) {
                k += r2;
                if (ON(c) && r2 >= 1) break;
                k = k * 63 + 1;
            }
        } else {
            if (!ON(a)) {
                k = k * 65 + 4;
                k = k * 67 + 6;
                k = repeat(k, trips, 69, 9);
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_95) {
    START
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(b)); ++r1) {
        k += r1;
        switch (number) {
            case 0: k = repeat(k, trips, 3, 0);
                break;
            case 1: k = repeat(k, trips, 5, 1);
                break;
            case 2: k = repeat(k, trips, 7, 2);
                break;
            case 3: k = repeat(k, trips, 9, 3);
                break;
            case 4: k = repeat(k, trips, 11, 4);
                break;
            case 5: k = repeat(k, trips, 13, 5);
                break;
            case 6: k = repeat(k, trips, 15, 6);
                break;
            case 7: k = repeat(k, trips, 17, 7);
                break;
        }
    }
    if (!ON(c)) {
        if (ON(b | c)) {
            k = repeat(k, trips, 19, 2);
            if (ON(d)) {
                k = repeat(k, trips, 21, 9);
            }
            if (ON(c | a)) {
                k = k * 23 + 3;
                k = k * 25 + 1;
                k = k * 27 + 7;
            }
        }
    } else {
        switch (number) {
            case 0: k = repeat(k, trips, 29, 0);
                break;
            case 1: k = repeat(k, trips, 31, 1);
                break;
            case 2: k = repeat(k, trips, 33, 2);
            case 3: k = repeat(k, trips, 35, 3);
                break;
            case 4: k = repeat(k, trips, 37, 4);
                break;
            case 5: k = repeat(k, trips, 39, 5);
                break;
            case 6: k = repeat(k, trips, 41, 6);
            case 7: k = repeat(k, trips, 43, 7);
                break;
        }
    }
    if (ON(b & c)) {
#pragma unroll 1
        for (unsigned int r2 = 0; r2 < trips + (!ON(b)); ++r2) {
            k += r2;
            k = repeat(k, trips, 45, 9);
        }
        k = k * 47 + 1;
    } else {
        if (ON(a & b)) {
            if (ON(b)) {
                k = repeat(k, trips, 49, 3);
                k = repeat(k, trips, 51, 7);
            } else {
                k = repeat(k, trips, 53, 8);
                k = repeat(k, trips, 55, 8);
            }
        } else {
#pragma unroll 1
            for (unsigned int r3 = 0; r3 < trips + (ON(c & a)); ++r3) {
                k += r3;
                if (!ON(c) && r3 >= 0) break;
            }
            if (ON(a | d)) {
                k = k * 57 + 6;
                k = k * 59 + 9;
                k = k * 61 + 5;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}
