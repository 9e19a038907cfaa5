#include "dispatch.h"

#define ISA generic
#define REGISTERS 16
#define INSTANCE "../simd_generic.h"
#include "bodies/all.inc"
