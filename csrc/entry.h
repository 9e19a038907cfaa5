/* Names for an entry point written once for both types: T the element, ENTRY(softmax) = cafe_softmax_f32, TABLE the kernels. */
#ifndef CAFE_ENTRY_H
#define CAFE_ENTRY_H

#define E2_(a, b) a##_##b
#define E2(a, b) E2_(a, b)
#define E3_(a, b, c) a##_##b##_##c
#define E3(a, b, c) E3_(a, b, c)

typedef float cafe_t_f32;
typedef double cafe_t_f64;
#define T E2(cafe_t, REAL)
#define ENTRY(name) E3(cafe, name, REAL)
#define TABLE E2(cafe, REAL)

#endif
