/* SPDX-License-Identifier: Apache-2.0 */
/* The page at `/`: a file that is read once, before the loop runs. */
#ifndef STOCK_PAGE_H
#define STOCK_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct page {
    char *bytes;
    size_t length;
};

/* Returns false if the file cannot be read, or is empty or too large; prints it on
 * stderr. */
bool page_read(struct page *page, const char *path);
void page_free(struct page *page);

#endif
