#include "dispatch.h"

#define ISA generic
#define PLAIN 1
#define REGISTERS 16
#define INSTANCE "../simd_generic.h"
#include "bodies/all.inc"
