#include "dispatch.h"

#define ISA generic
#define INSTANCE "../simd_generic.h"
#include "bodies/all.inc"
