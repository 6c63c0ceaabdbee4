/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the value of options.tls into its entries (tls_options.h). One copy of the text
 * holds them all. */
#include "native/tls_options.h"

#include <stdbool.h>
#include <string.h>
#include <uv.h>

#include "base/memory.h"
#include "base/refusal.h"
#include "discovery/hosts.h"

/* Where the value of this key is stored; NULL: there is no such key. */
static const char **place_of(struct uvzk__tls_options *options, const char *key)
{
    const struct {
        const char *key;
        const char **place;
    } keys[] = {{"ca", &options->ca},
                {"cert", &options->certificate},
                {"key", &options->key},
                {"name", &options->name}};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(key, keys[i].key) == 0) {
            return keys[i].place;
        }
    }
    return NULL;
}

static bool read_entry(struct uvzk__tls_options *options, char *entry)
{
    char *value = strchr(entry, '=');

    if (value == NULL || value[1] == '\0') {
        return false;
    }
    *value++ = '\0';
    const char **place = place_of(options, entry);
    if (place == NULL || *place != NULL) {
        return false;
    }
    *place = value;
    return true;
}

static bool read_entries(struct uvzk__tls_options *options)
{
    char *rest = options->text, *entry;
    bool valid = true;

    while (valid && rest != NULL && *rest != '\0') {
        entry = strsep(&rest, ",");
        valid = read_entry(options, entry);
    }
    return valid && (options->key == NULL || options->certificate != NULL);
}

int uvzk__tls_options_read(struct uvzk__tls_options *options, const char *text)
{
    *options = (struct uvzk__tls_options){.text = uvzk__strdup(text)};
    if (options->text == NULL) {
        return UV_ENOMEM;
    }
    if (!read_entries(options)) {
        uvzk__tls_options_free(options);
        return uvzk__refuse(UV_EINVAL,
                            "options.tls is not a list of ca=FILE, cert=FILE, key=FILE "
                            "(with cert) and name=NAME, separated by commas");
    }
    if (options->name != NULL && strlen(options->name) > UVZK__HOST_MAX) {
        uvzk__tls_options_free(options);
        return uvzk__refuse(UV_EINVAL,
                            "options.tls: the name has more than 255 characters");
    }
    return 0;
}

void uvzk__tls_options_free(struct uvzk__tls_options *options)
{
    uvzk__free(options->text);
    *options = (struct uvzk__tls_options){.text = NULL};
}
