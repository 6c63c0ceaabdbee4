/* SPDX-License-Identifier: Apache-2.0 */
/* Hash tables: uthash, with the allocator of base/memory.h. When memory runs out,
 * HASH_ADD leaves element->hh.tbl NULL, and the caller must check it. */
#ifndef UVZK_TABLE_H
#define UVZK_TABLE_H

#include "base/memory.h"

#define uthash_malloc(size) uvzk__malloc(size)
#define uthash_free(pointer, size) uvzk__free(pointer)
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
