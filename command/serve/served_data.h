/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a request: `data`, or `base64` decoded. Pure: no loop. */
#ifndef SERVED_DATA_H
#define SERVED_DATA_H

#include <stdbool.h>
#include <stddef.h>

struct served_request;

struct served_data {
    const void *bytes; /* as long as the request, and `decoded` */
    size_t length;     /* 0: the request has none */
    void *decoded;     /* the caller frees it; NULL: nothing had to be decoded */
};

/* Returns false if there is no memory. */
bool served_data_read(struct served_data *, const struct served_request *);

#endif
