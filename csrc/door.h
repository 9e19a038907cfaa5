/* What the files of the extension that speak to Python share: NumPy's functions, which door.c asks for, and what stands in the module beside
 * door.c's own, each METH_FASTCALL. */
#ifndef CAFE_DOOR_H
#define CAFE_DOOR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL cafe_numpy
#include <numpy/arrayobject.h>

PyObject *cafe_apply(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *cafe_know(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *cafe_alike(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *cafe_conformable(PyObject *self, PyObject *const *args, Py_ssize_t count);

#endif
