/* An op on tensors: what cafe/tape.py and cafe/tensor/base.py do about a forward, where that is several times the work of a small one
 * (a product of 32 × 16 × 8: 0.6 of 1.2 µs; Granite Rapids, November 2026). A Tensor is Python's: this file asks where its slots stand. */
#define NO_IMPORT_ARRAY
#include "door.h"

#include <structmember.h>

enum { MOST = 8 }; /* operands; ops of more go through Python */

/* What `know` was told. */
static struct {
    PyTypeObject *tensor;
    Py_ssize_t data, node, version; /* where the slots stand in a Tensor, in bytes */
    PyObject *verbs, *tracing, *record;
    PyObject *forward, *active, *views; /* names */
} known;

static PyObject **part(PyObject *tensor, Py_ssize_t at) { return (PyObject **)(void *)((char *)tensor + at); }

/* Where a slot of this name stands, or -1 and an exception. */
static Py_ssize_t slot(PyObject *type, const char *name) {
    PyObject *descriptor = PyObject_GetAttrString(type, name);
    Py_ssize_t at = -1;
    if (descriptor && Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) at = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    else if (descriptor) PyErr_Format(PyExc_TypeError, "%s is no slot", name);
    Py_XDECREF(descriptor);
    return at;
}

/* know(Tensor, verbs, tracing, record): the class whose slots are _data, _node and _version, what a forward is given for `xp`, the module whose
 * `active` is None while nobody traces, and what makes a node of an application, as tape.record. */
PyObject *cafe_know(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 4 || !PyType_Check(args[0]) || !PyModule_Check(args[2])) return PyErr_Format(PyExc_TypeError, "know(Tensor, verbs, tracing, record)");
    known.data = slot(args[0], "_data"), known.node = slot(args[0], "_node"), known.version = slot(args[0], "_version");
    if (PyErr_Occurred()) return NULL;
    known.forward = PyUnicode_InternFromString("forward");
    known.active = PyUnicode_InternFromString("active");
    known.views = PyUnicode_InternFromString("views");
    known.verbs = Py_NewRef(args[1]), known.tracing = Py_NewRef(PyModule_GetDict(args[2])), known.record = Py_NewRef(args[3]);
    known.tensor = (PyTypeObject *)Py_NewRef(args[0]); /* for good, as all the others */
    Py_RETURN_NONE;
}

/* A Tensor over the array, with its place in the graph. */
static PyObject *wrapped(PyObject *array, PyObject *node) {
    PyObject *tensor = known.tensor->tp_alloc(known.tensor, 0);
    if (!tensor) return NULL;
    *part(tensor, known.data) = Py_NewRef(array);
    *part(tensor, known.node) = Py_NewRef(node);
    *part(tensor, known.version) = Py_NewRef(Py_None);
    return tensor;
}

/* Whether the op's result has to be looked at for the version of the storage that it views. */
static int may_view(PyObject *op, PyObject *tensor) {
    if (*part(tensor, known.version) == Py_None) return 0;
    PyObject *views = PyObject_GetAttr(op, known.views);
    int is = views ? PyObject_IsTrue(views) : 1;
    Py_XDECREF(views);
    PyErr_Clear();
    return is;
}

/* What record makes of a forward's output: a new Tensor. */
static PyObject *recorded(PyObject *op, PyObject *tensors, PyObject *const *arrays, PyObject *out) {
    const Py_ssize_t n = PyTuple_GET_SIZE(tensors);
    PyObject *parents = PyList_New(n), *inputs = PyList_New(n), *made = NULL, *tensor = NULL;
    for (Py_ssize_t i = 0; parents && inputs && i < n; i++) {
        PyList_SET_ITEM(parents, i, Py_NewRef(*part(PyTuple_GET_ITEM(tensors, i), known.node)));
        PyList_SET_ITEM(inputs, i, Py_NewRef(arrays[i]));
    }
    PyObject *const args[] = {op, tensors, parents, inputs, Py_None, out};
    if (parents && inputs) made = PyObject_Vectorcall(known.record, args, sizeof args / sizeof *args, NULL);
    if (made) tensor = wrapped(PyTuple_GET_ITEM(made, 0), PyTuple_GET_ITEM(made, 1));
    Py_XDECREF(parents);
    Py_XDECREF(inputs);
    Py_XDECREF(made);
    return tensor;
}

/* Whether the array is as the op wants it: F16 and BF16 may have to become F32. */
static int as_it_is(PyObject *array) {
    if (!array || !PyArray_Check(array)) return 0;
    int type = PyArray_TYPE((PyArrayObject *)array);
    return type != NPY_HALF && type < NPY_USERDEF;
}

/* apply(op, tensors): the op on a tuple of tensors, recorded if it has to be: a Tensor. None while somebody traces, and where an operand is none,
 * holds F16 or BF16, or is a variable's storage that the result may view. */
PyObject *cafe_apply(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 2 || !known.tensor || !PyTuple_Check(args[1])) Py_RETURN_NONE;
    PyObject *op = args[0], *tensors = args[1], *call[2 + MOST] = {op, known.verbs};
    const Py_ssize_t n = PyTuple_GET_SIZE(tensors);
    if (n < 1 || n > MOST || PyDict_GetItemWithError(known.tracing, known.active) != Py_None) Py_RETURN_NONE;
    int tracked = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *tensor = PyTuple_GET_ITEM(tensors, i);
        if (!PyObject_TypeCheck(tensor, known.tensor)) Py_RETURN_NONE;
        call[2 + i] = *part(tensor, known.data);
        if (!as_it_is(call[2 + i])) Py_RETURN_NONE;
        tracked |= *part(tensor, known.node) != Py_None;
    }
    if (may_view(op, PyTuple_GET_ITEM(tensors, 0))) Py_RETURN_NONE;
    PyObject *out = PyObject_VectorcallMethod(known.forward, call, (size_t)(2 + n), NULL);
    if (!out) return NULL;
    PyObject *tensor = tracked || !PyArray_Check(out) ? recorded(op, tensors, call + 2, out) : wrapped(out, Py_None);
    Py_DECREF(out);
    return tensor;
}

/* alike(a, b): whether two arrays have one shape and one dtype. */
PyObject *cafe_alike(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 2 || !PyArray_Check(args[0]) || !PyArray_Check(args[1])) Py_RETURN_FALSE;
    PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1];
    return PyBool_FromLong(PyArray_DESCR(a) == PyArray_DESCR(b) && PyArray_SAMESHAPE(a, b));
}

/* conformable(a, b): whether these are two matrices of one dtype, F32 or F64, that can be multiplied. */
PyObject *cafe_conformable(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 2 || !PyArray_Check(args[0]) || !PyArray_Check(args[1])) Py_RETURN_FALSE;
    PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1];
    const int type = PyArray_TYPE(a), one = PyArray_DESCR(a) == PyArray_DESCR(b) && (type == NPY_FLOAT || type == NPY_DOUBLE);
    return PyBool_FromLong(one && PyArray_NDIM(a) == 2 && PyArray_NDIM(b) == 2 && PyArray_DIM(a, 1) == PyArray_DIM(b, 0));
}
