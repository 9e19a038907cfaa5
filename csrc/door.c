/* Kernels that take NumPy's arrays and give one: what is called so often, on so little, that checks and allocation in Python would cost
 * several times the work (a product of 32 × 16 × 8: 0.6 µs in all, 0.2 of them the kernel; Granite Rapids, November 2026). They are
 * functions of the extension, beside cffi's `lib` and `ffi`; cafe/kernels/_ffi.py hands them out.
 *
 * Each gives None for what it does not take (another type, shapes that do not fit): the caller then says what is wrong, or asks the
 * twin. Nothing that is given is written to. */
#include "door.h"

#include <string.h>

#include "cafe.h"
#include "threads.h"

enum {
    POOLED = 4096,        /* bytes from which results come from the pool: warm, and on bounds of vectors, which NumPy's of 16 bytes are not. relu of
                             16 KiB takes 0.74 µs for 0.95, of 128 KiB 3.8 for 5.1; at 8 KiB it is 5 % (Granite Rapids, November 2026) */
    WORTH_DENSE = 4096,   /* elements from which an operand that lies askew is better copied row-major than gathered */
    SHORT = 16 * 1024     /* elements or multiply-adds: over in a few µs, so Python's other threads can wait; to let them in costs 50 ns */
};

typedef enum { OTHER, F32, F64, F16, BF16 } element;

static element element_of(PyArrayObject *x) {
    static int bf16 = -1; /* ml_dtypes' number, once it was met */
    PyArray_Descr *type = PyArray_DESCR(x);
    if (!PyArray_ISNBO(type->byteorder)) return OTHER;
    if (type->type_num == NPY_FLOAT) return F32;
    if (type->type_num == NPY_DOUBLE) return F64;
    if (type->type_num == NPY_HALF) return F16;
    if (bf16 < 0 && type->type_num >= NPY_USERDEF && strstr(type->typeobj->tp_name, "bfloat16")) bf16 = type->type_num;
    return type->type_num == bf16 ? BF16 : OTHER;
}

/* NumPy's sizes as the API has them: of one width wherever there are 64 bits, if not of one name. */
_Static_assert(sizeof(npy_intp) == sizeof(int64_t), "sizes and strides of 64 bits");
static const int64_t *sizes(const npy_intp *x) { return (const int64_t *)(const void *)x; }

static int is_dense(PyArrayObject *x) { return PyArray_IS_C_CONTIGUOUS(x); }

/* Lets Python's other threads run during a long call, and comes back. */
static PyThreadState *leave(npy_intp work) { return work < SHORT ? NULL : PyEval_SaveThread(); }

static void come_back(PyThreadState *left) {
    if (left) PyEval_RestoreThread(left);
}

/* -- results */

static void give_back(PyObject *owner) { cafe_pool_give(PyCapsule_GetPointer(owner, NULL)); }

static PyArrayObject *no_memory(int ndim, const npy_intp *shape) {
    PyObject *said = PyTuple_New(ndim);
    for (int d = 0; said && d < ndim; d++) PyTuple_SET_ITEM(said, d, PyLong_FromSsize_t(shape[d]));
    if (said) PyErr_Format(PyExc_MemoryError, "no memory for an array of shape %R", said);
    Py_XDECREF(said);
    return NULL;
}

static PyArrayObject *empty(int ndim, const npy_intp *shape, PyArray_Descr *type) {
    npy_intp count = PyArray_OverflowMultiplyList(shape, ndim), size = PyDataType_ELSIZE(type);
    if (count < 0 || count > NPY_MAX_INTP / size) return no_memory(ndim, shape);
    Py_INCREF(type); /* the array's */
    if (count * size < POOLED) return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, type, ndim, shape, NULL, NULL, 0, NULL);
    void *data = cafe_pool_take(count * size);
    PyObject *owner = data ? PyCapsule_New(data, NULL, give_back) : (PyObject *)no_memory(ndim, shape);
    PyArrayObject *y = NULL;
    if (!owner) Py_DECREF(type);
    else y = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, type, ndim, shape, NULL, data, NPY_ARRAY_CARRAY, NULL);
    if (y && PyArray_SetBaseObject(y, owner) == 0) return y;
    if (!y) Py_XDECREF(owner); /* else it is gone already */
    Py_XDECREF(y);
    return NULL;
}

/* fresh(shape, dtype): an uninitialised array; shape a tuple of ints. */
static PyObject *fresh(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 2 || !PyTuple_Check(args[0]) || !PyArray_DescrCheck(args[1]) || PyTuple_GET_SIZE(args[0]) > NPY_MAXDIMS) Py_RETURN_NONE;
    npy_intp shape[NPY_MAXDIMS];
    const int ndim = (int)PyTuple_GET_SIZE(args[0]);
    for (int d = 0; d < ndim; d++) {
        shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(args[0], d));
        if (shape[d] >= 0) continue;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    return (PyObject *)empty(ndim, shape, (PyArray_Descr *)args[1]);
}

/* x itself if it is row-major, else a row-major copy: a new reference. */
static PyArrayObject *dense(PyArrayObject *x) {
    if (is_dense(x)) return (PyArrayObject *)Py_NewRef(x);
    if (PyArray_SIZE(x) < WORTH_DENSE || PyArray_NDIM(x) > CAFE_MAX_DIMS) return (PyArrayObject *)PyArray_NewCopy(x, NPY_CORDER);
    PyArrayObject *y = empty(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_DESCR(x));
    if (!y) return NULL;
    PyThreadState *left = leave(PyArray_SIZE(x));
    const int64_t *shape = sizes(PyArray_DIMS(x)), *strides = sizes(PyArray_STRIDES(x));
    cafe_copy_strided(PyArray_DATA(y), PyArray_DATA(x), PyArray_NDIM(x), shape, strides, (int64_t)PyArray_ITEMSIZE(x));
    come_back(left);
    return y;
}

/* Calls the kernel for a type, one of F32 and F64, or of F16 and BF16 too. `call` may begin with what the result goes to. */
#define OF_REAL(type, call, ...)                \
    do {                                        \
        if (type == F32) call##_f32(__VA_ARGS__); \
        if (type == F64) call##_f64(__VA_ARGS__); \
    } while (0)
#define OF_FLOAT(type, call, ...)                 \
    do {                                          \
        OF_REAL(type, call, __VA_ARGS__);         \
        if (type == F16) call##_f16(__VA_ARGS__);   \
        if (type == BF16) call##_bf16(__VA_ARGS__); \
    } while (0)

/* -- elementwise */

/* unary(op, x, a, b): the op of each element, with its two numbers. */
static PyObject *unary(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 4 || !PyArray_Check(args[1])) Py_RETURN_NONE;
    int op = (int)PyLong_AsLong(args[0]);
    double first = PyFloat_AsDouble(args[2]), second = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) return NULL;
    element type = element_of((PyArrayObject *)args[1]);
    if (type == OTHER) Py_RETURN_NONE;
    PyArrayObject *array = dense((PyArrayObject *)args[1]);
    PyArrayObject *result = array ? empty(PyArray_NDIM(array), PyArray_DIMS(array), PyArray_DESCR(array)) : NULL;
    if (result) {
        void *y = PyArray_DATA(result), *x = PyArray_DATA(array);
        npy_intp n = PyArray_SIZE(array);
        PyThreadState *left = leave(n);
        OF_FLOAT(type, cafe_unary, op, y, x, n, first, second);
        come_back(left);
    }
    Py_XDECREF(array);
    return (PyObject *)result;
}

/* Two operands, broadcast: the result's shape, each one's strides in bytes (0 where it repeats), and whether they lie so that
 * there is no need to walk by them: both as the result does, or one of them a number for all. */
struct pair {
    int ndim, flat, fixed;
    npy_intp shape[NPY_MAXDIMS], stride[2][NPY_MAXDIMS];
};

/* Whether the two broadcast, and C can walk them. */
static int pair_up(struct pair *p, PyArrayObject *x[2]) {
    p->ndim = PyArray_NDIM(x[PyArray_NDIM(x[1]) > PyArray_NDIM(x[0])]);
    int one[2] = {1, 1}, same[2] = {1, 1}; /* whether it is a number for all; whether it has the result's shape */
    for (int d = 0; d < p->ndim; d++) {
        npy_intp size[2];
        for (int k = 0; k < 2; k++) {
            int own = d - (p->ndim - PyArray_NDIM(x[k]));
            size[k] = own < 0 ? 1 : PyArray_DIM(x[k], own);
            p->stride[k][d] = own < 0 || size[k] == 1 ? 0 : PyArray_STRIDE(x[k], own);
            one[k] &= p->stride[k][d] == 0;
        }
        if (size[0] != size[1] && size[0] != 1 && size[1] != 1) return 0;
        p->shape[d] = size[size[0] == 1];
        for (int k = 0; k < 2; k++) same[k] &= size[k] == p->shape[d];
    }
    int lies[2];
    for (int k = 0; k < 2; k++) lies[k] = is_dense(x[k]) && same[k] && PyArray_NDIM(x[k]) == p->ndim;
    p->fixed = lies[0] && lies[1] ? CAFE_NEITHER : one[1] ? CAFE_SECOND : CAFE_FIRST;
    p->flat = (lies[0] && (lies[1] || one[1])) || (one[0] && lies[1]);
    return p->flat || p->ndim <= CAFE_MAX_DIMS;
}

/* The kernels of two operands, with what each is told besides. */
typedef enum { BINARY, COMPARE, POW, SLOPE } family;

struct two {
    family family;
    int op;
    double first, second;
};

static void two_flat(const struct two *f, element type, void *y, void *a, void *b, npy_intp n, int fixed) {
    switch (f->family) {
        case BINARY: OF_FLOAT(type, cafe_binary, f->op, y, a, b, n, fixed); break;
        case COMPARE: OF_REAL(type, cafe_compare, f->op, y, a, b, n, fixed); break;
        case POW: OF_REAL(type, cafe_pow, y, a, b, n, fixed); break;
        case SLOPE: OF_REAL(type, cafe_slope, f->op, y, a, b, n, fixed, f->first, f->second);
    }
}

/* Whether its kernels can walk strides. */
static int walks(const struct two *f) { return f->family == BINARY || f->family == COMPARE; }

static void two_strided(const struct two *f, element type, void *y, void *a, void *b, const struct pair *p) {
    const int64_t *shape = sizes(p->shape), *by_a = sizes(p->stride[0]), *by_b = sizes(p->stride[1]);
    if (f->family == BINARY) OF_FLOAT(type, cafe_binary_strided, f->op, y, a, b, p->ndim, shape, by_a, by_b);
    else OF_REAL(type, cafe_compare_strided, f->op, y, a, b, p->ndim, shape, by_a, by_b);
}

/* x, or a row-major copy if it is large, lies askew and every element of it is its own: a new reference. */
static PyArrayObject *lying(PyArrayObject *x) {
    int repeats = PyArray_SIZE(x) < WORTH_DENSE;
    for (int d = 0; d < PyArray_NDIM(x); d++) repeats |= PyArray_STRIDE(x, d) == 0;
    return repeats ? (PyArrayObject *)Py_NewRef(x) : dense(x);
}

/* Operand k of a pair, broadcast and row-major, in place of x. */
static PyArrayObject *spread(PyArrayObject *x, const struct pair *p, int k) {
    PyArray_Descr *type = (PyArray_Descr *)Py_NewRef(PyArray_DESCR(x));
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, type, p->ndim, p->shape, p->stride[k], PyArray_DATA(x), 0, NULL);
    if (view && PyArray_SetBaseObject((PyArrayObject *)view, (PyObject *)x) < 0) Py_CLEAR(view); /* x is the view's now */
    else if (!view) Py_DECREF(x);
    PyArrayObject *y = view ? dense((PyArrayObject *)view) : NULL;
    Py_XDECREF(view);
    return y;
}

/* Both as the kernel takes them, new references in x, where the pair says how they lie; whether there was memory for it. */
static int prepare(PyArrayObject *x[2], PyArrayObject *given[2], struct pair *p, const struct two *f) {
    int same = PyArray_SAMESHAPE(given[0], given[1]);
    x[0] = same ? lying(given[0]) : (PyArrayObject *)Py_NewRef(given[0]);
    x[1] = x[0] ? same ? lying(given[1]) : (PyArrayObject *)Py_NewRef(given[1]) : NULL;
    if (!x[1]) return 0;
    if (!p->flat) pair_up(p, x);
    if (p->flat || walks(f)) return 1;
    for (int k = 0; k < 2; k++)
        if (!(x[k] = spread(x[k], p, k))) return 0;
    p->flat = 1;
    p->fixed = CAFE_NEITHER;
    return 1;
}

static PyObject *two(const struct two *f, PyObject *a, PyObject *b) {
    if (!PyArray_Check(a) || !PyArray_Check(b)) Py_RETURN_NONE;
    PyArrayObject *given[2] = {(PyArrayObject *)a, (PyArrayObject *)b}, *x[2], *result = NULL;
    element type = element_of(given[0]);
    if (type == OTHER || element_of(given[1]) != type || (f->family != BINARY && type != F32 && type != F64)) Py_RETURN_NONE;
    struct pair p;
    if (!pair_up(&p, given)) Py_RETURN_NONE;
    if (prepare(x, given, &p, f)) {
        PyArray_Descr *kind = f->family == COMPARE ? PyArray_DescrFromType(NPY_UINT8) : (PyArray_Descr *)Py_NewRef(PyArray_DESCR(x[0]));
        result = empty(p.ndim, p.shape, kind);
        Py_DECREF(kind);
    }
    if (result && PyArray_SIZE(result)) {
        npy_intp n = PyArray_SIZE(result);
        void *y = PyArray_DATA(result), *from = PyArray_DATA(x[0]), *with = PyArray_DATA(x[1]);
        PyThreadState *left = leave(n);
        if (p.flat) two_flat(f, type, y, from, with, n, p.fixed);
        else two_strided(f, type, y, from, with, &p);
        come_back(left);
    }
    Py_XDECREF(x[0]);
    Py_XDECREF(x[1]);
    return (PyObject *)result;
}

static PyObject *two_of(family family, PyObject *const *args, Py_ssize_t count) {
    if (count != 3) Py_RETURN_NONE;
    int op = (int)PyLong_AsLong(args[0]);
    if (op == -1 && PyErr_Occurred()) return NULL;
    return two(&(struct two){family, op, 0, 0}, args[1], args[2]);
}

/* binary(op, a, b): the op of each two elements, broadcast. */
static PyObject *binary(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    return two_of(BINARY, args, count);
}

/* compare(op, a, b): 1 where the relation holds and 0 elsewhere, as U8, broadcast. */
static PyObject *compare(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    return two_of(COMPARE, args, count);
}

/* pow(a, b): a to the power b, broadcast. */
static PyObject *power(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 2) Py_RETURN_NONE;
    return two(&(struct two){.family = POW}, args[0], args[1]);
}

/* slope(op, g, x, a, b): g times the slope at x of the op with its two numbers, broadcast. */
static PyObject *slope(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 5) Py_RETURN_NONE;
    struct two f = {SLOPE, (int)PyLong_AsLong(args[0]), PyFloat_AsDouble(args[3]), PyFloat_AsDouble(args[4])};
    return PyErr_Occurred() ? NULL : two(&f, args[1], args[2]);
}

/* -- products */

struct matrix {
    void *data;
    npy_intp row, col; /* strides in elements */
};

static struct matrix matrix_of(PyArrayObject *x, npy_intp columns) {
    npy_intp size = PyArray_ITEMSIZE(x);
    if (is_dense(x)) return (struct matrix){PyArray_DATA(x), columns, 1};
    if (PyArray_IS_F_CONTIGUOUS(x)) return (struct matrix){PyArray_DATA(x), 1, PyArray_DIM(x, 0)};
    return (struct matrix){PyArray_DATA(x), PyArray_STRIDE(x, 0) / size, PyArray_STRIDE(x, 1) / size};
}

/* Whether all are arrays of F32, or all of F64. */
static element reals(PyObject *const *x, Py_ssize_t count) {
    element type = OTHER;
    for (Py_ssize_t i = 0; i < count; i++) {
        element own = PyArray_Check(x[i]) ? element_of((PyArrayObject *)x[i]) : OTHER;
        if ((own != F32 && own != F64) || (i && own != type)) return OTHER;
        type = own;
    }
    return type;
}

/* The result, or an exception for a kernel that did not come to its end. */
static PyObject *unless_failed(int status, PyObject *result) {
    if (status == CAFE_OK) return result;
    PyErr_SetString(PyExc_MemoryError, "no memory for a kernel's scratch");
    Py_XDECREF(result);
    return NULL;
}

/* matmul(a, b): the product of two matrices, of any strides. */
static PyObject *matmul(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    element type = count == 2 ? reals(args, 2) : OTHER;
    if (type == OTHER) Py_RETURN_NONE;
    PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1];
    if (PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_DIM(a, 1) != PyArray_DIM(b, 0)) Py_RETURN_NONE;
    npy_intp m = PyArray_DIM(a, 0), k = PyArray_DIM(a, 1), n = PyArray_DIM(b, 1);
    PyArrayObject *c = empty(2, (npy_intp[]){m, n}, PyArray_DESCR(a));
    if (!c) return NULL;
    struct matrix p = matrix_of(a, k), q = matrix_of(b, n);
    int status = CAFE_OK;
    PyThreadState *left = leave(m * k * n);
    OF_REAL(type, status = cafe_matmul, PyArray_DATA(c), p.data, q.data, m, k, n, p.row, p.col, q.row, q.col);
    come_back(left);
    return unless_failed(status, (PyObject *)c);
}

/* linear(x, w, b, then): x wᵀ + b and the function of that number of it; x (…, k), w (n, k), b (n) or None. An x that is no matrix
 * and a b have to lie without gaps. */
static PyObject *linear(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    element type = count == 4 ? reals(args, args[2] == Py_None ? 2 : 3) : OTHER;
    if (type == OTHER) Py_RETURN_NONE;
    PyArrayObject *x = (PyArrayObject *)args[0], *w = (PyArrayObject *)args[1], *b = args[2] == Py_None ? NULL : (PyArrayObject *)args[2];
    int then = (int)PyLong_AsLong(args[3]), last = PyArray_NDIM(x) - 1;
    if (then == -1 && PyErr_Occurred()) return NULL;
    if (last < 0 || PyArray_NDIM(w) != 2 || PyArray_DIM(x, last) != PyArray_DIM(w, 1) || (last != 1 && !is_dense(x))) Py_RETURN_NONE;
    npy_intp n = PyArray_DIM(w, 0), k = PyArray_DIM(w, 1), m = PyArray_MultiplyList(PyArray_DIMS(x), last), shape[NPY_MAXDIMS];
    if (b && (PyArray_NDIM(b) != 1 || PyArray_DIM(b, 0) != n || !is_dense(b))) Py_RETURN_NONE;
    memcpy(shape, PyArray_DIMS(x), sizeof *shape * (size_t)last);
    shape[last] = n;
    PyArrayObject *y = empty(last + 1, shape, PyArray_DESCR(x));
    if (!y) return NULL;
    struct matrix p = last == 1 ? matrix_of(x, k) : (struct matrix){PyArray_DATA(x), k, 1}, q = matrix_of(w, k);
    void *bias = b ? PyArray_DATA(b) : NULL;
    int status = CAFE_OK;
    PyThreadState *left = leave(m * k * n);
    OF_REAL(type, status = cafe_linear, PyArray_DATA(y), p.data, q.data, bias, then, m, k, n, p.row, p.col, q.row, q.col);
    come_back(left);
    return unless_failed(status, (PyObject *)y);
}

/* linear_backward(g, x, w, need): a tuple of the gradients of x, w and b, None for those that are not needed. All lie without gaps. */
static PyObject *linear_backward(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    element type = count == 4 ? reals(args, 3) : OTHER;
    if (type == OTHER) Py_RETURN_NONE;
    PyArrayObject *g = (PyArrayObject *)args[0], *x = (PyArrayObject *)args[1], *w = (PyArrayObject *)args[2];
    if (PyArray_NDIM(x) < 1 || PyArray_NDIM(w) != 2 || !is_dense(g) || !is_dense(x) || !is_dense(w)) Py_RETURN_NONE;
    npy_intp n = PyArray_DIM(w, 0), k = PyArray_DIM(w, 1), m = PyArray_MultiplyList(PyArray_DIMS(x), PyArray_NDIM(x) - 1);
    if (PyArray_SIZE(g) != m * n || PyArray_SIZE(x) != m * k) Py_RETURN_NONE;
    const int ranks[3] = {PyArray_NDIM(x), 2, 1};
    const npy_intp *shapes[3] = {PyArray_DIMS(x), PyArray_DIMS(w), PyArray_DIMS(w)};
    PyObject *results = PyTuple_New(3);
    void *into[3] = {NULL, NULL, NULL};
    for (int i = 0; results && i < 3; i++) {
        PyObject *wanted = PySequence_GetItem(args[3], i);
        int is = wanted ? PyObject_IsTrue(wanted) : -1;
        Py_XDECREF(wanted);
        PyObject *y = is < 0 ? NULL : is ? (PyObject *)empty(ranks[i], shapes[i], PyArray_DESCR(g)) : Py_NewRef(Py_None);
        if (!y) Py_CLEAR(results);
        else PyTuple_SET_ITEM(results, i, y);
        if (is > 0 && y) into[i] = PyArray_DATA((PyArrayObject *)y);
    }
    if (!results) return NULL;
    const void *dy = PyArray_DATA(g), *from = PyArray_DATA(x), *by = PyArray_DATA(w);
    int status = CAFE_OK;
    PyThreadState *left = leave(m * k * n);
    OF_REAL(type, status = cafe_linear_backward, into[0], into[1], into[2], dy, from, by, m, k, n);
    come_back(left);
    return unless_failed(status, results);
}

/* -- the module: cffi's, with these functions beside its own */

#define NAMED(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
#define ROW(name) NAMED(#name, name)
#define THEIRS(name) NAMED(#name, cafe_##name)
static PyMethodDef functions[] = {
    ROW(fresh),   ROW(unary),    ROW(binary),   ROW(compare),        NAMED("pow", power),    ROW(slope),
    ROW(matmul),  ROW(linear),   ROW(linear_backward),
    THEIRS(know), THEIRS(apply), THEIRS(alike), THEIRS(conformable), {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC cafe_cffi_module(void);
PyMODINIT_FUNC PyInit__cafe(void);

PyMODINIT_FUNC PyInit__cafe(void) {
    if (_import_array() < 0) return NULL;
    PyObject *module = cafe_cffi_module();
    if (module && PyModule_AddFunctions(module, functions) < 0) Py_CLEAR(module);
    return module;
}
