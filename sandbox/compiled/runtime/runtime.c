// The runtime of compiled programs, in one piece so that the compiler sees all of it.

#include "object.h"

#include "gas.h"

#include "memory.c"
#include "make.c"
#include "numbers.c"
#include "compare.c"
#include "dict.c"
#include "sequence.c"
#include "iterate.c"
#include "method.c"
#include "sort.c"
#include "random.c"
#include "collect.c"
