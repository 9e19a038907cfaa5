"""What a tensor says of itself, and the ways out: numbers, lists, arrays, pickles, copies."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from expect import raises

import cafe
from cafe import Device, DType, Tensor, Var
from cafe.errors import Error, UnexpectedDType, UnexpectedNumberOfDims

# -- what it is


def test_metadata() -> None:
    t = Tensor.zeros((2, 3, 4), "f64")

    assert (t.shape, t.dims(), t.rank, t.ndim, t.elem_count(), len(t)) == ((2, 3, 4), [2, 3, 4], 3, 3, 24, 2)
    assert t.dtype is DType.F64 and t.device is Device.Cpu and not t.is_variable() and not t.track_op()
    assert Tensor(1.0).elem_count() == 1 and Tensor.zeros((2, 0)).elem_count() == 0


def test_dims_of_a_rank() -> None:
    t = Tensor.zeros((2, 3))

    assert t.dims2() == (2, 3) and Tensor(1.0).dims0() == () and Tensor([1.0]).dims1() == 1
    assert Tensor.zeros((1, 2, 3)).dims3() == (1, 2, 3) and Tensor.zeros((1,) * 4).dims4() == (1,) * 4
    assert Tensor.zeros((1,) * 5).dims5() == (1,) * 5
    for rank, dims in enumerate((t.dims0, t.dims1, None, t.dims3, t.dims4, t.dims5)):
        if dims is not None:
            with raises(UnexpectedNumberOfDims, f"unexpected rank, expected: {rank}, got: 2 ([2, 3])"):
                dims()


def test_strides_are_in_elements() -> None:
    t = Tensor.zeros((2, 3, 4))

    assert t.stride == (12, 4, 1) and t.t().stride == (12, 1, 4)
    assert t.narrow(2, 1, 2).stride == (12, 4, 1) and t[:, ::2, ::-1].stride == (12, 8, -1)
    assert Tensor([1.0]).broadcast_as((3, 1)).stride[0] == 0
    assert Tensor.zeros((2, 0, 3)).stride == (0, 3, 1) and Tensor(1.0).stride == ()


def test_contiguity() -> None:
    t = Tensor.zeros((2, 3))

    assert t.is_contiguous() and not t.is_fortran_contiguous()
    assert not t.t().is_contiguous() and t.t().is_fortran_contiguous()
    assert t[1:].is_contiguous() and not t[:, 1:].is_contiguous()
    assert Tensor.zeros((2, 1)).t().is_contiguous()  # dims of size 1 do not count
    assert t.t().contiguous().is_contiguous() and t.contiguous() is t


def test_ids_differ_and_variables_keep_theirs() -> None:
    a = Tensor([1.0])
    v = Var([1.0])
    before = v.id
    v.set(Tensor([2.0]))

    assert len({a.id, (a * 1.0).id, Tensor([1.0]).id}) == 3 and v.id == before


# -- numbers and lists


def test_scalars() -> None:
    assert Tensor(1.5).to_scalar() == 1.5 and Tensor(3).to_vec0() == 3
    assert type(Tensor(3).to_scalar()) is int and type(Tensor(3.0, "bf16").to_scalar()) is float
    assert Tensor(1.5).to_scalar(DType.F32) == 1.5 and Tensor(1.5).to_scalar("f32") == 1.5
    with raises(UnexpectedNumberOfDims, "unexpected rank, expected: 0, got: 1 ([1])"):
        Tensor([1.0]).to_scalar()


def test_a_named_dtype_must_be_the_tensors() -> None:
    with raises(UnexpectedDType, "unexpected dtype, expected: F32, got: F64", "`to_dtype` converts"):
        Tensor(1.0, "f64").to_scalar("f32")
    with raises(UnexpectedDType, "unexpected dtype, expected: U8, got: I64"):
        Tensor([1]).to_vec1("u8")


def test_lists_of_a_rank() -> None:
    assert Tensor([1, 2]).to_vec1() == [1, 2]
    assert Tensor([[1.0, 2.0]]).to_vec2() == [[1.0, 2.0]]
    assert Tensor([[[1]], [[2]]]).to_vec3() == [[[1]], [[2]]]
    assert Tensor.zeros((1, 1, 1, 1)).tolist() == [[[[0.0]]]]
    assert Tensor([[1, 2], [3, 4]]).t().tolist() == [[1, 3], [2, 4]]
    for t, call, rank in ((Tensor(1), "to_vec1", 1), (Tensor([1]), "to_vec2", 2), (Tensor([1]), "to_vec3", 3)):
        with raises(UnexpectedNumberOfDims, f"unexpected rank, expected: {rank}, got: {t.rank} ({t.dims()})"):
            getattr(t, call)()


@pytest.mark.parametrize("dtype", list(DType))
def test_lists_of_every_dtype(dtype: DType) -> None:
    values = Tensor([0, 1, 100], dtype).tolist()

    assert values == [0, 1, 100] and all(type(v) is (float if dtype.is_float else int) for v in values)


def test_an_item_is_one_element_of_any_rank() -> None:
    assert Tensor([[2.5]]).item() == 2.5 and Tensor([[7]]).item() == 7 and Tensor([1.5], "bf16").item() == 1.5
    with raises(Error, "item: a tensor of one element is wanted, got shape [2]"):
        Tensor([1.0, 2.0]).item()
    with raises(Error, "item: a tensor of one element is wanted, got shape [0]"):
        Tensor([]).item()


def test_python_conversions_want_one_element() -> None:
    assert float(Tensor([[2.5]])) == 2.5 and int(Tensor(2.9)) == 2 and bool(Tensor(0.0)) is False and bool(Tensor([3]))
    assert operator.index(Tensor(3)) == 3 and [10, 20, 30][Tensor([1])] == 20
    assert f"{Tensor(2.5):.2f}" == "2.50" and f"{Tensor([1])}" == str(Tensor([1]))
    with raises(TypeError, "a F32 tensor is no index"):
        operator.index(Tensor(3.0))
    with raises(Error, "the truth of a tensor of shape [2] is ambiguous", "reduce it to one element first"):
        bool(Tensor([1.0, 1.0]))
    with raises(Error, "the truth of a tensor of shape [0] is ambiguous"):
        bool(Tensor([]))
    for convert in (float, int):
        with raises(Error, "item: a tensor of one element is wanted, got shape [2]"):
            convert(Tensor([1.0, 2.0]))


def test_iteration_runs_over_the_first_dim() -> None:
    t = Tensor([[1, 2], [3, 4], [5, 6]])

    assert [row.tolist() for row in t] == [[1, 2], [3, 4], [5, 6]] and len(t) == 3
    a, b, c = t
    assert c.dims() == [2] and a.tolist() == [1, 2] and b.tolist() == [3, 4]
    with raises(TypeError, "a rank-0 tensor cannot be iterated over"):
        iter(Tensor(1.0))
    with raises(TypeError, "a rank-0 tensor has no length"):
        len(Tensor(1.0))


def test_membership_is_by_value() -> None:
    t = Tensor([[1.0, 2.0]])

    assert 2.0 in t and 3.0 not in t and Tensor(2.0) in t and Tensor([1.0, 2.0]) in t


# -- arrays


def test_numpy_gives_a_read_only_view() -> None:
    t = Tensor([[1.0, 2.0], [3.0, 4.0]])
    array = t.t().numpy()

    assert array.tolist() == [[1, 3], [2, 4]] and not array.flags.writeable and np.shares_memory(array, t.numpy())
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 5.0
    array.copy()[0, 0] = 5.0


def test_arrays_from_tensors() -> None:
    t = Tensor([1.5, 2.5])

    assert np.asarray(t).dtype == np.float32 and np.asarray(t, np.float64).tolist() == [1.5, 2.5]
    assert np.array(t, copy=True).flags.writeable and not np.shares_memory(np.array(t), t.numpy())
    assert np.asarray(Tensor([1.0], "bf16")).dtype == ml_dtypes.bfloat16
    assert np.stack([t, t]).shape == (2, 2)
    with raises(ValueError, "a F32 tensor cannot be seen as int64 without a copy"):
        np.asarray(t, np.int64, copy=False)  # type: ignore[call-overload]
    assert np.shares_memory(np.asarray(t, copy=False), t.numpy())  # type: ignore[call-overload]


def test_a_variables_array_follows_it() -> None:
    v = Var([1.0, 2.0])
    array = v.numpy()
    v.set(Tensor([3.0, 4.0]))

    assert array.tolist() == [3.0, 4.0]


# -- pickles and copies


@pytest.mark.parametrize("dtype", list(DType))
def test_pickling_keeps_dtype_shape_and_bits(dtype: DType) -> None:
    t = Tensor(np.arange(6).reshape(2, 3)).to_dtype(dtype).t()
    back = pickle.loads(pickle.dumps(t))

    assert back.dtype is dtype and back.shape == (3, 2) and back.tolist() == t.tolist() and type(back) is Tensor
    scalar = pickle.loads(pickle.dumps(Tensor(1, dtype)))
    assert scalar.shape == () and scalar.dtype is dtype


def test_pickled_variables_are_variables() -> None:
    v = Var([1.0, 2.0])
    back = pickle.loads(pickle.dumps(v))

    assert isinstance(back, Var) and back.tolist() == [1.0, 2.0] and back.id != v.id
    assert back.sqr().sum_all().backward()[back].tolist() == [2.0, 4.0]


def test_a_pickled_result_leaves_the_graph() -> None:
    y = Var([1.0]) * 2.0

    assert not pickle.loads(pickle.dumps(y)).track_op()


def test_facts_pickle_to_themselves() -> None:
    assert pickle.loads(pickle.dumps(DType.BF16)) is DType.BF16 and pickle.loads(pickle.dumps(Device.Cpu)) is Device.Cpu
    assert copy.deepcopy(Device.Cpu) is Device.Cpu and copy.deepcopy(DType.F32) is DType.F32
    minus = pickle.loads(pickle.dumps(cafe.D.Minus(3)))
    assert minus == cafe.D.Minus(3) and hash(minus) == hash(cafe.D.Minus(3)) and repr(minus) == "Minus(3)"


def test_copies() -> None:
    v = Var([1.0, 2.0])
    model = {"w": v, "same": v, "t": v * 2.0}
    deep = copy.deepcopy(model)

    assert copy.copy(v) is v
    assert isinstance(deep["w"], Var) and deep["w"] is deep["same"] and deep["w"].id != v.id and not deep["t"].track_op()
    v.set(Tensor([9.0, 9.0]))
    assert deep["w"].tolist() == [1.0, 2.0]
    copied = v.copy()
    v.set(Tensor([0.0, 0.0]))
    assert copied.tolist() == [9.0, 9.0] and copied.track_op()


# -- dtypes


def test_casts_follow_rust() -> None:
    """Floats truncate and are held at the bounds, NaN gives 0; integers wrap."""
    x = Tensor([-1.9, 255.7, 300.0, math.nan, math.inf, -math.inf, 2.5])
    assert x.to_dtype("u8").tolist() == [0, 255, 255, 0, 255, 0, 2]
    assert x.to_dtype("i64").tolist() == [-1, 255, 300, 0, 2**63 - 1, -(2**63), 2]
    assert x.to_dtype("i16").tolist() == [-1, 255, 300, 0, 32767, -32768, 2]
    assert x.to_dtype("u32").tolist() == [0, 255, 300, 0, 2**32 - 1, 0, 2]
    assert Tensor([300, -1, 2**40 + 7]).to_dtype("u8").tolist() == [44, 255, 7]
    assert Tensor([1e300], "f64").to_dtype("f32").tolist() == [math.inf]
    assert Tensor([2.0**63], "f64").to_dtype("i64").tolist() == [2**63 - 1]
    for half in ("f16", "bf16"):
        assert Tensor([-1.5, 300.0, math.nan], half).to_dtype("u8").tolist() == [0, 255, 0]


def test_half_precision_rounds_to_even_and_keeps_subnormals() -> None:
    given = [65504.0, 65519.0, 65520.0, 65536.0, 2.0**-15, 2.0**-24, 2.0**-25, 1.0001 * 2.0**-25]
    wanted = [65504.0, 65504.0, math.inf, math.inf, 2.0**-15, 2.0**-24, 0.0, 2.0**-24]

    assert Tensor(given).to_dtype("f16").tolist() == wanted
    assert Tensor(given, "f64").to_dtype("f16").tolist() == wanted
    assert Tensor([1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, 3.4e38]).to_dtype("bf16").tolist() == [1.0, 1.0 + 2.0**-6, math.inf]


def test_the_same_dtype_gives_itself() -> None:
    t = Tensor([1.0])

    assert t.to_dtype("f32") is t and t.to_dtype(np.float32) is t and t.to_dtype("f64") is not t


def test_dtype_facts() -> None:
    assert [str(d) for d in DType] == ["u8", "u32", "i16", "i32", "i64", "bf16", "f16", "f32", "f64"]
    assert [d.size_in_bytes for d in DType] == [1, 4, 2, 4, 8, 2, 2, 4, 8]
    assert [repr(d) for d in DType if d.is_float] == ["BF16", "F16", "F32", "F64"]
    assert all(DType.from_str(str(d)) is d and d.is_int != d.is_float for d in DType)


# -- where things are not


@pytest.mark.parametrize(
    "name, place",
    [
        ("softmax", "cafe.nn.ops.softmax"),
        ("sigmoid", "cafe.nn.ops.sigmoid"),
        ("log_softmax", "cafe.nn.ops.log_softmax"),
        ("read_npy", "cafe.io.npy.read_npy"),
        ("cross_entropy", "cafe.nn.loss.cross_entropy"),
    ],
)
def test_functions_that_are_no_methods_say_where_they_are(name: str, place: str) -> None:
    with raises(AttributeError, f"a Tensor has no method `{name}`: it is the function `{place}`"):
        getattr(Tensor([1.0]), name)


def test_an_unknown_name_is_a_plain_attribute_error() -> None:
    with raises(AttributeError, "'Tensor' object has no attribute 'nonsense'"):
        getattr(Tensor([1.0]), "nonsense")  # noqa: B009
    assert not hasattr(Var([1.0]), "grad")


def test_attributes_cannot_be_invented() -> None:
    t: Any = Tensor([1.0])
    with pytest.raises(AttributeError):
        t.requires_grad = True
    with pytest.raises(AttributeError):
        t.shape = (1, 1)
