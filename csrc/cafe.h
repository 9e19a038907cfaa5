/* The C API of cafe's kernels, in api/. Its text, less the lines that start with #, is also what cffi parses (build_cffi.py).
 *
 * Conventions. Results come first, then inputs, sizes, scalars. Arrays are contiguous in C order and hold one type, which the name
 * ends in (f32, f64), unless a contract says otherwise; no alignment beyond the element's is needed. Sizes are in elements; a size
 * of zero does nothing. y may be the same array as an input of its shape where a contract says "in place"; otherwise nothing
 * overlaps. NaN goes through as IEEE arithmetic has it. Results never depend on threads, batch or place (docs/kernels.md).
 * A function that can fail returns a status: CAFE_OK, or what went wrong.
 */
#ifndef CAFE_H
#define CAFE_H

#include "api/machine.h"
#include "api/elementwise.h"
#include "api/moving.h"
#include "api/rows.h"
#include "api/layers.h"

#endif
