"""Fits the polynomials of csrc/coefficients.h and prints how far each is from the function it stands for.

Run by hand (`python csrc/fit/fit_functions.py > csrc/coefficients.h`; needs mpmath) when a form or a degree changes; the build
reads only the header. Each fit is a Remez exchange in 60 digits for the error that its form leaves, relative or absolute as said
beside it; the coefficients are then rounded to the type, highest degree first, with the lower ones fitted anew after each
rounding, and the bound printed is that of the rounded ones evaluated exactly.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable

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


def extremes(error: Function, a: mpf, b: mpf, count: int) -> list[mpf]:
    """The `count` alternating extremes of `error` on [a, b], found on a fine grid of Chebyshev points."""
    points = 40 * count
    grid = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * i / points) for i in range(points + 1)]
    runs: list[mpf] = []
    best: list[mpf] = []
    for x in grid:
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
    fixed: list[mpf] = []
    for top in range(degree, -1, -1):
        done = {top + 1 + i: c for i, c in enumerate(fixed)}

        def rest(x: mpf, done: dict[int, mpf] = done) -> mpf:
            return f(x) - sum(c * x**p for p, c in done.items())

        free = remez(rest, weight, list(range(top + 1)), a, b)
        fixed.insert(0, rounded(free[-1], bits))
    grid = [a + (b - a) * i / 2000 for i in range(2001)]
    return fixed, max(abs(weight(x) * (f(x) - value(fixed, x))) for x in grid)


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

    found, bound = fit(q, lambda r: r**2 / mp.exp(r), degree, -edge, edge, bits)
    split_constant("ln2", mp.log(2), bits, high_bits)
    note = f"(exp r - 1 - r) / r^2, degree {degree}, |r| <= {mp.nstr(edge, 5)}: exp within 2^{mp.nstr(mp.log(bound, 2), 4)}, relative"
    emit("exp", note, found, bits)
    print(f"{name_of(bits)} {note}", file=sys.stderr)


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
    fit_exp(53, 10, 41)
    exp_limits(53, "-746.0", "710.0")
    print("#endif")


if __name__ == "__main__":
    main()
