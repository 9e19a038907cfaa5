/* Has every function of the extension take a NumPy array where it wants a pointer, without a cdata on the way: `f(y, x, n)`. cffi's module
   alone includes this, after cffi's own macros and before its functions, which ask `_cffi_prepare_pointer_call_argument` for each pointer.

   An array is taken if it is C-contiguous and of the pointer's element type; `uint16_t *` (the bits of F16 and BF16) takes any of
   two bytes, `void *` and `char *` any at all. It must outlive the call, as arguments do. Anything else (a pointer, NULL, a tuple) goes to cffi. */
#ifndef CAFE_ARRAYS_H
#define CAFE_ARRAYS_H

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#ifndef _cffi_prepare_pointer_call_argument
#error "this version of cffi converts pointers in another way than csrc/arrays.h knows"
#endif

typedef struct {
    const char *name;
    char kind; /* NumPy's letter, 0 for any */
    int bytes; /* an element's, 0 for any */
    struct _cffi_ctypedescr *type; /* cffi's, once it was met */
} pointer_type;

static pointer_type pointer_types[] = {
    {"float *", 'f', 4, NULL},    {"double *", 'f', 8, NULL},  {"void *", 0, 0, NULL}, {"int64_t *", 'i', 8, NULL},
    {"uint32_t *", 'u', 4, NULL}, {"uint16_t *", 0, 2, NULL}, {"uint8_t *", 'u', 1, NULL}, {"char *", 0, 0, NULL},
};
enum { POINTER_TYPES = sizeof pointer_types / sizeof *pointer_types };

/* The row of a type met for the first time, or NULL: cffi has one object for each, so from then on its address tells. */
static const pointer_type *meet(struct _cffi_ctypedescr *type) {
    PyObject *name = PyObject_GetAttrString((PyObject *)type, "cname");
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    pointer_type *found = NULL;
    for (int i = 0; text && i < POINTER_TYPES; i++)
        if (!strcmp(text, pointer_types[i].name)) found = &pointer_types[i];
    if (found) found->type = type;
    Py_XDECREF(name);
    return found;
}

static const pointer_type *pointer_type_of(struct _cffi_ctypedescr *type) {
    for (int i = 0; i < POINTER_TYPES; i++)
        if (pointer_types[i].type == type) return &pointer_types[i];
    return meet(type);
}

/* 0 and the address, or -1 and an exception: the values that cffi's function has for a pointer and for an error. */
static Py_ssize_t address_of(struct _cffi_ctypedescr *type, PyArrayObject *array, char **into) {
    const pointer_type *wanted = pointer_type_of(type);
    if (!wanted) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "an array where a pointer to something else is wanted");
        return -1;
    }
    PyArray_Descr *has = PyArray_DESCR(array);
    if ((wanted->kind && wanted->kind != has->kind) || (wanted->bytes && wanted->bytes != PyArray_ITEMSIZE(array)) || has->byteorder == '>') {
        PyErr_Format(PyExc_TypeError, "an array of %R where a `%s` is wanted", has, wanted->name);
        return -1;
    }
    if (!PyArray_IS_C_CONTIGUOUS(array)) {
        PyErr_SetString(PyExc_ValueError, "an array that is not C-contiguous where a pointer is wanted");
        return -1;
    }
    *into = PyArray_BYTES(array);
    return 0;
}

static Py_ssize_t cffi_pointer(struct _cffi_ctypedescr *type, PyObject *given, char **into) {
    return _cffi_prepare_pointer_call_argument(type, given, into);
}

static Py_ssize_t pointer_of(struct _cffi_ctypedescr *type, PyObject *given, char **into) {
    if (!PyArray_API && _import_array() < 0) return -1;
    return PyArray_Check(given) ? address_of(type, (PyArrayObject *)given, into) : cffi_pointer(type, given, into);
}

#undef _cffi_prepare_pointer_call_argument
#define _cffi_prepare_pointer_call_argument pointer_of

#endif
