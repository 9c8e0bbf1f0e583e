"""Mistakes in TMA copies are reported; correct kernels are tested next to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator_tools import run
from reference import tensors
from tensor_kernels import DONE, DUMP, FETCH, INIT, WAIT, kernel

from harness.emulator import LaunchError, TensorMap, UnknownInstruction, launch, parse

COPY = ("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%r2], [%l1, {0, 0}], [%r3];")  # fmt: skip
SIZE = 512


def _load(
    expected: int = SIZE, wait: str = WAIT, copy: str = COPY, again: str = "", before: str = ""
) -> str:
    return kernel(f"""{INIT} {before} @%p1 bra WAITS;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {expected}; {copy}
        WAITS: {wait} {DUMP.format(SIZE)} {again}""")


def _store(fetch: str = FETCH, done: str = DONE, after: str = "") -> str:
    return kernel(f"""{fetch.format(SIZE)} @%p1 bra END;
        cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%l1, {{0, 0}}], [%r2];
        {done} {after} END:""")


def _map(**changed: Any) -> TensorMap:
    array = np.arange(32 * 8, dtype=np.float32)
    return TensorMap(**{"array": array, "box": [16, 8], "shape": [32, 8], **changed})


def _fault(text: str, given: Any = None, **changed: Any) -> tuple[str, str]:
    out = np.zeros(SIZE, np.uint8)
    report = launch(parse(text), "k", 1, 32, [_map(**changed) if given is None else given, out])
    (fault,) = report.faults
    return fault.kind, fault.message


def test_the_kernels_that_the_faulty_ones_are_made_of_are_right() -> None:
    for text in (_load(), _store()):
        run(parse(text), "k", 1, 32, [_map(), np.zeros(SIZE, np.uint8)])


@pytest.mark.parametrize("expected", [SIZE - 16, SIZE + 16])
def test_bytes_that_do_not_match_hang_and_both_counts_are_named(expected: int) -> None:
    kind, message = _fault(_load(expected))
    assert kind == "deadlock"
    assert f"{expected} bytes are expected" in message
    assert f"{SIZE} have come" in message


def test_a_tile_that_is_read_before_its_wait_races() -> None:
    kind, message = _fault(_load(wait="bar.sync 0;"))
    assert kind == "race"
    assert "first test the mbarrier" in message


def test_a_tile_that_is_loaded_again_while_others_still_read_races() -> None:
    other = COPY.replace("{0, 0}", "{16, 0}")
    again = (
        f"@%p1 bra END; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {SIZE}; {other} END:"
    )
    run(parse(_load(again=f"bar.sync 0; {again}")), "k", 1, 32, [_map(), np.zeros(SIZE, np.uint8)])
    assert _fault(_load(again=again))[0] == "race"


def test_a_stored_tile_without_a_proxy_fence_races() -> None:
    kind, message = _fault(_store(FETCH.replace("fence.proxy.async.shared::cta;", "")))
    assert kind == "race"
    assert "fence.proxy.async" in message


def test_a_tile_changed_while_it_is_still_stored_races() -> None:
    after = "st.shared.u32 [%r2], %r1;"
    run(parse(_store(after=after)), "k", 1, 32, [_map(), np.zeros(SIZE, np.uint8)])
    assert _fault(_store(done="cp.async.bulk.commit_group;", after=after))[0] == "race"


@pytest.mark.parametrize(
    ("copy", "kind"),
    [(COPY.replace("[%r2]", "[%r2+64]"), "misaligned"),
     (COPY.replace("[%r2]", "[%r2+7936]"), "out of bounds"),
     (COPY.replace("2d", "1d").replace("{0, 0}", "{0}"), "tensor map"),
     (COPY.replace("[%l1,", "[%l2+16,"), "misaligned"),
     (COPY.replace("[%l1,", "[%l2,"), "tensor map")],
)  # fmt: skip
def test_a_place_or_a_map_that_does_not_fit_is_named(copy: str, kind: str) -> None:
    assert _fault(_load(copy=copy))[0] == kind


def test_a_tensor_that_is_larger_than_its_array_is_found_where_a_box_goes_beyond() -> None:
    kind, message = _fault(_load(), array=np.zeros(32 * 7, np.float32))
    assert kind == "out of bounds"
    assert "argument 0" in message


@pytest.mark.parametrize(
    ("copy", "words"),
    [(COPY.replace("{0, 0}", "{2, 1}"), "at the coordinates 2, 1, whose first is not at a"),
     ("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%l1, {0, -1}], [%r2];",
      "at the coordinates 0, -1, and a copy to global memory has none below zero")],
)  # fmt: skip
def test_coordinates_at_which_a_gpu_stops_are_a_fault(copy: str, words: str) -> None:
    kind, message = _fault(_load(copy=copy))
    assert kind == "tensor map"
    assert words in message


@pytest.mark.parametrize(("rank", "most"), [(3, 65535), (4, 255), (5, 31)])
def test_an_im2col_offset_has_as_many_bits_as_there_is_room_for(rank: int, most: int) -> None:
    shape, inner = [8, 7, 6, 3, 2][-rank:], rank - 2
    shape[0] = 8
    map_ = {"array": np.zeros(8 * 7 * 6 * 3 * 2, np.float32), "box": [8, 16], "shape": shape,
            "lower": [-1] * inner, "upper": [0] * inner}  # fmt: skip

    def copy(offset: int) -> str:
        offsets = ", ".join([str(offset), *["0"] * (inner - 1)])
        return _load(
            copy=f"""cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col\
.mbarrier::complete_tx::bytes [%r2], [%l1, {{{", ".join("0" * rank)}}}], [%r3], {{{offsets}}};"""
        )

    out = np.zeros(SIZE, np.uint8)
    run(parse(copy(most)), "k", 1, 32, [TensorMap(**map_), out])
    if rank > 3:
        kind, message = _fault(copy(most + 1), **map_)
        assert (kind, f"each is below {most + 1}" in message) == ("tensor map", True)


def test_interleaved_pixels_are_refused_by_name() -> None:
    map_ = _map(array=np.zeros(8 * 7 * 6 * 4, np.float32), box=[8, 8], shape=[8, 7, 6, 4],
                lower=[0, 0], upper=[0, -1], interleave="16B")  # fmt: skip
    with pytest.raises(LaunchError, match="im2col are not executed: NVIDIA does not document"):
        launch(parse(_load()), "k", 1, 32, [map_, np.zeros(SIZE, np.uint8)])


def test_bytes_that_are_no_map_and_a_map_for_a_number_are_refused() -> None:
    assert _fault(_load(), given=bytes(128))[0] == "tensor map"
    text = _load().replace(".param .u64 bytes)", ".param .u64 bytes, .param .u32 n)")
    with pytest.raises(LaunchError, match="is a tensor map"):
        launch(parse(text), "k", 1, 32, [_map(), np.zeros(SIZE, np.uint8), _map()])


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"box": [18, 8]}, "multiple of 16"), ({"box": [16, 257]}, "from 1 to 256"),
     ({"box": [16]}, "2 numbers"), ({"swizzle": "32B"}, "takes no more"),
     ({"shape": [33, 7]}, "multiple of 16"),
     ({"steps": [1, 9]}, "from 1 to 8"), ({"interleave": "16B"}, "from 3"),
     ({"element": "f16"}, "array of float32"),
     ({"fill": "nan", "element": "u32"}, "no floating"), ({"offset": 1}, "begins at"),
     ({"shape": [4, 2, 2, 2, 2, 2]}, "dimensions"), ({"swizzle": "16B"}, "known are")],
)  # fmt: skip
def test_a_map_that_the_driver_or_this_refuses_is_refused(changed: Any, words: str) -> None:
    with pytest.raises(LaunchError, match=words):
        launch(parse(_load()), "k", 1, 32, [_map(**changed), np.zeros(SIZE, np.uint8)])


@pytest.mark.parametrize(
    ("text", "words"),
    [("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.multicast::cluster "
      "[%l1, {0, 0}], [%r2], %h1;", "`cp"),
     (COPY.replace("shared::cluster", "shared::cta").replace("[%r3];", "[%r3], %h1;")
      .replace("bytes [", "bytes.multicast::cluster ["), "`cp"),
     (COPY.replace("tile", "tile::gather4"), "another architecture"),
     (COPY.replace("{0, 0}", "{0, 0, 0}"), "3 coordinates"),
     (COPY.replace("2d", "6d"), "`cp"), (COPY.replace("2d", "2d.x"), "`cp"),
     ("tensormap.replace.tile.rank.shared::cta.b1024.b64 [%r2], %l1;", "`tensormap"),
     ("tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r2], 3;", "not supported"),
     ("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 5, %r1;", "no box_dim 5")],
)  # fmt: skip
def test_other_forms_are_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(UnknownInstruction, match=words):
        launch(parse(kernel(text)), "k", 1, 1, [_map(), np.zeros(1, np.uint8)])


def changed_map(box: int = 32) -> str:
    """A kernel that copies its tensor map to shared memory, changes the tensor, box and swizzle
    there, copies the map to global memory, and loads a tile with it."""
    words = " ".join(
        f"ld.param.u64 %l9, [map+{n}]; st.shared.u64 [%r2+{n}], %l9;" for n in range(0, 128, 8)
    )
    replace = "".join(
        f"tensormap.replace.tile.{field}.shared::cta.b1024.{type_} [%r2], {value};\n"
        for field, type_, value in (
            ("global_address", "b64", "%l4"), ("rank", "b32", "1"), ("global_dim", "b32", "0, 60"),
            ("global_dim", "b32", "1, 16"), ("global_stride", "b64", "0, 256"),
            ("box_dim", "b32", f"0, {box}"),
            ("box_dim", "b32", "1, 4"), ("element_stride", "b32", "1, 1"), ("elemtype", "b32", "7"),
            ("swizzle_mode", "b32", "3"), ("fill_mode", "b32", "1"),
            ("interleave_layout", "b32", "0"),
        )
    )  # fmt: skip
    body = f"""{INIT} ld.param.u64 %l3, [made]; ld.param.u64 %l4, [new]; @%p1 bra COPIES;
        {words} {replace} COPIES: bar.sync 0;
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
        [%l3], [%r2], 128;
        fence.proxy.tensormap::generic.acquire.gpu [%l3], 128;
        @%p1 bra WAITS; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {SIZE};
        {COPY.replace("%l1", "%l3").replace("[%r2]", "[%r2+1024]").replace("{0, 0}", "{48, 13}")}
        WAITS: {WAIT} add.u32 %r2, %r2, 1024; {DUMP.format(SIZE)}"""
    return kernel(body, ", .param .u64 made, .param .u64 new")


def of_changed_map() -> tuple[list[Any], np.ndarray]:
    """The kernel's arguments, and the tile that it leaves in the second one."""
    array = np.arange(64 * 16, dtype=np.float32)
    found = tensors.places([60, 16], [4, 256], [32, 4], [1, 1], [48, 13])
    elements = tensors.loaded(array.tobytes(), found, 4, b"\xf7\x7f\xf7\x7f")
    wanted = tensors.of_bytes(elements, tensors.in_shared(128, 4, 128))
    return [_map(), np.zeros(SIZE, np.uint8), np.zeros(16, np.uint64), array], wanted


def test_a_map_that_a_kernel_changes_copies_what_it_says_then() -> None:
    given, wanted = of_changed_map()
    run(parse(changed_map()), "k", 1, 32, given)
    assert (given[1] == wanted).all()
    report = launch(parse(changed_map(31)), "k", 1, 32, given)
    assert [f.kind for f in report.faults] == ["tensor map"]
