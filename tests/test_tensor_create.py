"""Constructors: what data becomes, counts, ranges, random tensors, other people's arrays."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from expect import raises

import cafe
from cafe import D, Device, DType, Tensor, Var
from cafe.errors import (
    DTypeParse,
    Error,
    IntegerOverflow,
    OpRequiresAtLeastTwoTensors,
    ShapeMismatch,
    UnexpectedNumberOfDims,
    UnsupportedDTypeForOp,
)

# -- data


@pytest.mark.parametrize(
    "data, dtype, shape",
    [
        (1.5, DType.F32, ()),
        (3, DType.I64, ()),
        (True, DType.U8, ()),
        ([1.0, 2.0], DType.F32, (2,)),
        ([1, 2.5], DType.F32, (2,)),
        ([True, False], DType.U8, (2,)),
        ([True, 2], DType.I64, (2,)),
        (((1, 2), (3, 4), (5, 6)), DType.I64, (3, 2)),
        ([[[1.0]]], DType.F32, (1, 1, 1)),
        ([], DType.F32, (0,)),
        ([[], []], DType.F32, (2, 0)),
        (range(4), DType.I64, (4,)),
        (np.float64(1.0), DType.F64, ()),
        (np.zeros((2, 3), np.int16), DType.I16, (2, 3)),
        (np.array([True, False]), DType.U8, (2,)),
        (np.zeros(2, ml_dtypes.bfloat16), DType.BF16, (2,)),
        (np.zeros(2, ">f4"), DType.F32, (2,)),
        ([np.zeros(2), np.ones(2)], DType.F32, (2, 2)),
    ],
)
def test_what_data_becomes(data: Any, dtype: DType, shape: tuple[int, ...]) -> None:
    for t in (Tensor(data), Tensor.new(data), Var(data)):
        assert (t.dtype, t.shape) == (dtype, shape)


def test_a_named_dtype_is_rounded_to_once() -> None:
    assert Tensor(0.1, "f64").to_scalar() == 0.1
    assert Tensor([1, 2], DType.F16).dtype is DType.F16
    assert Tensor([1, 2], np.uint32).dtype is DType.U32
    assert Tensor(1 + 2.0**-11 + 2.0**-30, "f16").to_scalar() == 1 + 2.0**-10  # through F32 it would be a tie, and 1


def test_data_is_copied() -> None:
    array = np.ones(3, np.float32)
    t = Tensor(array)
    array[0] = 7.0

    assert t.tolist() == [1.0, 1.0, 1.0]


def test_tensors_nest() -> None:
    row = Tensor([1.0, 2.0])

    assert Tensor([row, row * 2.0]).tolist() == [[1.0, 2.0], [2.0, 4.0]]
    assert Tensor(Tensor([1, 2])).tolist() == [1, 2]


def test_ragged_data_is_refused() -> None:
    with raises(Error, "two elements have different len 2 1"):
        Tensor([[1.0, 2.0], [3.0]])
    with raises(Error, "two elements have different shapes [2] []"):
        Tensor([[1.0, 2.0], 3.0])
    with raises(Error, "two elements have different shapes [] [2]"):
        Tensor([1.0, [2.0, 3.0]])
    with raises(Error, "two elements have different shapes [2] [3]"):
        Tensor([np.zeros(2), np.zeros(3)])


def test_what_is_no_number_is_refused() -> None:
    with raises(TypeError, "a tensor holds numbers, found str"):
        Tensor("text")
    with raises(TypeError, "a tensor holds numbers, found NoneType"):
        Tensor([1.0, None])
    with raises(TypeError, "a tensor holds numbers, found complex"):
        Tensor([1j])


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.uint64, np.complex64, np.longdouble, object, "U3"])
def test_a_dtype_that_cafe_lacks_is_an_error(dtype: Any) -> None:
    with pytest.raises(UnsupportedDTypeForOp, match="for op new"):
        Tensor(np.zeros(2, dtype))


def test_integers_must_fit() -> None:
    with raises(IntegerOverflow, "0 .. 300 does not fit U8"):
        Tensor([0, 300], "u8")
    with raises(IntegerOverflow, "-1 .. 1 does not fit U32"):
        Tensor([1, -1], "u32")
    with raises(IntegerOverflow, f"0 .. {2**63} does not fit I64"):
        Tensor([0, 2**63])
    assert Tensor([255], "u8").tolist() == [255] and Tensor(-(2**63)).to_scalar() == -(2**63)


def test_floats_are_not_cut_to_integers() -> None:
    with raises(Error, "cannot make a I64 tensor from floats", "`Tensor(data).to_dtype"):
        Tensor([1.5], "i64")


def test_devices() -> None:
    assert Tensor([1.0], device=Device.Cpu).device is Device.Cpu
    with raises(TypeError, "expected a Device, found str"):
        Tensor([1.0], device="cpu")  # type: ignore[arg-type]
    with raises(TypeError, "expected a Device, found str"):
        Tensor.zeros((2,), device="cpu")  # type: ignore[arg-type]


def test_dtypes_by_any_name() -> None:
    for name in ("f16", DType.F16, np.float16, np.dtype("float16"), "float16"):
        assert Tensor.zeros(1, name).dtype is DType.F16
    for name in ("f8", "i8", "u4", "float", "F32", "int8", ""):  # NumPy's f8 has eight bytes, ours would have eight bits
        with raises(DTypeParse, f"cannot parse '{name}' as a dtype", "one of u8, u32, i16"):
            Tensor.zeros(1, name)
    with raises(DTypeParse, "cannot parse '3' as a dtype"):
        Tensor.zeros(1, 3)  # type: ignore[arg-type]


# -- shapes and counts


@pytest.mark.parametrize("dtype", list(DType))
def test_zeros_and_ones_of_every_dtype(dtype: DType) -> None:
    for t, value in ((Tensor.zeros((2, 3), dtype), 0), (Tensor.ones((2, 3), dtype), 1), (Tensor.full(1, (2, 3), dtype), 1)):
        assert t.dtype is dtype and t.to_dtype("f64").tolist() == [[value] * 3] * 2
        assert t.is_contiguous()


def test_shapes_are_ints_tuples_or_lists() -> None:
    for shape, dims in ((3, [3]), ((2, 3), [2, 3]), ([2, 3], [2, 3]), ((), []), ((0, 2), [0, 2])):
        assert Tensor.zeros(shape).dims() == dims
    with raises(Error, "a shape has sizes of at least 0, got [2, -1]"):
        Tensor.zeros((2, -1))


def test_full_has_the_value_first_and_its_dtype() -> None:
    assert Tensor.full(42, (2, 3)).dtype is DType.I64
    assert Tensor.full(0.5, 2).dtype is DType.F32
    assert Tensor.full(np.uint32(7), 2).dtype is DType.U32
    assert Tensor.full(42, (2, 3), "u32").tolist() == [[42] * 3] * 2
    assert Tensor.full(math.inf, 1).tolist() == [math.inf]
    with raises(Error, "full: a U8 tensor takes integers, got 0.5"):
        Tensor.full(0.5, 2, "u8")
    with raises(IntegerOverflow, "full: 256 does not fit U8"):
        Tensor.full(256, 2, "u8")


def test_from_vec_counts() -> None:
    assert Tensor.from_vec([1, 2, 3, 4, 5, 6], (2, 3)).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert Tensor.from_slice([1.0, 2.0], (2, 1)).tolist() == [[1.0], [2.0]]
    for hole in (-1, None, ()):
        assert Tensor.from_vec(range(6), (2, hole)).dims() == [2, 3]
    with raises(ShapeMismatch, "Shape mismatch, got buffer of size 6 which is compatible with shape [2, 2]"):
        Tensor.from_vec(range(6), (2, 2))
    with raises(Error, "cannot reshape tensor with 10 elements to ((), 3)"):
        Tensor.from_vec(range(10), ((), 3))
    with raises(Error, "cannot reshape tensor of 10 elements to ((), 0)"):
        Tensor.from_vec(range(10), ((), 0))
    with raises(Error, "a shape has at most one hole, got 2 in (-1, -1)"):
        Tensor.from_vec(range(10), (-1, -1))
    with raises(UnexpectedNumberOfDims, "unexpected rank, expected: 1, got: 2 ([1, 1])"):
        Tensor.from_vec([[1]], (1,))


def test_raw_bytes() -> None:
    for dtype in DType:
        t = Tensor([1, 2, 3, 100], dtype).reshape((2, 2))
        back = Tensor.from_raw_buffer(t.numpy().tobytes(), dtype, (2, 2))
        assert back.dtype is dtype and back.tolist() == t.tolist() and Var.from_raw_buffer(b"", dtype, (0, 3)).dims() == [0, 3]
    with raises(Error, "from_raw_buffer: 5 bytes are no whole number of F32"):
        Tensor.from_raw_buffer(b"12345", "f32", (1,))
    with raises(ShapeMismatch, "Shape mismatch, got buffer of size 2 which is compatible with shape [3]"):
        Tensor.from_raw_buffer(b"12345678", "f32", 3)


def test_from_iter() -> None:
    assert Tensor.from_iter(i * i for i in range(4)).tolist() == [0, 1, 4, 9]
    assert Tensor.from_vec((i * i for i in range(4)), (2, 2)).tolist() == [[0, 1], [4, 9]]


# -- ranges


@pytest.mark.parametrize(
    "start, end, step, values",
    [
        (0, 5, 1, [0, 1, 2, 3, 4]),
        (0, 5, 2, [0, 2, 4]),
        (0, 6, 3, [0, 3]),
        (5, 0, -1, [5, 4, 3, 2, 1]),
        (5, 0, -2, [5, 3, 1]),
        (3, 3, 1, []),
        (4, 3, 1, []),
        (0.0, 1.0, 0.25, [0.0, 0.25, 0.5, 0.75]),
        (1.0, 0.0, -0.5, [1.0, 0.5]),
    ],
)
def test_arange(start: Any, end: Any, step: Any, values: list[Any]) -> None:
    t = Tensor.arange_step(start, end, step)

    assert t.tolist() == values
    assert t.dtype is (DType.F32 if isinstance(step, float) else DType.I64)


def test_arange_has_the_length_of_the_formula() -> None:
    """⌈(end − start) / step⌉ items, each start + i · step: the sums of steps that others take drift."""
    for dtype in ("f32", "f64"):
        t = Tensor.arange_step(0.0, 1.0, 0.1, dtype)
        assert t.dims() == [10] and t.tolist() == Tensor([i * 0.1 for i in range(10)], dtype).tolist()
    assert Tensor.arange_step(1.0, 1.3, 0.1).dims() == [4]


def test_arange_by_default() -> None:
    assert Tensor.arange(0, 4).tolist() == [0, 1, 2, 3] and Tensor.arange(0, 4).dtype is DType.I64
    assert Tensor.arange(0.0, 3.0).dtype is DType.F32
    assert Tensor.arange(0, 3, "u8").tolist() == [0, 1, 2]
    assert Tensor.arange(2.5, 5).tolist() == [2.5, 3.5, 4.5]
    assert Tensor.arange(0, 2.5).tolist() == [0.0, 1.0, 2.0]
    with raises(Error, "step cannot be zero"):
        Tensor.arange_step(0, 1, 0)
    with pytest.raises(IntegerOverflow, match="does not fit U8"):
        Tensor.arange(0, 300, "u8")


def test_linspace() -> None:
    assert Tensor.linspace(0, 1, 5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert Tensor.linspace(3, 7, 1).tolist() == [3.0] and Tensor.linspace(0, 1, 0).dims() == [0]
    assert Tensor.linspace(1, -1, 3, "f64").tolist() == [1.0, 0.0, -1.0]
    assert Tensor.linspace(0.1, 0.7, 7)[6].to_scalar() == np.float32(0.7)
    with raises(Error, "linspace: steps must be at least 0, got -1"):
        Tensor.linspace(0, 1, -1)
    with raises(UnsupportedDTypeForOp, "unsupported dtype I64 for op linspace"):
        Tensor.linspace(0, 1, 2, "i64")


def test_triangles_and_eye() -> None:
    assert Tensor.eye(3).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]] and Tensor.eye(3).dtype is DType.F32
    assert Tensor.tril2(3, "u8").tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert Tensor.triu2(3, "i64").tolist() == [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    assert Tensor.eye(0).dims() == [0, 0] and Tensor.triu2(2, "bf16").is_contiguous()


def test_meshgrid() -> None:
    x, y = Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0])

    ij = Tensor.meshgrid([x, y])
    assert [g.tolist() for g in ij] == [[[1, 1], [2, 2], [3, 3]], [[4, 5], [4, 5], [4, 5]]]
    xy = Tensor.meshgrid([x, y], True)
    assert [g.tolist() for g in xy] == [[[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]]]
    for flag, indexing in ((False, "ij"), (True, "xy")):
        three = Tensor.meshgrid([x, y, Tensor([6.0, 7.0])], flag)
        wanted = np.meshgrid([1, 2, 3], [4, 5], [6, 7], indexing=indexing)  # type: ignore[call-overload]
        assert [g.tolist() for g in three] == [w.tolist() for w in wanted]
    assert [g.dims() for g in Tensor.meshgrid([x, Tensor([])])] == [[3, 0], [3, 0]]


def test_meshgrid_refuses() -> None:
    with raises(OpRequiresAtLeastTwoTensors, "meshgrid expects at least two tensors"):
        Tensor.meshgrid([Tensor([1.0])])
    with raises(UnexpectedNumberOfDims, "unexpected rank, expected: 1, got: 2 ([1, 1])"):
        Tensor.meshgrid([Tensor([1.0]), Tensor([[1.0]])])


def test_meshgrid_has_a_gradient() -> None:
    x, y = Var([1.0, 2.0]), Var([3.0, 4.0, 5.0])
    a, b = Tensor.meshgrid([x, y])
    grads = (a * b).sum_all().backward()

    assert grads[x].tolist() == [12.0, 12.0] and grads[y].tolist() == [3.0, 3.0, 3.0]


# -- random


def test_uniform_stays_in_its_bounds() -> None:
    for dtype in ("f16", "bf16", "f32", "f64"):
        t = Tensor.rand(-1.0, 2.0, (1000,), dtype).to_dtype("f64").numpy()
        assert t.min() >= -1.0 and t.max() < 2.0 and abs(t.mean() - 0.5) < 0.1
    assert Tensor.rand(0.0, 1.0, (2, 3)).dims() == [2, 3]


def test_normal_has_its_moments() -> None:
    t = Tensor.randn(3.0, 2.0, (20001,), "f64").numpy()

    assert abs(t.mean() - 3.0) < 0.06 and abs(t.std() - 2.0) < 0.05 and t.min() < -2.0


def test_no_number_of_a_small_draw_is_the_same_each_time() -> None:
    """A generator that makes numbers in pairs once left one of them fixed."""
    draws = np.array([Tensor.randn(0.0, 1.0, 2).tolist() for _ in range(100)])

    assert len(set(draws[:, 0])) == 100 and len(set(draws[:, 1])) == 100


def test_seeds_and_states() -> None:
    cafe.manual_seed(7)
    first = Tensor.randn(0.0, 1.0, 5).tolist()
    state = cafe.get_rng_state()
    second = Tensor.rand(0.0, 1.0, 5).tolist()
    cafe.set_rng_state(state)
    assert Tensor.rand(0.0, 1.0, 5).tolist() == second
    Device.Cpu.set_seed(7)
    assert Tensor.randn(0.0, 1.0, 5).tolist() == first and Device.Cpu.get_current_seed() == 7
    assert Tensor.randn(0.0, 1.0, 5).tolist() != first


def test_random_tensors_are_floats() -> None:
    with raises(UnsupportedDTypeForOp, "unsupported dtype U32 for op rand_uniform"):
        Tensor.rand(0, 10, 3, "u32")
    with raises(UnsupportedDTypeForOp, "unsupported dtype I64 for op rand_normal"):
        Tensor.randn(0, 1, 3, "i64")


def test_like_takes_shape_and_dtype() -> None:
    t = Tensor.zeros((2, 3), "f64")
    for other in (t.zeros_like(), t.ones_like(), t.full_like(7), t.rand_like(0.0, 1.0), t.randn_like(0.0, 1.0)):
        assert other.shape == (2, 3) and other.dtype is DType.F64
    assert t.full_like(7).tolist() == [[7.0] * 3] * 2


# -- other people's arrays


def test_from_numpy_shares_memory() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    t = Tensor.from_numpy(array.T)
    array[0, 1] = 9.0

    assert t.tolist() == [[0, 3], [9, 4], [2, 5]] and t.stride == (1, 3)
    assert Tensor.from_numpy(np.array([True, False])).dtype is DType.U8
    assert Tensor.from_numpy(np.array([1.0, 2.0], ">f8")).tolist() == [1.0, 2.0]
    with raises(TypeError, "from_numpy: expected an ndarray, found list"):
        Tensor.from_numpy([1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8"])
def test_from_numpy_copies_what_does_not_lie_whole_elements_apart(dtype: str) -> None:
    record = np.zeros((4, 6), [("flag", "u1"), ("value", dtype)])
    record["value"] = np.arange(24).reshape(4, 6)
    t = Tensor.from_numpy(record["value"])
    assert all(stride % t.dtype.size_in_bytes == 0 for stride in t._data.strides)
    if t.dtype.is_float:
        assert t.matmul(t.t()).to_vec2() == Tensor(record["value"].copy()).matmul(Tensor(record["value"].T.copy())).to_vec2()


def test_from_numpy_takes_a_subclass_for_the_array_that_it_is() -> None:
    class Odd(np.ndarray):
        def sum(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("a method of the subclass")

    array = np.arange(6.0).reshape(2, 3)
    t = Tensor.from_numpy(array.view(Odd))
    assert type(t._data) is np.ndarray and np.shares_memory(t._data, array)
    assert t.to_dtype("i64").sum(1).tolist() == [3, 12]
    with pytest.raises(UnsupportedDTypeForOp, match="for op from_numpy"):
        Tensor.from_numpy(np.zeros(1, np.uint16))


def test_dlpack_goes_both_ways() -> None:
    array = np.arange(4.0)
    t = Tensor.from_dlpack(array)
    back = np.from_dlpack(t)

    assert t.tolist() == [0, 1, 2, 3] and np.shares_memory(back, array)
    with raises(UnsupportedDTypeForOp, "unsupported dtype BF16 for op dlpack"):
        np.from_dlpack(Tensor([1.0], "bf16"))


# -- variables


def test_every_constructor_makes_variables() -> None:
    made = [
        Var.zeros((2,)), Var.ones((2,)), Var.full(1.0, (2,)), Var.rand(0.0, 1.0, (2,)), Var.randn(0.0, 1.0, (2,)), Var.new([1.0, 2.0]),
        Var.from_vec([1.0, 2.0], 2), Var.from_slice([1.0, 2.0], 2), Var.arange(0.0, 2.0), Var.linspace(0, 1, 2), Var.eye(2),
    ]  # fmt: skip
    for v in made:
        assert isinstance(v, Var) and v.is_variable() and v.track_op()


def test_what_is_made_from_a_variable_is_a_tensor() -> None:
    v = Var([[1.0, 2.0]])
    for t in (v * 2.0, v.t(), v[0], v.zeros_like(), v.detach(), v.copy(), v.sum_all(), v.rand_like(0.0, 1.0), v.contiguous().exp()):
        assert type(t) is Tensor and not t.is_variable()


def test_dims_count_from_both_ends() -> None:
    t = Tensor.zeros((2, 3, 4))

    assert [t.dim(d) for d in (0, 2, -1, D.Minus1, D.Minus2, D.Minus(3))] == [2, 4, 4, 4, 3, 2]
    with raises(IndexError, "dim: dimension index 3 out of range for shape [2, 3, 4]"):
        t.dim(3)
    with raises(IndexError, "dim: dimension index -4 out of range for shape [2, 3, 4]"):
        t.dim(D.Minus(4))
    with raises(Error, "D.Minus counts from 1, got 0"):
        D.Minus(0)
