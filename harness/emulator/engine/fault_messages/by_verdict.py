"""Map each of the judge's fault codes to the function in a neighbouring module that words its
message."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.emulator.engine import layout
from harness.emulator.engine.fault_messages import copies, memory, races, warps
from harness.emulator.engine.fault_messages.places import Launched

_VERDICTS: dict[int, tuple[str, Callable[..., str]]] = {
    layout.OUT_OF_BLOCK_MEMORY: ("out of bounds", memory.outside),
    layout.MISALIGNED_IN_BLOCK_MEMORY: ("misaligned", memory.misaligned),
    layout.OUT_OF_BUFFERS: ("out of bounds", memory.outside_buffers),
    layout.MISALIGNED_IN_BUFFER: ("misaligned", memory.misaligned_in_buffer),
    layout.WRITE_TO_READ_ONLY: ("read-only", memory.read_only),
    layout.RACE_BETWEEN: ("race", races.race),
    layout.RACE_AT_ONCE: ("race", races.race_at_once),
    layout.COPY_UNDER_WAY: ("race", copies.under_way),
    layout.NO_PROXY_FENCE: ("race", copies.no_proxy_fence),
    layout.NO_SUCH_BLOCK: ("out of bounds", warps.no_such_block),
    layout.BLOCK_HAS_LEFT: ("cluster", warps.block_has_left),
    layout.BLOCK_MAY_LEAVE: ("cluster", warps.block_may_leave),
    layout.ARRIVED_TWICE: ("cluster", warps.arrived_twice),
    layout.NOT_ARRIVED: ("cluster", warps.not_arrived),
    layout.NEVER_WRITTEN: ("uninitialised", memory.never_written),
    layout.UNSET: ("uninitialised", memory.unset),
    layout.ABSENT_LANE: ("warp mask", warps.absent_lane),
    layout.LANE_MISSED: ("warp mask", warps.lane_missed),
    layout.LANE_ELSEWHERE: ("warp mask", warps.lane_elsewhere),
    layout.LANE_NOT_NAMED: ("warp mask", warps.lane_not_named),
    layout.BARRIERS_APART: ("divergent barrier", warps.barriers_apart),
    layout.BARRIER_LEFT: ("divergent barrier", warps.barrier_left),
    layout.BARRIER_STUCK: ("deadlock", warps.barrier_stuck),
    layout.NO_SUCH_BARRIER: ("out of bounds", warps.no_such_barrier),
    layout.BARRIERS_OF_A_WARP: ("divergent barrier", warps.barriers_of_a_warp),
    layout.LOOP_STUCK: ("deadlock", warps.loop_stuck),
    layout.NO_TARGET: ("out of bounds", warps.no_target),
    layout.TRAPPED: ("trap", warps.trapped),
    layout.STACK_USED_UP: ("stack overflow", memory.stack),
    layout.NOT_WHOLE_WARP: ("divergence", warps.not_whole_warp),
    layout.MISALIGNED_MATRIX_ROW: ("misaligned", memory.matrix_row),
    layout.TOO_MANY_ARRIVALS: ("mbarrier", copies.too_many_arrivals),
    layout.NOT_A_COUNT: ("mbarrier", copies.not_a_count),
    layout.ARRIVAL_ENDS_PHASE: ("mbarrier", copies.arrival_ends_phase),
    layout.MBARRIER_ELSEWHERE: ("mbarrier", copies.mbarrier_elsewhere),
    layout.REGISTERS_USED_UP: ("deadlock", copies.registers_used_up),
    layout.COPIED_IN_PART: ("misaligned", copies.copied_in_part),
    layout.NOT_A_TENSOR_MAP: ("tensor map", copies.not_a_tensor_map),
    layout.OTHER_TENSOR_MAP: ("tensor map", copies.other_tensor_map),
    layout.NO_REDUCTION_OF_TYPE: ("tensor map", copies.no_reduction_of_type),
    layout.NO_SUCH_BOX: ("tensor map", copies.no_such_box),
    layout.UNDEFINED_METADATA: ("sparse metadata", warps.undefined_metadata),
    layout.PRODUCT_NOT_AWAITED: ("wgmma", copies.product_not_awaited),
    layout.PRODUCT_NOT_FENCED: ("wgmma", copies.product_not_fenced),
    layout.OTHER_SWIZZLE: ("wgmma", copies.other_swizzle),
    layout.HALF_OF_ROWS: ("wgmma", copies.half_of_rows),
    layout.NOT_A_TEXTURE: ("out of bounds", memory.not_a_texture),
    layout.BEYOND_SURFACE: ("out of bounds", memory.beyond_surface),
}


def told(what: int, site: int, details: Sequence[int], place: Launched) -> tuple[str, str]:
    """Return the kind of a fault and its message. `what` is a value of the enum `What` in
    `machine/interface.h`."""
    kind, words = _VERDICTS[what]
    return kind, words(place, site, *details)
