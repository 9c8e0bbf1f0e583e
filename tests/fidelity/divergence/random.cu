// Made by scripts/divergence/generate.py: warps that divide at random. See divergence.h.

#include "divergence.h"

KERNEL(random_0) {
    START
    if (ON(a | b)) {
        if (!ON(d)) {
            k = repeat(k, trips, 3, 2);
            if (ON(b)) {
                k = repeat(k, trips, 5, 8);
                k = k * 7 + 7;
                k = repeat(k, trips, 9, 4);
            }
            if (ON(d & c)) {
                k = repeat(k, trips, 11, 1);
            } else {
                k = k * 13 + 1;
            }
        }
        if (ON(b & c)) {
            if (!ON(b)) {
                k = k * 15 + 6;
                k = k * 17 + 2;
                k = k * 19 + 2;
            }
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(b & c)); ++r1) {
                k += r1;
                if (!ON(b) && r1 >= 0) break;
                k = k * 21 + 5;
            }
            k = k * 23 + 3;
        }
    } else {
        k = k * 25 + 9;
    }
    if (!ON(c)) {
        switch (number) {
            case 0: k = repeat(k, trips, 27, 0);
            case 1: k = repeat(k, trips, 29, 1);
                break;
            case 2: k = repeat(k, trips, 31, 2);
                break;
            case 3: k = repeat(k, trips, 33, 3);
                break;
            case 4: k = repeat(k, trips, 35, 4);
                break;
            case 5: k = repeat(k, trips, 37, 5);
            case 6: k = repeat(k, trips, 39, 6);
            case 7: k = repeat(k, trips, 41, 7);
                break;
        }
    } else {
        if (!ON(c)) {
            k = k * 43 + 4;
        } else {
            if (ON(d)) {
                k = k * 45 + 1;
            }
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(a)); ++r2) {
                k += r2;
                k = k * 47 + 7;
                k = k * 49 + 1;
                k = k * 51 + 3;
            }
        }
        if (ON(b)) {
            switch (number) {
                case 0: k = repeat(k, trips, 53, 0);
                    break;
                case 1: k = repeat(k, trips, 55, 1);
                    break;
                case 2: k = repeat(k, trips, 57, 2);
                    break;
                case 3: k = repeat(k, trips, 59, 3);
                    break;
                case 4: k = repeat(k, trips, 61, 4);
                    break;
                case 5: k = repeat(k, trips, 63, 5);
                    break;
                case 6: k = repeat(k, trips, 65, 6);
                    break;
                case 7: k = repeat(k, trips, 67, 7);
                    break;
            }
        } else {
            if (ON(b & d)) {
                k = repeat(k, trips, 69, 3);
                k = k * 71 + 1;
            } else {
                k = k * 73 + 9;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_1) {
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
            break;
        case 6: k = repeat(k, trips, 15, 6);
        case 7: k = repeat(k, trips, 17, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_2) {
    START
    k = k * 3 + 2;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_3) {
    START
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
        case 7: k = repeat(k, trips, 17, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_4) {
    START
    if (ON(a | c)) {
        k = k * 3 + 1;
        if (ON(a & d)) {
            k = k * 5 + 5;
            k = k * 7 + 5;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_5) {
    START
    if (ON(c)) {
        if (ON(a)) {
            if (ON(d)) {
                k = repeat(k, trips, 3, 4);
                k = k * 5 + 7;
                k = k * 7 + 3;
            }
            if (ON(b)) {
                k = k * 9 + 3;
            } else {
                k = k * 11 + 9;
            }
        }
        if (!ON(b)) {
            if (!ON(d)) {
                k = repeat(k, trips, 13, 1);
                k = repeat(k, trips, 15, 6);
            }
            if (ON(c & b)) {
                k = repeat(k, trips, 17, 3);
            }
        }
    }
    k = k * 19 + 5;
    k = k * 21 + 6;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_6) {
    START
    k = k * 3 + 8;
    if (!ON(a)) {
        if (ON(c & a)) {
            if (ON(a & d)) {
                k = k * 5 + 2;
            } else {
                k = k * 7 + 8;
                k = k * 9 + 5;
            }
            k = k * 11 + 4;
        }
        if (ON(d)) {
            switch (number) {
                case 0: k = repeat(k, trips, 13, 0);
                    break;
                case 1: k = repeat(k, trips, 15, 1);
                    break;
                case 2: k = repeat(k, trips, 17, 2);
                    break;
                case 3: k = repeat(k, trips, 19, 3);
                    break;
                case 4: k = repeat(k, trips, 21, 4);
                    break;
                case 5: k = repeat(k, trips, 23, 5);
                    break;
                case 6: k = repeat(k, trips, 25, 6);
                    break;
                case 7: k = repeat(k, trips, 27, 7);
                    break;
            }
            if (!ON(d)) {
                k = repeat(k, trips, 29, 9);
            } else {
                k = k * 31 + 1;
            }
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(c | b)); ++r1) {
                k += r1;
                k = k * 33 + 8;
                if (ON(d | a) && r1 >= 0) continue;
                k = k * 35 + 8;
            }
        }
        if (ON(a | c)) {
            if (ON(a & d)) {
                k = k * 37 + 1;
                k = k * 39 + 5;
            } else {
                k = repeat(k, trips, 41, 8);
                k = repeat(k, trips, 43, 5);
            }
            if (ON(d | b)) {
                k = repeat(k, trips, 45, 7);
                k = repeat(k, trips, 47, 8);
            } else {
                k = k * 49 + 7;
                k = k * 51 + 6;
            }
        } else {
            k = repeat(k, trips, 53, 5);
            switch (number) {
                case 0: k = repeat(k, trips, 55, 0);
                    break;
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
            }
        }
    }
    switch (number) {
        case 0: k = repeat(k, trips, 71, 0);
            break;
        case 1: k = repeat(k, trips, 73, 1);
            break;
        case 2: k = repeat(k, trips, 75, 2);
        case 3: k = repeat(k, trips, 77, 3);
            break;
        case 4: k = repeat(k, trips, 79, 4);
            break;
        case 5: k = repeat(k, trips, 81, 5);
        case 6: k = repeat(k, trips, 83, 6);
        case 7: k = repeat(k, trips, 85, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_7) {
    START
    k = repeat(k, trips, 3, 7);
    k = k * 5 + 2;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_8) {
    START
    if (!ON(d)) {
        k = repeat(k, trips, 3, 4);
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(b)); ++r1) {
            k += r1;
            if (!ON(d)) {
                k = k * 5 + 1;
                if (ON(d) && r1 >= 1) break;
            } else {
                k = k * 7 + 7;
            }
            if (ON(a)) {
                k = k * 9 + 8;
                k = k * 11 + 3;
            } else {
                k = k * 13 + 8;
            }
        }
        k = repeat(k, trips, 15, 8);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_9) {
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
        case 6: k = repeat(k, trips, 15, 6);
            break;
        case 7: k = repeat(k, trips, 17, 7);
            break;
    }
    switch (number) {
        case 0: k = repeat(k, trips, 19, 0);
        case 1: k = repeat(k, trips, 21, 1);
        case 2: k = repeat(k, trips, 23, 2);
            break;
        case 3: k = repeat(k, trips, 25, 3);
        case 4: k = repeat(k, trips, 27, 4);
        case 5: k = repeat(k, trips, 29, 5);
            break;
        case 6: k = repeat(k, trips, 31, 6);
            break;
        case 7: k = repeat(k, trips, 33, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_10) {
    START
    k = k * 3 + 7;
    if (ON(a | d)) {
        k = repeat(k, trips, 5, 1);
        if (ON(a & d)) {
            k = repeat(k, trips, 7, 6);
        }
    } else {
        if (ON(d & a)) {
            if (ON(b | d)) {
                k = k * 9 + 3;
            } else {
                k = k * 11 + 9;
            }
            if (ON(c | d)) {
                k = repeat(k, trips, 13, 6);
                k = k * 15 + 4;
            }
            if (ON(a | d)) {
                k = repeat(k, trips, 17, 2);
                k = k * 19 + 3;
            }
        }
        if (ON(b)) {
            if (ON(c | b)) {
                k = k * 21 + 3;
                k = k * 23 + 2;
            }
            if (!ON(b)) {
                k = k * 25 + 6;
            }
        }
    }
    if (ON(b)) {
        if (ON(a | b)) {
            if (!ON(d)) {
                k = repeat(k, trips, 27, 8);
                if (!ON(d)) { END return; }
            } else {
                k = k * 29 + 9;
                k = repeat(k, trips, 31, 3);
            }
            k = k * 33 + 7;
        }
        k = k * 35 + 8;
    } else {
        k = k * 37 + 3;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_11) {
    START
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (!ON(d)); ++r1) {
        k += r1;
        if (ON(b | a)) {
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(a | c)); ++r2) {
                k += r2;
                k = k * 3 + 1;
                k = k * 5 + 1;
            }
            if (ON(a & b)) {
                k = k * 7 + 9;
                k = repeat(k, trips, 9, 8);
            }
        } else {
            if (ON(c)) {
                k = k * 11 + 9;
                k = k * 13 + 2;
            } else {
                k = repeat(k, trips, 15, 7);
                k = k * 17 + 1;
            }
        }
    }
    if (ON(b | a)) {
        if (!ON(d)) {
            if (ON(c | a)) {
                k = k * 19 + 1;
            }
            if (!ON(b)) {
                k = repeat(k, trips, 21, 3);
                k = k * 23 + 2;
            } else {
                k = k * 25 + 1;
                k = repeat(k, trips, 27, 5);
            }
        } else {
            if (!ON(a)) {
                k = k * 29 + 6;
            } else {
                k = k * 31 + 2;
                k = repeat(k, trips, 33, 4);
            }
        }
        if (ON(c | d)) {
            if (!ON(b)) {
                k = k * 35 + 4;
            } else {
                k = repeat(k, trips, 37, 9);
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_12) {
    START
    if (ON(c | a)) {
        if (ON(c | d)) {
            switch (number) {
                case 0: k = repeat(k, trips, 3, 0);
                    break;
                case 1: k = repeat(k, trips, 5, 1);
                    break;
                case 2: k = repeat(k, trips, 7, 2);
                    break;
                case 3: k = repeat(k, trips, 9, 3);
                case 4: k = repeat(k, trips, 11, 4);
                    break;
                case 5: k = repeat(k, trips, 13, 5);
                case 6: k = repeat(k, trips, 15, 6);
                    break;
                case 7: k = repeat(k, trips, 17, 7);
                    break;
            }
        } else {
            k = k * 19 + 1;
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(b | a)); ++r1) {
                k += r1;
                if (!ON(c) && r1 >= 0) break;
                k = k * 21 + 7;
            }
        }
    }
    switch (number) {
        case 0: k = repeat(k, trips, 23, 0);
            break;
        case 1: k = repeat(k, trips, 25, 1);
            break;
        case 2: k = repeat(k, trips, 27, 2);
            break;
        case 3: k = repeat(k, trips, 29, 3);
            break;
        case 4: k = repeat(k, trips, 31, 4);
            break;
        case 5: k = repeat(k, trips, 33, 5);
        case 6: k = repeat(k, trips, 35, 6);
        case 7: k = repeat(k, trips, 37, 7);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_13) {
    START
    if (!ON(b)) {
        if (ON(b)) {
            if (!ON(a)) {
                k = k * 3 + 5;
                k = k * 5 + 5;
                k = repeat(k, trips, 7, 7);
            }
            if (ON(c | a)) {
                k = k * 9 + 6;
                k = repeat(k, trips, 11, 6);
                k = k * 13 + 5;
            }
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(b | d)); ++r1) {
                k += r1;
                k = k * 15 + 3;
                k = repeat(k, trips, 17, 6);
                k = repeat(k, trips, 19, 7);
            }
        }
        switch (number) {
            case 0: k = repeat(k, trips, 21, 0);
                break;
            case 1: k = repeat(k, trips, 23, 1);
                break;
            case 2: k = repeat(k, trips, 25, 2);
                break;
            case 3: k = repeat(k, trips, 27, 3);
                break;
            case 4: k = repeat(k, trips, 29, 4);
                break;
            case 5: k = repeat(k, trips, 31, 5);
                break;
            case 6: k = repeat(k, trips, 33, 6);
                break;
            case 7: k = repeat(k, trips, 35, 7);
        }
        if (!ON(a)) {
            if (ON(c | a)) {
                k = k * 37 + 4;
                k = repeat(k, trips, 39, 6);
            } else {
                k = repeat(k, trips, 41, 4);
            }
            if (ON(a)) {
                k = repeat(k, trips, 43, 6);
                k = k * 45 + 3;
            }
        } else {
            k = repeat(k, trips, 47, 2);
        }
    }
    if (ON(a & b)) {
        k = repeat(k, trips, 49, 5);
    } else {
        if (ON(a & b)) {
            if (ON(b | d)) {
                k = k * 51 + 1;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_14) {
    START
    switch (number) {
        case 0: k = repeat(k, trips, 3, 0);
        case 1: k = repeat(k, trips, 5, 1);
            break;
        case 2: k = repeat(k, trips, 7, 2);
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
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_15) {
    START
    k = k * 3 + 9;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_16) {
    START
    if (ON(d | b)) {
        if (!ON(c)) {
            if (ON(b & c)) {
                k = repeat(k, trips, 3, 5);
            }
        } else {
            switch (number) {
                case 0: k = repeat(k, trips, 5, 0);
                    break;
                case 1: k = repeat(k, trips, 7, 1);
                    break;
                case 2: k = repeat(k, trips, 9, 2);
                    break;
                case 3: k = repeat(k, trips, 11, 3);
                    break;
                case 4: k = repeat(k, trips, 13, 4);
                    break;
                case 5: k = repeat(k, trips, 15, 5);
                    break;
                case 6: k = repeat(k, trips, 17, 6);
                    break;
                case 7: k = repeat(k, trips, 19, 7);
                    break;
            }
        }
    } else {
        if (ON(b & c)) {
            k = k * 21 + 1;
        } else {
            k = repeat(k, trips, 23, 5);
            if (!ON(d)) {
                k = k * 25 + 8;
                k = k * 27 + 1;
            } else {
                k = k * 29 + 8;
                k = k * 31 + 8;
            }
        }
    }
    k = k * 33 + 3;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_17) {
    START
    if (ON(c & b)) {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(c)); ++r1) {
            k += r1;
            if (ON(c & d)) {
                if (!ON(a)) { END return; }
                k = k * 3 + 6;
            } else {
                k = k * 5 + 5;
            }
        }
    } else {
        if (ON(b | c)) {
            if (ON(a & c)) {
                k = k * 7 + 1;
            }
            if (!ON(a)) {
                k = k * 9 + 1;
            }
        } else {
            if (!ON(b)) {
                k = k * 11 + 6;
                k = k * 13 + 5;
            }
            k = k * 15 + 6;
        }
        if (ON(d)) {
            if (ON(a | c)) {
                k = repeat(k, trips, 17, 3);
            }
            switch (number) {
                case 0: k = repeat(k, trips, 19, 0);
                case 1: k = repeat(k, trips, 21, 1);
                    break;
                case 2: k = repeat(k, trips, 23, 2);
                case 3: k = repeat(k, trips, 25, 3);
                case 4: k = repeat(k, trips, 27, 4);
                    break;
                case 5: k = repeat(k, trips, 29, 5);
                case 6: k = repeat(k, trips, 31, 6);
                    break;
                case 7: k = repeat(k, trips, 33, 7);
            }
            if (!ON(c)) {
                k = repeat(k, trips, 35, 5);
                k = k * 37 + 8;
            }
        }
    }
    k = k * 39 + 9;
    k = k * 41 + 9;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_18) {
    START
    k = k * 3 + 8;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_19) {
    START
    k = k * 3 + 9;
    k = k * 5 + 9;
    if (ON(d & b)) {
        if (ON(a | b)) {
            k = k * 7 + 6;
            k = k * 9 + 4;
        }
        if (ON(a | c)) {
            k = k * 11 + 2;
            k = k * 13 + 7;
        }
        if (ON(d & c)) {
            if (ON(b)) {
                k = k * 15 + 3;
            } else {
                if (ON(a | b)) { END return; }
                k = repeat(k, trips, 17, 8);
            }
        } else {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (!ON(b)); ++r1) {
                k += r1;
                if (ON(a & c) && r1 >= 0) break;
            }
            if (!ON(d)) {
                k = k * 19 + 1;
                k = repeat(k, trips, 21, 7);
            } else {
                k = k * 23 + 9;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_20) {
    START
    k = repeat(k, trips, 3, 5);
    k = k * 5 + 6;
    switch (number) {
        case 0: k = repeat(k, trips, 7, 0);
        case 1: k = repeat(k, trips, 9, 1);
            break;
        case 2: k = repeat(k, trips, 11, 2);
            break;
        case 3: k = repeat(k, trips, 13, 3);
            break;
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

KERNEL(random_21) {
    START
    if (ON(d & c)) {
        if (!ON(b)) {
            switch (number) {
                case 0: k = repeat(k, trips, 3, 0);
                    break;
                case 1: k = repeat(k, trips, 5, 1);
                    break;
                case 2: k = repeat(k, trips, 7, 2);
                case 3: k = repeat(k, trips, 9, 3);
                case 4: k = repeat(k, trips, 11, 4);
                    break;
                case 5: k = repeat(k, trips, 13, 5);
                    break;
                case 6: k = repeat(k, trips, 15, 6);
                case 7: k = repeat(k, trips, 17, 7);
            }
        } else {
            k = k * 19 + 6;
            k = k * 21 + 6;
        }
        k = k * 23 + 2;
    } else {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(c | b)); ++r1) {
            k += r1;
            k = k * 25 + 8;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_22) {
    START
    if (ON(a | c)) {
        if (ON(a & d)) {
            switch (number) {
                case 0: k = repeat(k, trips, 3, 0);
                    break;
                case 1: k = repeat(k, trips, 5, 1);
                    break;
                case 2: k = repeat(k, trips, 7, 2);
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
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_23) {
    START
    k = k * 3 + 1;
    switch (number) {
        case 0: k = repeat(k, trips, 5, 0);
            break;
        case 1: k = repeat(k, trips, 7, 1);
            break;
        case 2: k = repeat(k, trips, 9, 2);
            break;
        case 3: k = repeat(k, trips, 11, 3);
        case 4: k = repeat(k, trips, 13, 4);
            break;
        case 5: k = repeat(k, trips, 15, 5);
            break;
        case 6: k = repeat(k, trips, 17, 6);
            break;
        case 7: k = repeat(k, trips, 19, 7);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_24) {
    START
    if (!ON(b)) {
        k = k * 3 + 3;
    } else {
        k = k * 5 + 8;
        k = k * 7 + 1;
    }
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(b | d)); ++r1) {
        k += r1;
        k = k * 9 + 5;
        k = repeat(k, trips, 11, 6);
        k = k * 13 + 9;
    }
    if (ON(a & d)) {
        k = k * 15 + 5;
        if (ON(b & d)) { END return; }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_25) {
    START
    k = k * 3 + 4;
    if (ON(d & a)) {
        if (ON(a)) {
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
                case 7: k = repeat(k, trips, 19, 7);
                    break;
            }
        } else {
            if (ON(b | c)) {
                k = k * 21 + 9;
            }
            k = k * 23 + 9;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_26) {
    START
    if (ON(b)) {
        if (!ON(a)) {
            if (ON(b)) {
                k = k * 3 + 8;
            } else {
                k = repeat(k, trips, 5, 1);
                k = repeat(k, trips, 7, 9);
            }
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(a)); ++r1) {
                k += r1;
                k = repeat(k, trips, 9, 6);
                if (ON(b & a) && r1 >= 0) break;
            }
        } else {
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
                case 5: k = repeat(k, trips, 21, 5);
                    break;
                case 6: k = repeat(k, trips, 23, 6);
                    break;
                case 7: k = repeat(k, trips, 25, 7);
                    break;
            }
            k = k * 27 + 9;
        }
    }
    if (ON(a)) {
        switch (number) {
            case 0: k = repeat(k, trips, 29, 0);
                break;
            case 1: k = repeat(k, trips, 31, 1);
                break;
            case 2: k = repeat(k, trips, 33, 2);
                break;
            case 3: k = repeat(k, trips, 35, 3);
            case 4: k = repeat(k, trips, 37, 4);
            case 5: k = repeat(k, trips, 39, 5);
                break;
            case 6: k = repeat(k, trips, 41, 6);
                break;
            case 7: k = repeat(k, trips, 43, 7);
        }
        switch (number) {
            case 0: k = repeat(k, trips, 45, 0);
            case 1: k = repeat(k, trips, 47, 1);
            case 2: k = repeat(k, trips, 49, 2);
                break;
            case 3: k = repeat(k, trips, 51, 3);
                break;
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
    switch (number) {
        case 0: k = repeat(k, trips, 61, 0);
            break;
        case 1: k = repeat(k, trips, 63, 1);
            break;
        case 2: k = repeat(k, trips, 65, 2);
        case 3: k = repeat(k, trips, 67, 3);
        case 4: k = repeat(k, trips, 69, 4);
            break;
        case 5: k = repeat(k, trips, 71, 5);
            break;
        case 6: k = repeat(k, trips, 73, 6);
            break;
        case 7: k = repeat(k, trips, 75, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_27) {
    START
    if (!ON(c)) {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(c & b)); ++r1) {
            k += r1;
            if (ON(d)) {
                if (ON(a | c) && r1 >= 1) continue;
                if (ON(b & c) && r1 >= 0) break;
                k = k * 3 + 2;
            }
            if (ON(a)) {
                k = k * 5 + 5;
            }
        }
    } else {
        k = k * 7 + 8;
    }
    k = repeat(k, trips, 9, 6);
    switch (number) {
        case 0: k = repeat(k, trips, 11, 0);
            break;
        case 1: k = repeat(k, trips, 13, 1);
            break;
        case 2: k = repeat(k, trips, 15, 2);
        case 3: k = repeat(k, trips, 17, 3);
        case 4: k = repeat(k, trips, 19, 4);
            break;
        case 5: k = repeat(k, trips, 21, 5);
            break;
        case 6: k = repeat(k, trips, 23, 6);
            break;
        case 7: k = repeat(k, trips, 25, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_28) {
    START
    k = repeat(k, trips, 3, 9);
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_29) {
    START
    k = k * 3 + 6;
    switch (number) {
        case 0: k = repeat(k, trips, 5, 0);
        case 1: k = repeat(k, trips, 7, 1);
            break;
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
            break;
    }
    if (ON(c | a)) {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (!ON(d)); ++r1) {
            k += r1;
            if (!ON(d)) {
                k = repeat(k, trips, 21, 5);
                k = k * 23 + 7;
                if (ON(b & d) && r1 >= 1) continue;
            }
            switch (number) {
                case 0: k = repeat(k, trips, 25, 0);
                case 1: k = repeat(k, trips, 27, 1);
                case 2: k = repeat(k, trips, 29, 2);
                case 3: k = repeat(k, trips, 31, 3);
                case 4: k = repeat(k, trips, 33, 4);
                case 5: k = repeat(k, trips, 35, 5);
                    break;
                case 6: k = repeat(k, trips, 37, 6);
                    break;
                case 7: k = repeat(k, trips, 39, 7);
            }
        }
        k = repeat(k, trips, 41, 7);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_30) {
    START
    if (!ON(a)) {
        if (ON(b | a)) {
            if (!ON(a)) {
                k = k * 3 + 6;
                k = k * 5 + 7;
                k = repeat(k, trips, 7, 7);
            }
        } else {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(a | c)); ++r1) {
                k += r1;
                k = repeat(k, trips, 9, 5);
                k = k * 11 + 3;
            }
        }
        if (ON(a | d)) {
            k = repeat(k, trips, 13, 9);
            if (ON(c | d)) {
                k = k * 15 + 1;
                k = k * 17 + 8;
            } else {
                k = k * 19 + 5;
                k = repeat(k, trips, 21, 3);
            }
            k = repeat(k, trips, 23, 9);
        }
    }
    if (!ON(d)) {
        if (ON(c | d)) {
            if (!ON(c)) {
                k = repeat(k, trips, 25, 6);
            } else {
                k = k * 27 + 6;
            }
            switch (number) {
                case 0: k = repeat(k, trips, 29, 0);
                    break;
                case 1: k = repeat(k, trips, 31, 1);
                    break;
                case 2: k = repeat(k, trips, 33, 2);
                    break;
                case 3: k = repeat(k, trips, 35, 3);
                case 4: k = repeat(k, trips, 37, 4);
                    break;
                case 5: k = repeat(k, trips, 39, 5);
                    break;
                case 6: k = repeat(k, trips, 41, 6);
                    break;
                case 7: k = repeat(k, trips, 43, 7);
                    break;
            }
        } else {
            if (!ON(c)) {
                k = k * 45 + 9;
            }
            if (ON(a | d)) {
                k = k * 47 + 3;
                k = k * 49 + 7;
                k = k * 51 + 5;
            }
        }
    }
    switch (number) {
        case 0: k = repeat(k, trips, 53, 0);
            break;
        case 1: k = repeat(k, trips, 55, 1);
            break;
        case 2: k = repeat(k, trips, 57, 2);
            break;
        case 3: k = repeat(k, trips, 59, 3);
        case 4: k = repeat(k, trips, 61, 4);
            break;
        case 5: k = repeat(k, trips, 63, 5);
            break;
        case 6: k = repeat(k, trips, 65, 6);
        case 7: k = repeat(k, trips, 67, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_31) {
    START
    if (!ON(a)) {
        k = k * 3 + 9;
    } else {
        k = repeat(k, trips, 5, 3);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_32) {
    START
    if (!ON(b)) {
        k = k * 3 + 2;
        if (ON(a | c)) {
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(b)); ++r1) {
                k += r1;
                k = k * 5 + 5;
                k = k * 7 + 8;
            }
            k = k * 9 + 1;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_33) {
    START
    k = repeat(k, trips, 3, 4);
    if (!ON(d)) {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(c | d)); ++r1) {
            k += r1;
            if (ON(a | b) && r1 >= 1) continue;
            k = k * 5 + 7;
        }
        if (!ON(c)) {
            if (ON(c)) {
                k = repeat(k, trips, 7, 6);
                k = repeat(k, trips, 9, 5);
                k = k * 11 + 9;
            }
        }
#pragma unroll 1
        for (unsigned int r2 = 0; r2 < trips + (!ON(d)); ++r2) {
            k += r2;
            k = k * 13 + 6;
            if (!ON(a) && r2 >= 0) continue;
            if (ON(a | d)) {
                k = k * 15 + 7;
                if (ON(d | b) && r2 >= 0) break;
            }
        }
    }
    k = k * 17 + 8;
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_34) {
    START
    if (ON(a)) {
        k = k * 3 + 7;
        if (!ON(a)) {
            switch (number) {
                case 0: k = repeat(k, trips, 5, 0);
                    break;
                case 1: k = repeat(k, trips, 7, 1);
                    break;
                case 2: k = repeat(k, trips, 9, 2);
                    break;
                case 3: k = repeat(k, trips, 11, 3);
                case 4: k = repeat(k, trips, 13, 4);
                    break;
                case 5: k = repeat(k, trips, 15, 5);
                case 6: k = repeat(k, trips, 17, 6);
                case 7: k = repeat(k, trips, 19, 7);
                    break;
            }
        }
    }
    if (ON(b & c)) {
        if (!ON(b)) {
            if (!ON(d)) {
                k = repeat(k, trips, 21, 2);
            } else {
                k = k * 23 + 5;
                k = k * 25 + 3;
            }
            if (ON(d | a)) {
                k = k * 27 + 3;
                k = k * 29 + 4;
            }
            if (ON(a)) {
                k = k * 31 + 4;
                k = k * 33 + 9;
                k = repeat(k, trips, 35, 6);
            }
        }
        switch (number) {
            case 0: k = repeat(k, trips, 37, 0);
            case 1: k = repeat(k, trips, 39, 1);
                break;
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
                break;
        }
    } else {
        if (ON(a & c)) {
            k = k * 53 + 3;
#pragma unroll 1
            for (unsigned int r1 = 0; r1 < trips + (ON(c | a)); ++r1) {
                k += r1;
                k = k * 55 + 8;
            }
            if (ON(d)) {
                k = k * 57 + 3;
                k = k * 59 + 9;
            }
        }
        switch (number) {
            case 0: k = repeat(k, trips, 61, 0);
                break;
            case 1: k = repeat(k, trips, 63, 1);
            case 2: k = repeat(k, trips, 65, 2);
                break;
            case 3: k = repeat(k, trips, 67, 3);
            case 4: k = repeat(k, trips, 69, 4);
                break;
            case 5: k = repeat(k, trips, 71, 5);
                break;
            case 6: k = repeat(k, trips, 73, 6);
                break;
            case 7: k = repeat(k, trips, 75, 7);
                break;
        }
    }
    if (ON(c | a)) {
        switch (number) {
            case 0: k = repeat(k, trips, 77, 0);
            case 1: k = repeat(k, trips, 79, 1);
                break;
            case 2: k = repeat(k, trips, 81, 2);
                break;
            case 3: k = repeat(k, trips, 83, 3);
            case 4: k = repeat(k, trips, 85, 4);
                break;
            case 5: k = repeat(k, trips, 87, 5);
                break;
            case 6: k = repeat(k, trips, 89, 6);
                break;
            case 7: k = repeat(k, trips, 91, 7);
        }
        k = k * 93 + 5;
    } else {
        if (ON(d & b)) {
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(c & a)); ++r2) {
                k += r2;
                k = repeat(k, trips, 95, 6);
                k = k * 97 + 6;
            }
        } else {
            if (ON(d)) {
                k = repeat(k, trips, 99, 7);
            } else {
                k = repeat(k, trips, 101, 5);
            }
            if (ON(a | d)) {
                if (!ON(c)) { END return; }
                if (ON(c & a)) { END return; }
            } else {
                k = k * 103 + 3;
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_35) {
    START
    if (ON(b & c)) {
        if (ON(a & c)) {
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
                    break;
                case 6: k = repeat(k, trips, 15, 6);
                case 7: k = repeat(k, trips, 17, 7);
                    break;
            }
            k = k * 19 + 4;
            k = k * 21 + 3;
        }
    }
    if (ON(b)) {
        k = k * 23 + 5;
        k = k * 25 + 3;
    }
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(d & b)); ++r1) {
        k += r1;
        k = k * 27 + 5;
        if (ON(a & d)) {
            if (ON(d | a)) {
                k = repeat(k, trips, 29, 4);
                k = k * 31 + 1;
            } else {
                k = k * 33 + 1;
            }
            if (ON(a | c)) {
                k = repeat(k, trips, 35, 9);
            } else {
                k = k * 37 + 7;
                k = repeat(k, trips, 39, 9);
            }
        } else {
            if (ON(c)) {
                k = k * 41 + 6;
                if (ON(d | c) && r1 >= 0) break;
            } else {
                k = repeat(k, trips, 43, 9);
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_36) {
    START
    k = k * 3 + 1;
    if (!ON(a)) {
        if (ON(c & d)) {
            if (ON(d | b)) {
                k = k * 5 + 9;
            } else {
                k = k * 7 + 9;
                k = k * 9 + 6;
            }
        } else {
            if (!ON(d)) {
                k = k * 11 + 8;
                k = repeat(k, trips, 13, 5);
            } else {
                k = repeat(k, trips, 15, 8);
            }
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_37) {
    START
    switch (number) {
        case 0: k = repeat(k, trips, 3, 0);
            break;
        case 1: k = repeat(k, trips, 5, 1);
            break;
        case 2: k = repeat(k, trips, 7, 2);
        case 3: k = repeat(k, trips, 9, 3);
        case 4: k = repeat(k, trips, 11, 4);
            break;
        case 5: k = repeat(k, trips, 13, 5);
            break;
        case 6: k = repeat(k, trips, 15, 6);
            break;
        case 7: k = repeat(k, trips, 17, 7);
            break;
    }
    k = k * 19 + 8;
    switch (number) {
        case 0: k = repeat(k, trips, 21, 0);
        case 1: k = repeat(k, trips, 23, 1);
        case 2: k = repeat(k, trips, 25, 2);
        case 3: k = repeat(k, trips, 27, 3);
            break;
        case 4: k = repeat(k, trips, 29, 4);
            break;
        case 5: k = repeat(k, trips, 31, 5);
        case 6: k = repeat(k, trips, 33, 6);
        case 7: k = repeat(k, trips, 35, 7);
            break;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_38) {
    START
    if (ON(d)) {
        if (!ON(c)) {
            if (ON(c | b)) {
                k = k * 3 + 9;
            }
            if (ON(b | a)) {
                k = repeat(k, trips, 5, 9);
                if (ON(a)) { END return; }
            } else {
                k = k * 7 + 2;
            }
        } else {
            k = repeat(k, trips, 9, 6);
            if (ON(d & b)) {
                k = repeat(k, trips, 11, 3);
            } else {
                k = k * 13 + 5;
                k = k * 15 + 3;
            }
        }
    } else {
        if (ON(c)) {
            switch (number) {
                case 0: k = repeat(k, trips, 17, 0);
                case 1: k = repeat(k, trips, 19, 1);
                case 2: k = repeat(k, trips, 21, 2);
                    break;
                case 3: k = repeat(k, trips, 23, 3);
                    break;
                case 4: k = repeat(k, trips, 25, 4);
                    break;
                case 5: k = repeat(k, trips, 27, 5);
                    break;
                case 6: k = repeat(k, trips, 29, 6);
                case 7: k = repeat(k, trips, 31, 7);
                    break;
            }
            k = k * 33 + 9;
            k = k * 35 + 3;
        }
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(c)); ++r1) {
            k += r1;
            if (ON(a | d) && r1 >= 0) continue;
            k = repeat(k, trips, 37, 7);
        }
    }
    k = repeat(k, trips, 39, 1);
#pragma unroll 1
    for (unsigned int r2 = 0; r2 < trips + (!ON(c)); ++r2) {
        k += r2;
#pragma unroll 1
        for (unsigned int r3 = 0; r3 < trips + (ON(a | c)); ++r3) {
            k += r3;
            if (ON(d | b) && r3 >= 1) break;
            k = repeat(k, trips, 41, 4);
            k = k * 43 + 6;
        }
        k = repeat(k, trips, 45, 1);
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_39) {
    START
    if (!ON(d)) {
        switch (number) {
            case 0: k = repeat(k, trips, 3, 0);
                break;
            case 1: k = repeat(k, trips, 5, 1);
            case 2: k = repeat(k, trips, 7, 2);
                break;
            case 3: k = repeat(k, trips, 9, 3);
            case 4: k = repeat(k, trips, 11, 4);
            case 5: k = repeat(k, trips, 13, 5);
                break;
            case 6: k = repeat(k, trips, 15, 6);
                break;
            case 7: k = repeat(k, trips, 17, 7);
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_40) {
    START
    switch (number) {
        case 0: k = repeat(k, trips, 3, 0);
        case 1: k = repeat(k, trips, 5, 1);
            break;
        case 2: k = repeat(k, trips, 7, 2);
            break;
        case 3: k = repeat(k, trips, 9, 3);
        case 4: k = repeat(k, trips, 11, 4);
            break;
        case 5: k = repeat(k, trips, 13, 5);
            break;
        case 6: k = repeat(k, trips, 15, 6);
            break;
        case 7: k = repeat(k, trips, 17, 7);
    }
    if (!ON(a)) {
        switch (number) {
            case 0: k = repeat(k, trips, 19, 0);
            case 1: k = repeat(k, trips, 21, 1);
            case 2: k = repeat(k, trips, 23, 2);
                break;
            case 3: k = repeat(k, trips, 25, 3);
            case 4: k = repeat(k, trips, 27, 4);
                break;
            case 5: k = repeat(k, trips, 29, 5);
                break;
            case 6: k = repeat(k, trips, 31, 6);
                break;
            case 7: k = repeat(k, trips, 33, 7);
        }
    } else {
        k = k * 35 + 6;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_41) {
    START
    if (ON(b | a)) {
        if (ON(c)) {
            k = k * 3 + 8;
        }
        k = repeat(k, trips, 5, 6);
        switch (number) {
            case 0: k = repeat(k, trips, 7, 0);
                break;
            case 1: k = repeat(k, trips, 9, 1);
                break;
            case 2: k = repeat(k, trips, 11, 2);
                break;
            case 3: k = repeat(k, trips, 13, 3);
                break;
            case 4: k = repeat(k, trips, 15, 4);
                break;
            case 5: k = repeat(k, trips, 17, 5);
            case 6: k = repeat(k, trips, 19, 6);
                break;
            case 7: k = repeat(k, trips, 21, 7);
                break;
        }
    }
    if (ON(b)) {
        k = repeat(k, trips, 23, 3);
    } else {
        if (!ON(a)) {
            k = k * 25 + 5;
            k = k * 27 + 2;
        }
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_42) {
    START
    k = k * 3 + 1;
    if (!ON(b)) {
#pragma unroll 1
        for (unsigned int r1 = 0; r1 < trips + (ON(a | c)); ++r1) {
            k += r1;
            if (ON(b)) {
                if (ON(d & c) && r1 >= 0) break;
                k = k * 5 + 7;
                k = k * 7 + 4;
            }
        }
        if (ON(a | d)) {
            if (ON(c | a)) {
                if (ON(a & c)) { END return; }
                k = repeat(k, trips, 9, 6);
                k = repeat(k, trips, 11, 2);
            }
        }
        if (!ON(c)) {
            if (ON(c & a)) {
                k = k * 13 + 2;
                k = k * 15 + 9;
            } else {
                k = k * 17 + 5;
            }
        }
    }
#pragma unroll 1
    for (unsigned int r2 = 0; r2 < trips + (ON(b & c)); ++r2) {
        k += r2;
        k = k * 19 + 6;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_43) {
    START
    if (ON(b & d)) {
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
                break;
            case 5: k = repeat(k, trips, 15, 5);
            case 6: k = repeat(k, trips, 17, 6);
                break;
            case 7: k = repeat(k, trips, 19, 7);
                break;
        }
        k = k * 21 + 7;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_44) {
    START
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(a | d)); ++r1) {
        k += r1;
        if (ON(a)) {
#pragma unroll 1
            for (unsigned int r2 = 0; r2 < trips + (ON(c | d)); ++r2) {
                k += r2;
                k = repeat(k, trips, 3, 6);
                k = repeat(k, trips, 5, 3);
                k = k * 7 + 2;
            }
        }
    }
    if (ON(c & a)) {
        k = k * 9 + 8;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_45) {
    START
    if (ON(d)) {
        k = k * 3 + 8;
        if (ON(a)) {
            if (ON(b | a)) {
                k = k * 5 + 1;
            }
            k = repeat(k, trips, 7, 6);
            if (ON(a)) {
                k = k * 9 + 7;
            }
        }
    } else {
        k = k * 11 + 8;
        if (ON(c)) {
            switch (number) {
                case 0: k = repeat(k, trips, 13, 0);
                    break;
                case 1: k = repeat(k, trips, 15, 1);
                    break;
                case 2: k = repeat(k, trips, 17, 2);
                    break;
                case 3: k = repeat(k, trips, 19, 3);
                    break;
                case 4: k = repeat(k, trips, 21, 4);
                    break;
                case 5: k = repeat(k, trips, 23, 5);
                    break;
                case 6: k = repeat(k, trips, 25, 6);
                    break;
                case 7: k = repeat(k, trips, 27, 7);
                    break;
            }
        }
    }
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(a & c)); ++r1) {
        k += r1;
        k = repeat(k, trips, 29, 1);
        k = k * 31 + 7;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_46) {
    START
    if (!ON(a)) {
        k = k * 3 + 1;
    } else {
        k = k * 5 + 1;
    }
    k = repeat(k, trips, 3, 1);
    END
}

KERNEL(random_47) {
    START
    k = k * 3 + 7;
#pragma unroll 1
    for (unsigned int r1 = 0; r1 < trips + (ON(d & c)); ++r1) {
        k += r1;
        if (ON(a)) {
            if (ON(a | b)) {
                k = repeat(k, trips, 5, 8);
            } else {
                k = repeat(k, trips, 7, 6);
            }
        } else {
            if (ON(b)) {
                k = repeat(k, trips, 9, 7);
            }
            if (!ON(a)) {
                k = k * 11 + 8;
                if (ON(c & d) && r1 >= 0) continue;
                k = repeat(k, trips, 13, 6);
            }
        }
        k = k * 15 + 8;
    }
    k = repeat(k, trips, 3, 1);
    END
}
