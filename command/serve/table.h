/* SPDX-License-Identifier: Apache-2.0 */
/* Hash tables: uthash. When memory runs out, HASH_ADD leaves element->hh.tbl NULL, and
 * the caller must check it. */
#ifndef SERVE_TABLE_H
#define SERVE_TABLE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
