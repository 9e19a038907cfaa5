"""Fits the polynomials of csrc/coefficients.h and prints how far each is from the function it stands for.

Run by hand (`python csrc/fit/fit_functions.py > csrc/coefficients.h`; needs mpmath) when a form or a degree changes; the build
reads only the header. Each fit is a Remez exchange in 60 digits for the error that its form leaves, relative or absolute as said
beside it; the coefficients are then rounded to the type, highest degree first, with the lower ones fitted anew after each
rounding, and the bound printed is that of the rounded ones evaluated exactly.
"""

from __future__ import annotations

import functools
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


def fit_tanh(bits: int, degree: int) -> None:
    """tanh x = x + x^3 q(x^2) on |x| <= 0.625; relative error."""

    def q(z: mpf) -> mpf:
        x = mp.sqrt(z)
        return (mp.tanh(x) / x - 1) / z if z > mpf(10) ** -18 else -mpf(1) / 3 + 2 * z / 15

    report("tanh", "(tanh x / x - 1) / x^2 in x^2, |x| <= 0.625", fit(q, lambda z: z, degree, mpf(0), mpf("0.625") ** 2, bits), bits)


def fit_erf(bits: int, degree: int) -> None:
    """erf x = x + x q(x^2) on |x| <= 1; relative error."""

    def q(z: mpf) -> mpf:
        x = mp.sqrt(z)
        return mp.erf(x) / x - 1 if z > mpf(10) ** -30 else 2 / mp.sqrt(mp.pi) - 1

    report("erf", "erf x / x - 1 in x^2, |x| <= 1", fit(q, lambda z: mpf("0.9"), degree, mpf(0), mpf(1), bits), bits)


def fit_erfcx(bits: int, degree: int, top: str) -> None:
    """exp(z^2) erfc z = t q(2t - 1) with t = 1 / (1 + ERFCX_SLOPE z), 0 <= z <= top; relative error."""
    slope = mpf("0.35")
    print(f"static const {'float' if bits == 24 else 'double'} {name_of(bits)}_erfcx_slope = {'0.35f' if bits == 24 else '0.35'};")
    slope = rounded(slope, bits)

    def q(w: mpf) -> mpf:
        t = (w + 1) / 2
        z = (1 / t - 1) / slope
        return mp.exp(z * z) * mp.erfc(z) / t

    low = 2 / (1 + slope * mpf(top)) - 1
    what = f"exp(z^2) erfc(z) / t in 2t - 1, t = 1 / (1 + 0.35 z), z <= {top}"
    report("erfcx", what, fit(q, lambda w: 1 / q(w), degree, low, mpf(1), bits), bits)


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
    fit_tanh(24, 5)
    fit_erf(24, 7)
    fit_erfcx(24, 9, "10.3")
    fit_exp(53, 10, 41)
    exp_limits(53, "-746.0", "710.0")
    fit_log(53, 10)
    fit_tanh(53, 12)
    fit_erf(53, 13)
    fit_erfcx(53, 22, "27.5")
    print("#endif")


if __name__ == "__main__":
    main()
