"""Fits the polynomials of csrc/coefficients.h and prints how far each is from the function it stands for.

Run by hand (`python csrc/fit/fit_functions.py > csrc/coefficients.h`; needs mpmath and NumPy) when a form or a degree changes; the build
reads only the header. Each fit but one is a Remez exchange in 60 digits for the error that its form leaves, relative or absolute as said
beside it; the coefficients are then rounded to the type, highest degree first, with the lower ones fitted anew after each
rounding, and the bound printed is that of the rounded ones evaluated exactly.
"""

from __future__ import annotations

import functools
import itertools
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp, mpf

mp.dps = 60

Function = Callable[[mpf], mpf]


def rounded(x: mpf, bits: int) -> mpf:
    """x to `bits` bits of mantissa, nearest."""
    with mp.workprec(bits):
        return +x


def value(coefficients: list[mpf], x: mpf) -> mpf:
    """The polynomial c0 + c1 x + ... at x."""
    return mp.polyval(coefficients[::-1], x)


@functools.cache
def grid(a: mpf, b: mpf) -> list[mpf]:
    """Where errors are looked at: the Chebyshev points of [a, b], dense at the ends, where the error moves fastest."""
    points = 1000
    return [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * i / points) for i in range(points + 1)]


def extremes(error: Function, a: mpf, b: mpf, count: int) -> list[mpf]:
    """The `count` alternating extremes of `error` on [a, b]."""
    runs: list[mpf] = []
    best: list[mpf] = []
    for x in grid(a, b):
        e = error(x)
        if best and (e > 0) == (best[-1] > 0):
            if abs(e) > abs(best[-1]):
                runs[-1], best[-1] = x, e
        else:
            runs.append(x)
            best.append(e)
    while len(runs) > count:
        drop = 0 if abs(best[0]) < abs(best[-1]) else -1
        del runs[drop], best[drop]
    return runs


def remez(f: Function, weight: Function, powers: list[int], a: mpf, b: mpf) -> list[mpf]:
    """The coefficients of x^powers whose largest weight(x) |f(x) - p(x)| on [a, b] is least."""
    n = len(powers)
    nodes = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * (n + 1))) for i in range(n + 1)]
    nodes = [x if weight(x) > mpf(10) ** -20 else x + (b - a) / 100 for x in nodes]  # where errors weigh nothing is no node
    found: list[mpf] = []
    for _ in range(12):
        rows = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for i, x in enumerate(nodes):
            for j, power in enumerate(powers):
                rows[i, j] = x**power
            rows[i, n] = (-1) ** i / weight(x)
            right[i] = f(x)
        solution = mp.lu_solve(rows, right)
        found = list(solution[:n])

        def error(x: mpf, found: list[mpf] = found) -> mpf:
            return weight(x) * (f(x) - sum(c * x**p for c, p in zip(found, powers)))

        fresh = extremes(error, a, b, n + 1)
        if len(fresh) < n + 1:
            break
        if max(abs(x - y) for x, y in zip(fresh, nodes)) < mpf(10) ** -12:
            break
        nodes = fresh
    return found


def fit(f: Function, weight: Function, degree: int, a: mpf, b: mpf, bits: int) -> tuple[list[mpf], mpf]:
    """The rounded coefficients c0..c_degree and the largest weighted error they leave."""
    f = functools.cache(f)
    fixed: list[mpf] = []
    for top in range(degree, -1, -1):
        done = {top + 1 + i: c for i, c in enumerate(fixed)}

        def rest(x: mpf, done: dict[int, mpf] = done) -> mpf:
            return f(x) - sum(c * x**p for p, c in done.items())

        free = remez(rest, weight, list(range(top + 1)), a, b)
        fixed.insert(0, rounded(free[-1], bits))
    return fixed, max(abs(weight(x) * (f(x) - value(fixed, x))) for x in grid(a, b))


def hexadecimal(x: mpf, bits: int) -> str:
    """A C literal that is exactly x."""
    if bits == 24:
        assert struct.unpack("f", struct.pack("f", float(x)))[0] == x
        return float(x).hex() + "f"
    assert float(x) == x
    return float(x).hex()


def emit(name: str, note: str, coefficients: list[mpf], bits: int) -> None:
    """An array of the header, lowest degree first."""
    suffix, kind = ("f32", "float") if bits == 24 else ("f64", "double")
    print(f"/* {note} */")
    body = ", ".join(hexadecimal(c, bits) for c in coefficients)
    print(f"static const {kind} {suffix}_{name}_c[{len(coefficients)}] = {{{body}}};\n")


def split_constant(name: str, x: mpf, bits: int, high_bits: int) -> None:
    """x as high + low, high short enough that its product with a small whole number is exact."""
    high = rounded(x, high_bits)
    suffix, kind = ("f32", "float") if bits == 24 else ("f64", "double")
    low = rounded(x - high, bits)
    print(f"static const {kind} {suffix}_{name}_high = {hexadecimal(high, bits)}, {suffix}_{name}_low = {hexadecimal(low, bits)};")


def fit_exp(bits: int, degree: int, high_bits: int) -> None:
    """exp r = 1 + r + r^2 q(r) on |r| <= ln 2 / 2 (a little more, for the rounding of x log2 e); relative error."""
    edge = mp.log(2) / 2 * mpf("1.0005")

    def q(r: mpf) -> mpf:
        return (mp.expm1(r) - r) / r**2 if abs(r) > mpf(10) ** -18 else mpf(1) / 2 + r / 6

    split_constant("ln2", mp.log(2), bits, high_bits)
    report("exp", "(exp r - 1 - r) / r^2, |r| <= 0.3467", fit(q, lambda r: r**2 / mp.exp(r), degree, -edge, edge, bits), bits)


def fit_log(bits: int, degree: int) -> None:
    """ln(1 + f) = 2 s + s^3 q(s^2), s = f / (2 + f), |s| <= 1/3, so for 1 + f in [1/2, 2]; relative error."""

    def q(z: mpf) -> mpf:
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) / s - 2) / z if z > mpf(10) ** -18 else mpf(2) / 3 + 2 * z / 5

    report("log", "(ln(1 + f) / s - 2) / s^2 in s^2 <= 1/9", fit(q, lambda z: z / 2, degree, mpf(0), mpf(1) / 9, bits), bits)


def fit_pow(bits: int, degree: int) -> None:
    """ln(1 + f) = 2 s + (2/3) s^3 + (2/5) s^5 + s^7 q(s^2), s = f / (2 + f), for 1 + f in [sqrt 1/2, sqrt 2]; relative error of q."""

    def q(z: mpf) -> mpf:
        s = mp.sqrt(z)
        if z < mpf(10) ** -9:
            return mpf(2) / 7 + 2 * z / 9 + 2 * z * z / 11
        return (((2 * mp.atanh(s) / s - 2) / z - mpf(2) / 3) / z - mpf(2) / 5) / z

    root = mp.sqrt(2)
    top = ((root - 1) / (root + 1)) ** 2 * mpf("1.0005")
    what = "(((ln(1 + f) / s - 2) / s^2 - 2/3) / s^2 - 2/5) / s^2 in s^2 <= 0.0295"
    report("pow", what, fit(q, lambda z: 1 / q(z), degree, mpf(0), top, bits), bits)


def fit_erf(bits: int, degree: int) -> None:
    """erf x = x + x q(x^2) on |x| <= 1; relative error."""

    def q(z: mpf) -> mpf:
        x = mp.sqrt(z)
        return mp.erf(x) / x - 1 if z > mpf(10) ** -30 else 2 / mp.sqrt(mp.pi) - 1

    report("erf", "erf x / x - 1 in x^2, |x| <= 1", fit(q, lambda z: mpf("0.9"), degree, mpf(0), mpf(1), bits), bits)


def slope(bits: int) -> mpf:
    """log2(e) / 2 in the type: 2^(-slope a^2) is exp(-a^2 / 2) but for what the rounding of `slope` makes, a smooth factor close to 1."""
    return rounded(1 / mp.log(2) / 2, bits)


def fit_bell(bits: int, degree: int) -> None:
    """2^f = 1 + f q(f) on |f| <= 1/2 (a little more, for a correction of f); relative error. And the slope with what it leaves over."""

    def q(f: mpf) -> mpf:
        return mp.expm1(f * mp.log(2)) / f if abs(f) > mpf(10) ** -18 else mp.log(2) + f * mp.log(2) ** 2 / 2

    kind, name, over = ("float" if bits == 24 else "double"), name_of(bits), rounded(slope(bits) * mp.log(2) - mpf(1) / 2, bits)
    print(f"static const {kind} {name}_bell_slope = {hexadecimal(slope(bits), bits)}, {name}_bell_over = {hexadecimal(over, bits)};")
    edge = mpf("0.5002")
    report("exp2", "(2^f - 1) / f, |f| <= 0.5002", fit(q, lambda f: abs(f) / 2**f, degree, -edge, edge, bits), bits)


def tail(a: mpf, bits: int) -> mpf:
    """2^(slope a^2) Phi(-a), which is 1/2 at 0 and falls slowly."""
    return 2 ** (slope(bits) * a * a) * mp.erfc(a / mp.sqrt(2)) / 2


def fit_tail(bits: int, degree: int, top: str) -> None:
    """2^(slope a^2) Phi(-a) = t q(2t - 1) with t = 1 / (1 + a / 4), 0 <= a <= top; relative error."""

    def q(w: mpf) -> mpf:
        t = (w + 1) / 2
        return tail(4 / t - 4, bits) / t

    low = 2 / (1 + mpf(top) / 4) - 1
    what = f"2^(slope a^2) Phi(-a) / t in 2t - 1, t = 1 / (1 + a / 4), a <= {top}"
    report("tail", what, fit(q, lambda w: 1 / q(w), degree, low, mpf(1), bits), bits)


def fit_tail_ratio(over: int, under: int, top: str) -> None:
    """2^(slope a^2) Phi(-a) = p(a) / q(a), 0 <= a <= top, p(0) = 1/2 and q(0) = 1, for f32; relative error.

    Linear least squares for p - R q, weighted so that the relative error levels out (Lawson's rule on Loeb's weights); all coefficients are
    positive, so nothing cancels, whoever rounds. They are rounded one after the other from the highest, the others fitted anew.
    """
    points = 800
    low = float(mp.mpf(top) / (mp.mpf(top) + 2))
    spread = [low * (1 - float(mp.cos(mp.pi * (i + 0.5) / points))) / 2 for i in range(points)]  # dense at 0, where R moves
    a = np.array([2 * s / (1 - s) for s in spread])
    exact = np.array([float(tail(mpf(x), 24)) for x in a])
    powers = np.array([a**k for k in range(over + 1)] + [-exact * a**k for k in range(under + 1)])
    held = {0: 0.5, over + 1: 1.0}
    order = [k for pair in itertools.zip_longest(range(over, 0, -1), range(over + under + 1, over + 1, -1)) for k in pair if k is not None]
    for k in [*order, -1]:
        c = level(powers, exact, held, over)
        if k >= 0:
            held[k] = float(np.float32(c[k]))
    worst = np.abs((c[: over + 1] @ powers[: over + 1]) / (c[over + 1 :] @ powers[over + 1 :] / -exact) / exact - 1).max()
    note = f"2^(slope a^2) Phi(-a), a <= {top}, is over / under: within 2^{np.log2(worst):.4}, relative"
    emit("tail_over", note, [mpf(x) for x in c[: over + 1]], 24)
    emit("tail_under", "and what it is divided by", [mpf(x) for x in c[over + 1 :]], 24)
    print(f"f32 tail: {note}", file=sys.stderr)


def level(powers: Any, exact: Any, held: dict[int, float], over: int) -> Any:
    """The coefficients, those of `held` as they are, whose relative error has the smallest peaks of sixty rounds' weights."""
    free = [k for k in range(len(powers)) if k not in held]
    best = c = np.array([held.get(k, 0.0) for k in range(len(powers))])
    if not free:
        return c
    weights, under, least = np.ones(len(exact)), np.ones(len(exact)), np.inf
    for _ in range(60):
        scale = np.sqrt(weights) / (exact * under)
        rows = (powers[free] * scale).T
        size = np.linalg.norm(rows, axis=0)
        rest = -sum(x * powers[k] for k, x in held.items()) * scale
        c = c.copy()
        c[free] = np.linalg.lstsq(rows / size, rest, rcond=None)[0] / size
        under = c[over + 1 :] @ powers[over + 1 :] / -exact
        error = np.abs((c[: over + 1] @ powers[: over + 1]) / under / exact - 1)
        if error.max() < least:
            least, best = error.max(), c
        weights = weights * error / error.max()
        weights = weights / weights.sum() + 1e-14
    return best


def fit_sin(bits: int, degree: int) -> None:
    """sin r = r + r^3 q(r^2) on |r| <= 0.8, a little over pi / 4; relative error."""

    def q(z: mpf) -> mpf:
        r = mp.sqrt(z)
        return (mp.sin(r) / r - 1) / z if z > mpf(10) ** -18 else -mpf(1) / 6 + z / 120

    report("sin", "(sin r / r - 1) / r^2 in r^2, |r| <= 0.8", fit(q, lambda z: z, degree, mpf(0), mpf("0.64"), bits), bits)


def fit_cos(bits: int, degree: int) -> None:
    """cos r = 1 - r^2 / 2 + r^4 q(r^2) on |r| <= 0.8; absolute error."""

    def q(z: mpf) -> mpf:
        return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > mpf(10) ** -12 else mpf(1) / 24 - z / 720

    report("cos", "(cos r - 1 + r^2 / 2) / r^4 in r^2, |r| <= 0.8", fit(q, lambda z: z**2, degree, mpf(0), mpf("0.64"), bits), bits)


def split_quarter(bits: int) -> None:
    """pi / 2 as the sum of three numbers of the type."""
    rest, parts = mp.pi / 2, []
    for _ in range(3):
        parts.append(rounded(rest, bits))
        rest -= parts[-1]
    kind = "float" if bits == 24 else "double"
    print(f"static const {kind} {name_of(bits)}_quarter[3] = {{{', '.join(hexadecimal(x, bits) for x in parts)}}};")


def report(name: str, what: str, fitted: tuple[list[mpf], mpf], bits: int) -> None:
    """Writes the array with its bound, to the screen too."""
    note = f"{what}: within 2^{mp.nstr(mp.log(fitted[1], 2), 4)}, relative"
    emit(name, note, fitted[0], bits)
    print(f"{name_of(bits)} {name}: {note}", file=sys.stderr)


def exp_limits(bits: int, low: str, high: str) -> None:
    """Whole numbers past which exp rounds to zero or is infinity."""
    kind, suffix = ("float", "f") if bits == 24 else ("double", "")
    print(f"static const {kind} {name_of(bits)}_exp_low = {low}{suffix}, {name_of(bits)}_exp_high = {high}{suffix};\n")


def name_of(bits: int) -> str:
    """The type of so many bits of mantissa."""
    return "f32" if bits == 24 else "f64"


def main() -> None:
    print("/* Written by fit/fit_functions.py, which says what each is and how it was fitted. Lowest degree first. */")
    print("#ifndef CAFE_COEFFICIENTS_H\n#define CAFE_COEFFICIENTS_H\n")
    fit_exp(24, 4, 15)
    exp_limits(24, "-104.0", "89.0")
    fit_log(24, 4)
    fit_erf(24, 7)
    fit_bell(24, 5)
    fit_tail_ratio(4, 5, "15")
    split_quarter(24)
    fit_sin(24, 3)
    fit_cos(24, 2)
    fit_exp(53, 10, 41)
    exp_limits(53, "-746.0", "710.0")
    fit_log(53, 10)
    fit_pow(53, 6)
    fit_erf(53, 13)
    fit_bell(53, 11)
    fit_tail(53, 22, "39")
    split_quarter(53)
    fit_sin(53, 6)
    fit_cos(53, 6)
    print("#endif")


if __name__ == "__main__":
    main()
