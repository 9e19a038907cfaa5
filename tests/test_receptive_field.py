"""What the receptive-field tool counts is what an impulse, sent through real convolutions, shows."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cafe import DType, Error, Tensor, Var, nn
from cafe.tools.receptive_field import ReceptiveField, checkerboard, receptive_field
from cafe.tools.receptive_field_picture import _levels, draw_checkerboard, draw_field, draw_gridding

STACKS: list[list[tuple[int, ...]]] = [
    [(3, 1, 1), (3, 1, 1), (3, 1, 1)],
    [(3, 1, 1), (3, 2, 2), (3, 4, 1), (2, 1, 3)],
    [(3, 4, 1), (3, 4, 1), (3, 4, 1)],
    [(5, 1, 2, 2), (4, 3, 1, 1), (1, 1, 2, 0)],
]


@pytest.mark.parametrize("stack", STACKS)
def test_the_field_is_what_a_gradient_reaches(stack: list[tuple[int, ...]]) -> None:
    """The gradient of one output, through kernels of ones, counts the ways from each input to it."""
    size, place = 97, 3
    x = Var.zeros((1, 1, size), DType.F64)
    y: Any = x
    for kernel, dilation, stride, *padding in stack:
        y = y.conv1d(Tensor.ones((1, 1, kernel), DType.F64), sum(padding), stride, dilation)
    ways = y.narrow(2, place, 1).sum_all().backward()[x].flatten_all().tolist()
    found = receptive_field(stack, size)
    begin = found.start + place * found.jump

    assert found.size == y.dim(2)
    assert begin >= 0 and ways == [0] * begin + list(found.paths) + [0] * (size - begin - found.field)
    assert found.offsets == tuple(i - begin for i, n in enumerate(ways) if n)
    assert sorted((*found.offsets, *found.holes)) == list(range(found.field))


@pytest.mark.parametrize(
    "stack, fields",
    [
        ([(3, 1, 1)] * 3, [3, 5, 7]),
        ([(3, d, 1) for d in (1, 2, 4, 8, 16)], [3, 7, 15, 31, 63]),
        ([(3, 1, s) for s in (1, 2, 2, 2)], [3, 5, 9, 17]),
        ([(3, d, 1) for d in (1, 1, 2, 4, 8, 16, 1)], [3, 5, 9, 17, 33, 65, 67]),
    ],
)
def test_fields_layer_by_layer(stack: Any, fields: list[int]) -> None:
    assert [step.field for step in receptive_field(stack).steps] == fields


@pytest.mark.parametrize("dilations, seen", [((4, 4, 4), 7), ((2, 4, 8), 15), ((1, 2, 9), 21), ((1, 2, 5), 17), ((1, 2, 3), 13)])
def test_dilations_that_share_a_factor_leave_holes(dilations: tuple[int, ...], seen: int) -> None:
    field = receptive_field([(3, d, 1) for d in dilations])

    assert len(field.offsets) == seen
    assert len(field.holes) == field.field - seen


def model() -> nn.Sequential:
    vb = nn.VarBuilder.from_varmap(nn.VarMap(), DType.F32)
    head = nn.seq(nn.conv2d(4, 4, (3, 5), nn.Conv2dConfig(padding=(1, 2), dilation=(1, 1)), vb.pp("b")), nn.MaxPool2d(2))
    stem = nn.conv2d(3, 4, 7, nn.Conv2dConfig(padding=3, stride=(2, 1)), vb.pp("a"))
    last = nn.conv2d_weight_norm(4, 4, 4, nn.Conv2dConfig(padding="same"), vb.pp("c"))
    return nn.seq(stem, lambda x: x.relu(), nn.MaxPool2d(3, 2, 1), head, nn.Identity(), last)


@pytest.mark.parametrize("axis", [-1, -2])
def test_a_model_is_read_layer_by_layer_along_either_axis(axis: int) -> None:
    net, size = model(), 64
    field = receptive_field(net, size, axis)
    sizes, x = [], Tensor.zeros((1, 3, size, size))
    for layer in (net[0], net[2], *net[3], net[5]):  # type: ignore[misc]
        x = layer(x)
        sizes.append(x.dim(axis))

    assert [step.name for step in field.steps] == ["Conv2d", "MaxPool2d", "Conv2d", "MaxPool2d", "WeightNorm"]
    assert [step.size for step in field.steps] == sizes
    assert field.jump == (8 if axis == -2 else 4)


def test_nothing_sees_itself() -> None:
    empty = receptive_field([], size=5)

    assert (empty.field, empty.jump, empty.start, empty.offsets, empty.holes, empty.paths, empty.size) == (1, 1, 0, (0,), (), (1,), 5)


def test_the_table() -> None:
    assert str(receptive_field([(3, 1, 2, 1), (3, 2, 1)], 9)).splitlines() == [
        "layer   kernel  dilation  stride  padding  field  jump  holes  size",
        "3 taps       3         1       2        1      3     2      0     5",
        "3 taps       3         2       1        0     11     2      2     1",
    ]


@pytest.mark.parametrize(
    "layers, expected",
    [
        ([nn.GlobalAvgPool()], "receptive_field: GlobalAvgPool is no convolution, pooling or layer of single places"),
        ([(3, 1, 0)], "receptive_field: 3 taps: kernel, dilation and stride are at least 1 and padding at least 0, got (3, 1, 0, 0)"),
        ([(3, 1, 1), (3, 4, 1)], "receptive_field: 3 taps: a kernel of 3, dilation 4, is larger than the 6 it is given"),
    ],
)
def test_what_it_cannot_follow(layers: Any, expected: str) -> None:
    with pytest.raises(Error) as raised:
        receptive_field(layers, 8)
    assert str(raised.value) == expected


@pytest.mark.parametrize("kernel, stride", list(product((1, 2, 3, 4, 5), (1, 2, 3))))
def test_the_checkerboard_is_that_of_a_transposed_convolution(kernel: int, stride: int) -> None:
    y = Tensor.ones((1, 1, 4)).conv_transpose1d(Tensor.ones((1, 1, kernel)), stride=stride)

    assert list(checkerboard(kernel, stride, 4)) == y.flatten_all().tolist()


def field() -> ReceptiveField:
    return receptive_field([(3, 1, 1), (3, 2, 2), (3, 4, 1)])


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw_field(field(), tmp_path / "field.png")
    draw_gridding(receptive_field([(3, 4, 1)] * 2), tmp_path / "gridding.png")
    draw_checkerboard(3, 2, tmp_path / "checkerboard.png")

    for name in ("field", "gridding", "checkerboard"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_pictures_without_matplotlib_say_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("cafe.tools.receptive_field_picture._figures", None)
    with pytest.raises(Error, match="pictures need matplotlib") as raised:
        draw_field(field(), tmp_path / "x.png")
    assert raised.value.__notes__ == ["help: pip install cafe-grad[examples]"]


def test_the_picture_shows_the_places_that_are_counted() -> None:
    """The lowest level of the cone is the field's offsets, moved to its middle."""
    places, ways = _levels(field())[0]
    counted = np.array(places) + (field().field - 1) / 2.0

    assert dict(zip(counted.tolist(), ways)) == {float(i): n for i, n in enumerate(field().paths) if n}
