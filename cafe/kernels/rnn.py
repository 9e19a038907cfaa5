"""LSTM and GRU over a whole sequence, forward and backward (floor 1).

Letters: B batch, T time, H hidden size. The input's part of the gates, x wᵀ + b, comes in ready for all times: it is one matrix product.
A forward hands on its gates, which the backward takes back; the GRU's also takes None, to have them computed again.

Bound: 8 · T ulp while the recurrence forgets (weights of a layer as it starts).
"""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array

from . import _ffi
from .base import XP, composition, twins
from .memory import dense, empty

_LSTM, _LSTM_BACKWARD = _ffi.kernel("lstm"), _ffi.kernel("lstm_backward")
_GRU, _GRU_BACKWARD = _ffi.kernel("gru"), _ffi.kernel("gru_backward")


def lstm(xw: Array, h0: Array, c0: Array, w: Array, out: Array | None = None) -> tuple[Array, Array]:
    """i, f, o = σ and g = tanh of xwₜ + h w ᵀ, in the order i f g o; c ← f c + i g; h ← o tanh c.

    xw (B, T, 4H), h0 and c0 (B, H), w (4H, H) → h and c of every time side by side (B, T, 2H), and the gates (B, T, 4H).
    out: where the gates may go, in C; xw itself if nobody wants it any more.
    """
    f = _LSTM.get(xw.dtype)
    if f is None or not _of_one_dtype(xw, h0, c0, w):
        return twins.lstm(xw, h0, c0, w)  # type: ignore[return-value]
    b, t, h = sizes = _sizes(xw, h0)
    y, gates = empty((b, t, 2 * h), xw.dtype), _taken(out, (b, t, 4 * h), xw.dtype)
    _ffi.check(f(y, gates, *map(dense, (xw, h0, c0, w)), *sizes))
    return y, gates


@composition
def lstm_ref(xp: XP, xw: Array, h0: Array, c0: Array, w: Array, out: Array | None = None) -> tuple[Array, Array]:
    size = h0.shape[1]
    h, c = h0, c0
    wt = xp.permute(w, (1, 0))
    states: list[Array] = []
    gates: list[Array] = []
    for t in range(xw.shape[1]):
        a = xp.add(_at(xp, xw, t), xp.matmul(h, wt))
        i, f, g, o = (_part(xp, a, k, size) for k in range(4))
        i, f, g, o = xp.sigmoid(i), xp.sigmoid(f), xp.tanh(g), xp.sigmoid(o)
        c = xp.add(xp.mul(f, c), xp.mul(i, g))
        h = xp.mul(o, xp.tanh(c))
        states.append(xp.cat([h, c], 1))
        gates.append(xp.cat([i, f, g, o], 1))
    return _over_time(xp, states, (h0.shape[0], 2 * size), h0), _over_time(xp, gates, (h0.shape[0], 4 * size), h0)


def lstm_backward(
    grad: Array, h0: Array, c0: Array, w: Array, y: Array, gates: Array, out: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """The gradients of xw, h0, c0 and w, from the states y, the gates and grad, that of the states (B, T, 2H), or of h alone (B, T, H).

    out: where that of xw may go, in C; gates itself if nobody wants it any more.
    """
    f = _LSTM_BACKWARD.get(gates.dtype)
    if f is None or not _of_one_dtype(grad, h0, c0, w, y, gates):
        return twins.lstm_backward(grad, h0, c0, w, y, gates)  # type: ignore[return-value]
    (b, t, h), dtype = sizes, _ = _sizes(gates, h0), gates.dtype
    gxw, gh, gc, gw = _taken(out, gates.shape, dtype), empty((b, h), dtype), empty((b, h), dtype), empty(w.shape, dtype)
    given = map(dense, (grad, h0, c0, w, y, gates))
    _ffi.check(f(gxw, gh, gc, gw, empty((b, t, h), dtype), *given, *sizes, 1 if grad.shape == (b, t, h) else 2))
    return gxw, gh, gc, gw


@composition
def lstm_backward_ref(
    xp: XP, grad: Array, h0: Array, c0: Array, w: Array, y: Array, gates: Array, out: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    size = h0.shape[1]
    steps = gates.shape[1]
    gh, gc = xp.full_like(h0, 0.0), xp.full_like(c0, 0.0)
    before: list[Array] = []  # gradients of the gates before their functions, from the last time to the first
    for t in reversed(range(steps)):
        i, f, g, o = (_part(xp, _at(xp, gates, t), k, size) for k in range(4))
        c_before = _part(xp, _at(xp, y, t - 1), 1, size) if t else c0
        tanh_c = xp.tanh(_part(xp, _at(xp, y, t), 1, size))
        gh = xp.add(_part(xp, _at(xp, grad, t), 0, size), gh)
        if grad.shape[2] != size:
            gc = xp.add(_part(xp, _at(xp, grad, t), 1, size), gc)
        gc = xp.add(gc, xp.tanh_backward(xp.mul(gh, o), tanh_c))  # h = o tanh c
        parts = [
            xp.sigmoid_backward(xp.mul(gc, g), i),  # c = f c + i g
            xp.sigmoid_backward(xp.mul(gc, c_before), f),
            xp.tanh_backward(xp.mul(gc, i), g),
            xp.sigmoid_backward(xp.mul(gh, tanh_c), o),
        ]
        before.append(xp.cat(parts, 1))
        gc = xp.mul(gc, f)
        gh = xp.matmul(before[-1], w)
    gxw = _over_time(xp, before[::-1], (h0.shape[0], 4 * size), h0)
    return gxw, gh, gc, _weight_grad(xp, gxw, _before_each(xp, h0, xp.slice(y, (slice(None), slice(None), slice(0, size)))))


def gru(xw: Array, h0: Array, w: Array, b: Array) -> tuple[Array, Array]:
    """r, z = σ(xwₜ + h wᵀ + b); n = tanh(xwₙ + r (h wₙᵀ + bₙ)); h ← (1 − z) n + z h, in the order r z n.

    xw (B, T, 3H), h0 (B, H), w (3H, H), b (3H) → h of every time (B, T, H), and r, z, n and h wₙᵀ + bₙ side by side (B, T, 4H).
    """
    f = _GRU.get(xw.dtype)
    if f is None or not _of_one_dtype(xw, h0, w, b):
        return twins.gru(xw, h0, w, b)  # type: ignore[return-value]
    batch, t, h = sizes = _sizes(xw, h0)
    y, gates = empty((batch, t, h), xw.dtype), empty((batch, t, 4 * h), xw.dtype)
    _ffi.check(f(y, gates, *map(dense, (xw, h0, w, b)), *sizes))
    return y, gates


@composition
def gru_ref(xp: XP, xw: Array, h0: Array, w: Array, b: Array) -> tuple[Array, Array]:
    size = h0.shape[1]
    h = h0
    wt = xp.permute(w, (1, 0))
    states: list[Array] = []
    gates: list[Array] = []
    for t in range(xw.shape[1]):
        x, a = _at(xp, xw, t), xp.add(xp.matmul(h, wt), b)
        r = xp.sigmoid(xp.add(_part(xp, x, 0, size), _part(xp, a, 0, size)))
        z = xp.sigmoid(xp.add(_part(xp, x, 1, size), _part(xp, a, 1, size)))
        an = _part(xp, a, 2, size)
        n = xp.tanh(xp.add(_part(xp, x, 2, size), xp.mul(r, an)))
        h = xp.add(n, xp.mul(z, xp.sub(h, n)))  # (1 − z) n + z h
        states.append(h)
        gates.append(xp.cat([r, z, n, an], 1))
    return _over_time(xp, states, (h0.shape[0], size), h0), _over_time(xp, gates, (h0.shape[0], 4 * size), h0)


def gru_backward(
    grad: Array, xw: Array, h0: Array, w: Array, b: Array, y: Array, gates: Array | None
) -> tuple[Array, Array, Array, Array]:
    """The gradients of xw, h0, w and b, from the gradient of the states (B, T, H) and the states y themselves."""
    f = _GRU_BACKWARD.get(xw.dtype)
    if f is None or gates is None or not _of_one_dtype(grad, xw, h0, w, b, y, gates):
        return twins.gru_backward(grad, xw, h0, w, b, y, gates)  # type: ignore[return-value]
    batch, t, h = sizes = _sizes(xw, h0)
    grads = tuple(empty(a.shape, a.dtype) for a in (xw, h0, w, b))
    given = map(dense, (grad, h0, w, y, gates))
    _ffi.check(f(*grads, empty((4, batch, t, h), xw.dtype), *given, *sizes))
    return grads  # type: ignore[return-value]


@composition
def gru_backward_ref(
    xp: XP, grad: Array, xw: Array, h0: Array, w: Array, b: Array, y: Array, gates: Array | None
) -> tuple[Array, Array, Array, Array]:
    size = h0.shape[1]
    steps = xw.shape[1]
    if gates is None:
        gates = gru_ref(xp, xw, h0, w, b)[1]
    gh = xp.full_like(h0, 0.0)
    from_x: list[Array] = []  # gradients of the two sums that meet in the gates, from the last time to the first
    from_h: list[Array] = []
    for t in reversed(range(steps)):
        r, z, n, an = (_part(xp, _at(xp, gates, t), k, size) for k in range(4))
        h_before = _at(xp, y, t - 1) if t else h0
        gh = xp.add(_at(xp, grad, t), gh)
        gn = xp.tanh_backward(xp.sub(gh, xp.mul(gh, z)), n)  # h = (1 − z) n + z h
        gz = xp.sigmoid_backward(xp.mul(gh, xp.sub(h_before, n)), z)
        gr = xp.sigmoid_backward(xp.mul(gn, an), r)
        from_x.append(xp.cat([gr, gz, gn], 1))
        from_h.append(xp.cat([gr, gz, xp.mul(gn, r)], 1))
        gh = xp.add(xp.mul(gh, z), xp.matmul(from_h[-1], w))
    shape = (h0.shape[0], 3 * size)
    whole = _over_time(xp, from_h[::-1], shape, h0)
    return _over_time(xp, from_x[::-1], shape, h0), gh, _weight_grad(xp, whole, _before_each(xp, h0, y)), xp.sum(whole, (0, 1), False)


# -- what C is told


def _of_one_dtype(*arrays: Array) -> bool:
    return all(a.dtype == arrays[0].dtype for a in arrays)


def _taken(out: Array | None, shape: tuple[int, ...], dtype: Any) -> Array:
    """The array that a result may go to, if C can write it row by row, else a new one."""
    return out if out is not None and out.flags.c_contiguous and out.flags.writeable else empty(shape, dtype)


def _sizes(xw: Array, h0: Array) -> tuple[int, int, int]:
    """B, T, H."""
    return xw.shape[0], xw.shape[1], h0.shape[1]


# -- pieces


def _at(xp: XP, x: Array, t: int) -> Array:
    """Time t of (B, T, n), as (B, n)."""
    return xp.reshape(xp.slice(x, (slice(None), slice(t, t + 1))), (x.shape[0], x.shape[2]))


def _part(xp: XP, x: Array, k: int, size: int) -> Array:
    """The k-th of the parts, `size` wide, of (B, n · size)."""
    return xp.slice(x, (slice(None), slice(k * size, (k + 1) * size)))


def _over_time(xp: XP, items: list[Array], shape: tuple[int, int], like: Array) -> Array:
    """(B, n) of every time as (B, T, n); (B, 0, n) of none."""
    if not items:
        return xp.zeros((shape[0], 0, shape[1]), like.dtype)
    return xp.cat([xp.reshape(item, (shape[0], 1, shape[1])) for item in items], 1)


def _before_each(xp: XP, h0: Array, h: Array) -> Array:
    """h as it was before each time: h0, then all of h but the last."""
    first = xp.reshape(h0, (h0.shape[0], 1, h0.shape[1]))
    return xp.cat([first, xp.slice(h, (slice(None), slice(0, h.shape[1] - 1)))], 1) if h.shape[1] else h


def _weight_grad(xp: XP, g: Array, h: Array) -> Array:
    """Σ gᵀ h over batch and time: (B, T, n), (B, T, H) → (n, H)."""
    rows = g.shape[0] * g.shape[1]
    flat = xp.reshape(g, (rows, g.shape[2]))
    return xp.matmul(xp.permute(flat, (1, 0)), xp.reshape(h, (rows, h.shape[2])))
