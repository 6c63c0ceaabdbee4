/* SPDX-License-Identifier: Apache-2.0 */
/* Connection strings, and options by name: whatever is refused changes nothing, and
 * whatever is accepted has hosts without '?', and numbers in their ranges. */
#include <stddef.h>
#include <uv.h>

#include "client/option_table.h"
#include "fuzz.h"
#include "uvzk.h"

static void check(const uvzk_client_options_t *options,
                  const uvzk_client_options_t *before, int status)
{
    PROMISE(status == 0 || status == UV_EINVAL || status == UV_ENOENT);
    PROMISE(status == 0 || memcmp(options, before, sizeof(*options)) == 0);

    uvzk_client_options_t complete = *options;
    uvzk__options_complete(&complete);
    PROMISE(uvzk__options_fault(&complete) == NULL);
}

static void check_hosts(const char *hosts, const char *text)
{
    size_t length = strcspn(text, "?");

    PROMISE(strlen(hosts) == length && memcmp(hosts, text, length) == 0);
}

/* The input is a connection string, and then names and values in turn. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uvzk_client_options_t options, before;
    char *text = take_line(&input);

    uvzk_client_options_init(&options);
    before = options;
    int status = uvzk_client_options_parse(&options, text);
    check(&options, &before, status);
    if (status == 0) {
        check_hosts(options.hosts, text);
    }
    PROMISE(status == 0 || strchr(text, '?') != NULL);
    free(text);
    while (input.left > 0) {
        char *name = take_line(&input), *value = take_line(&input);
        before = options;
        status = uvzk_client_options_set(&options, name, value);
        PROMISE((status == UV_ENOENT) == (uvzk__option_find(name) == NULL));
        check(&options, &before, status);
        free(name);
        free(value);
    }
    uvzk_client_options_free(&options);
    return 0;
}
