/* uthash on our allocator. Out of memory is not fatal: HASH_ADD then leaves
 * element->hh.tbl NULL, which the caller checks. */
#ifndef UVZK_TABLE_H
#define UVZK_TABLE_H

#include "base/memory.h"

#define uthash_malloc(size) uvzk__malloc(size)
#define uthash_free(pointer, size) uvzk__free(pointer)
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
