/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the data of a request, if they are in base64 (served_data.h). */
#include "serve/served_data.h"

#include <stdlib.h>
#include <string.h>

#include "serve/served_bytes.h"
#include "serve/served_request.h"

bool served_data_read(struct served_data *data, const struct served_request *request)
{
    const char *text = request->data == NULL ? "" : request->data;

    *data = (struct served_data){.bytes = text, .length = strlen(text)};
    if (request->base64 == NULL) {
        return true;
    }
    unsigned char *bytes = malloc(strlen(request->base64) + 1);
    if (bytes == NULL) {
        return false;
    }
    data->bytes = data->decoded = bytes;
    data->length = (size_t)(served_bytes_decode(request->base64, bytes) - bytes);
    return true;
}
