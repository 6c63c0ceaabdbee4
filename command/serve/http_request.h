/* SPDX-License-Identifier: Apache-2.0 */
/* What an HTTP/1.x request asks of a server that has one page. Pure: no loop. */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <stddef.h>

enum http_status {
    HTTP_UNFINISHED = 0, /* the rest of the request has not arrived yet */
    HTTP_OK = 200,
    HTTP_BAD_REQUEST = 400,
    HTTP_NOT_FOUND = 404,
    HTTP_NOT_ALLOWED = 405, /* another method than GET */
    HTTP_TIMEOUT = 408,
    HTTP_TOO_LARGE = 431,
    HTTP_NO_MEMORY = 500
};

/* Reads the first line of a request for `page`, as soon as the whole head, which an empty
 * line ends, has arrived. Header lines and what follows the head do not matter, nor does
 * what follows a '?' of the page's name. */
enum http_status http_request_read(const char *bytes, size_t length, const char *page);

/* Returns the words of a status, such as "Not Found". */
const char *http_status_text(enum http_status);

#endif
