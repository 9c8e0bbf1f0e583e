"""Lanes of a warp that meet at different votes, shuffles, matches or reductions, in PTX as in
machine code: these must have the same qualifiers and the same mask."""

from __future__ import annotations

import numpy as np
import pytest
from both_forms import check_results
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch

# Inline assembly with a number, because nvcc merges equal instructions on both sides of a branch.
SOURCE = r"""
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define ONE_MORE " // " TEXT(__COUNTER__)
#define KERNEL(name, body) \
    extern "C" __global__ void name(const int* in, unsigned* out) { \
        const int lane = threadIdx.x % 32, given = in[threadIdx.x]; \
        unsigned found = 0; \
        body \
        out[threadIdx.x] = found; \
    }
#define SHUFFLE(mode, value, by, mask) SHUFFLE_WITHIN(mode, "31", value, by, mask)
#define SHUFFLE_WITHIN(mode, lanes, value, by, mask) \
    asm volatile("shfl.sync." mode ".b32 %0, %1, %2, " lanes ", %3;" ONE_MORE \
                 : "=r"(found) : "r"(value), "r"(by), "r"(mask))
#define UP(value, by, mask) \
    asm volatile("{.reg .pred p; shfl.sync.up.b32 %0|p, %1, %2, 0, %3; @!p mov.b32 %0, 77;}" \
                 ONE_MORE : "=r"(found) : "r"(value), "r"(by), "r"(mask))
#define BALLOT(value, least, mask) \
    asm volatile("{.reg .pred p; setp.gt.s32 p, %1, " least "; vote.sync.ballot.b32 %0, p, %2;}" \
                 ONE_MORE : "=r"(found) : "r"(value), "r"(mask))
#define ANY(value, least, mask) \
    asm volatile("{.reg .pred p; setp.gt.s32 p, %1, " least "; vote.sync.any.pred p, p, %2;" \
                 "selp.u32 %0, 1, 0, p;}" ONE_MORE : "=r"(found) : "r"(value), "r"(mask))
#define MATCH(value, mask) \
    asm volatile("match.any.sync.b32 %0, %1, %2;" ONE_MORE : "=r"(found) : "r"(value), "r"(mask))
#define MATCH_WIDE(value, mask) \
    asm volatile("match.any.sync.b64 %0, %1, %2;" ONE_MORE \
                 : "=r"(found) : "l"((long long)(value) << 33), "r"(mask))
#define REDUX(operation, value, mask) \
    asm volatile("redux.sync." operation " %0, %1, %2;" ONE_MORE \
                 : "=r"(found) : "r"(value), "r"(mask))
#define ALL 0xFFFFFFFFu

KERNEL(shuffles, if (lane % 2) SHUFFLE("bfly", given, 1, ALL);
                 else SHUFFLE("bfly", given * 10, 3, ALL);)
KERNEL(shuffles_up, if (lane % 2) UP(given, 1, ALL);
                    else { SHUFFLE_WITHIN("up", "0", given * 10, lane / 4, ALL); found += 1; })
KERNEL(ballots, if (lane % 3) BALLOT(given, "0", ALL); else BALLOT(given, "1", ALL);)
KERNEL(votes_of_any, if (lane < 20) ANY(given, "5", ALL); else ANY(given, "2", ALL);)
KERNEL(matches, if (lane % 2) MATCH(given, ALL); else MATCH(given + 1, ALL);)
KERNEL(wide_matches, if (lane % 2) MATCH_WIDE(given, ALL); else MATCH_WIDE(given + 1, ALL);)
KERNEL(sums, if (lane % 2) REDUX("add.s32", given, ALL); else REDUX("add.s32", given * 100, ALL);)
KERNEL(of_three, if (lane < 9) REDUX("max.s32", given, ALL);
                 else if (lane < 20) REDUX("max.s32", given + 5, ALL);
                 else REDUX("max.s32", -given, ALL);)
KERNEL(halves, const unsigned own = lane < 16 ? 0xFFFFu : 0xFFFF0000u;
               if (lane % 2) REDUX("add.s32", given, own); else REDUX("add.s32", given * 100, own);)
KERNEL(without_those_that_left, if (lane == 7) return;
               if (lane % 2) REDUX("add.s32", given, ALL); else REDUX("add.s32", given * 100, ALL);)
KERNEL(in_a_loop, for (int pass = 0; pass < 5; pass++) {
                      const unsigned before = found;
                      if ((lane + pass) % 2) SHUFFLE("bfly", given + before, 1, ALL);
                      else SHUFFLE("bfly", given * 10 + before, 1, ALL);
                  })
KERNEL(several_in_a_row, if (lane % 2) {
                             REDUX("add.s32", given, ALL); REDUX("max.s32", given + found, ALL);
                             SHUFFLE("bfly", found + given, 1, ALL);
                             SHUFFLE("bfly", found * 3, 2, ALL);
                         } else {
                             REDUX("add.s32", given * 100, ALL); REDUX("max.s32", given, ALL);
                             SHUFFLE("bfly", found - given, 1, ALL);
                             SHUFFLE("bfly", found * 7, 1, ALL);
                         })
KERNEL(beside_and_after, if (lane < 16) {
                             REDUX("add.s32", given, ALL);
                             const unsigned before = found;
                             REDUX("add.s32", given, 0xFFFF);
                             found += before;
                         }
                         if (lane >= 16) {
                             REDUX("add.s32", given * 100, ALL);
                             REDUX("add.s32", given + found, 0xFFFF0000);
                         })
KERNEL(in_uneven_loops,
       for (int pass = 0; pass < lane % 3; pass++) {
           const unsigned before = found;
           REDUX("add.s32", given + before, ALL);
       }
       for (int pass = lane % 3; pass < 3; pass++) {
           const unsigned before = found;
           REDUX("add.s32", given * 10 + before, ALL);
           BALLOT(given, "0", 1u << lane);
           found = before + given;
       })
extern "C" __global__ void ordered(const int* in, unsigned* out) {
    __shared__ int words[64];
    const int lane = threadIdx.x % 32;
    int* const own = words + threadIdx.x / 32 * 32;
    own[lane] = in[threadIdx.x];
    if (lane % 2)
        asm volatile("bar.warp.sync 0xffffffff;" ONE_MORE ::: "memory");
    else {
        asm volatile("bar.warp.sync 0xffffffff;" ONE_MORE ::: "memory");
        own[lane + 1] += own[lane];
    }
    __syncwarp();
    out[threadIdx.x] = own[lane];
}

KERNEL(behind_an_mbarrier, __shared__ unsigned long long bar;
       const unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
       if (threadIdx.x == 0)
           asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(at) : "memory");
       __syncthreads();
       asm volatile("{.reg .b64 s; .reg .pred p; mbarrier.arrive.shared.b64 s, [%0];"
                    "AGAIN: mbarrier.try_wait.shared.b64 p, [%0], s; @!p bra AGAIN;}"
                    :: "r"(at) : "memory");
       if (lane % 2) REDUX("add.s32", given, ALL); else REDUX("add.s32", given * 100, ALL);)
__device__ int tickets;
KERNEL(with_tickets, const int drawn = atomicAdd(&tickets, 1);
       if (lane % 2) REDUX("add.s32", given, ALL); else REDUX("add.s32", given * 100, ALL);
       if (drawn > 1000) found = 0;)

KERNEL(of_two_modes, if (lane % 2) SHUFFLE("up", given, 1, ALL);
                     else SHUFFLE("down", given, 1, ALL);)
KERNEL(of_two_types, if (lane % 2) REDUX("min.s32", given, ALL); else REDUX("min.u32", given, ALL);)
KERNEL(of_two_votes, if (lane % 2) BALLOT(given, "0", ALL); else ANY(given, "0", ALL);)
KERNEL(of_two_instructions, if (lane % 2) SHUFFLE("bfly", given, 1, ALL);
                            else BALLOT(given, "0", ALL);)
KERNEL(of_two_masks, if (lane < 16) REDUX("add.s32", given, ALL);
                     else REDUX("add.s32", given, lane < 24 ? 0xFFFF0001u : 0xFFFF0000u);)
KERNEL(used_from_none, if (lane % 2) SHUFFLE("idx", given, 30, 0xFFFFAAAA);
                       else if (lane < 16) found = 5; else SHUFFLE("idx", given, 2, 0xFFFFAAAA);)
"""
GIVEN = np.arange(64, dtype=np.int32) * 7 % 9
LANE = np.arange(64) % 32
WARP = np.arange(64) // 32 * 32
ODD = LANE % 2 == 1


def _of_warps(values: np.ndarray, reduced: np.ufunc) -> np.ndarray:
    return np.repeat(reduced.reduce(values.reshape(2, 32), 1), 32)


def _masks(holds: np.ndarray) -> np.ndarray:
    return _of_warps(np.where(holds, 1 << LANE, 0), np.add)


def _shuffled() -> np.ndarray:
    given = np.where(ODD, GIVEN, GIVEN * 10)
    return given[WARP + (LANE ^ np.where(ODD, 1, 3))]


def _shuffled_up() -> np.ndarray:
    given = np.where(ODD, GIVEN, GIVEN * 10)
    source = LANE - np.where(ODD, 1, LANE // 4)
    return given[WARP + source] + np.where(ODD, 0, 1)


def _matched() -> np.ndarray:
    values = np.where(ODD, GIVEN, GIVEN + 1).reshape(2, 32)
    same = values[:, :, None] == values[:, None, :]
    return (same << np.arange(32)).sum(2).reshape(-1)


def _in_a_loop() -> np.ndarray:
    found = np.zeros(64, np.int64)
    for turn in range(5):
        given = np.where((LANE + turn) % 2 == 1, GIVEN, GIVEN * 10) + found
        found = given[WARP + (LANE ^ 1)]
    return found


def _halves() -> np.ndarray:
    values = np.where(ODD, GIVEN, GIVEN * 100)
    return np.repeat(values.reshape(4, 16).sum(1), 16)


def _several_in_a_row() -> np.ndarray:
    largest = _of_warps(np.where(ODD, GIVEN + _of_warps(SUMMANDS, np.add), GIVEN), np.maximum)
    first = np.where(ODD, largest + GIVEN, largest - GIVEN)[WARP + (LANE ^ 1)]
    return np.where(ODD, first * 3, first * 7)[WARP + (LANE ^ np.where(ODD, 2, 1))]


def _beside_and_after() -> np.ndarray:
    met = _of_warps(np.where(LANE < 16, GIVEN, GIVEN * 100), np.add)
    halves = np.where(LANE < 16, GIVEN, GIVEN + met).reshape(4, 16).sum(1)
    return np.repeat(halves, 16) + np.where(LANE < 16, met, 0)


def _in_uneven_loops() -> np.ndarray:
    found = np.zeros(64, np.int64)
    for turn in range(3):
        given = np.where(turn < LANE % 3, GIVEN, GIVEN * 10) + found
        found = np.where(turn < LANE % 3, _of_warps(given, np.add), found + GIVEN)
    return found


SUMMANDS = np.where(ODD, GIVEN, GIVEN * 100)
THREE = np.where(LANE < 9, GIVEN, np.where(LANE < 20, GIVEN + 5, -GIVEN))
WANTED = {
    "shuffles": _shuffled(),
    "shuffles_up": _shuffled_up(),
    "ballots": _masks(np.where(LANE % 3, GIVEN > 0, GIVEN > 1)),
    "votes_of_any": _of_warps(np.where(LANE < 20, GIVEN > 5, GIVEN > 2), np.logical_or),
    "matches": _matched(),
    "wide_matches": _matched(),
    "sums": _of_warps(SUMMANDS, np.add),
    "of_three": _of_warps(THREE, np.maximum),
    "halves": _halves(),
    "without_those_that_left": np.where(
        LANE == 7, 0, _of_warps(np.where(LANE == 7, 0, SUMMANDS), np.add)
    ),
    "in_a_loop": _in_a_loop(),
    "several_in_a_row": _several_in_a_row(),
    "beside_and_after": _beside_and_after(),
    "behind_an_mbarrier": _of_warps(SUMMANDS, np.add),
    "with_tickets": _of_warps(SUMMANDS, np.add),
    "in_uneven_loops": _in_uneven_loops(),
    "ordered": np.where(ODD, GIVEN + np.roll(GIVEN, 1), GIVEN),
}
WRONG = ("of_two_modes", "of_two_types", "of_two_votes", "of_two_instructions", "of_two_masks")


@pytest.mark.parametrize("from_code", [False, True], ids=["ptx", "machine code"])
def test_lanes_at_different_instructions_meet(
    compile_ptx: CompilePtx, read_source: ReadSource, from_code: bool
) -> None:
    form = read_source(SOURCE) if from_code else compile_ptx(SOURCE)
    check_results(form, GIVEN, WANTED)


@pytest.mark.parametrize("kernel", WRONG)
def test_lanes_do_not_meet_at_instructions_of_other_kinds_or_with_other_masks(
    compile_ptx: CompilePtx, kernel: str
) -> None:
    out = np.zeros(64, np.uint32)
    (fault,) = launch(compile_ptx(SOURCE), kernel, 1, 64, [GIVEN, out]).faults
    assert fault.kind == "warp mask"
    assert "which waits at another one in line" in fault.message
    assert fault.line


def test_what_a_shuffle_takes_from_a_lane_that_did_not_come_is_found_where_lanes_meet(
    compile_ptx: CompilePtx,
) -> None:
    out = np.zeros(64, np.uint32)
    (fault,) = launch(compile_ptx(SOURCE), "used_from_none", 1, 64, [GIVEN, out]).faults
    assert fault.kind == "warp mask"
    assert "shuffle from lane 2, which does not take part" in fault.message
