/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the codec (base/memory.h) in a command whose library hides its own. The
 * command sets no allocator. */
#include "base/memory.h"

#include <stdlib.h>

void *uvzk__realloc(void *bytes, size_t size)
{
    return realloc(bytes, size);
}

void uvzk__free(void *bytes)
{
    free(bytes);
}
