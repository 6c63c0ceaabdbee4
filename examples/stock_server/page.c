/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE_MAX = 1 << 20 };

bool page_read(struct page *page, const char *path)
{
    FILE *file = fopen(path, "rb");
    bool done = false;

    page->bytes = malloc(PAGE_MAX);
    if (file != NULL && page->bytes != NULL) {
        page->length = fread(page->bytes, 1, PAGE_MAX, file);
        done = page->length > 0 && page->length < PAGE_MAX && !ferror(file);
    }
    if (!done) {
        perror(path);
    }
    if (file != NULL) {
        fclose(file);
    }
    return done;
}

void page_free(struct page *page)
{
    free(page->bytes);
    page->bytes = NULL;
}
