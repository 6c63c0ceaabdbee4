/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the value of options.sasl into its entries (sasl_options.h). One copy of the text
 * holds them all. sasl.c uses what was read. */
#include "native/sasl_options.h"

#include <stddef.h>
#include <string.h>
#include <uv.h>

#include "base/memory.h"
#include "base/refusal.h"
#include "discovery/hosts.h"

#define LIST_TEXT                                                                \
    "options.sasl is not a list of entries NAME=VALUE, separated by commas: "    \
    "mechanism=GSSAPI with principal, keytab, ccache, service, realm, host and " \
    "canonical=yes or no; or mechanism=DIGEST-MD5 with user and password-file"

/* The entries, as they are written. */
enum entry {
    MECHANISM,
    USER,
    PASSWORD_FILE,
    PRINCIPAL,
    KEYTAB,
    CCACHE,
    SERVICE,
    REALM,
    HOST,
    CANONICAL,
    ENTRIES
};

static const struct {
    const char *key;
    bool of_digest, of_gssapi;
} entries[ENTRIES] = {
    [MECHANISM] = {"mechanism", true, true},
    [USER] = {"user", true, false},
    [PASSWORD_FILE] = {"password-file", true, false},
    [PRINCIPAL] = {"principal", false, true},
    [KEYTAB] = {"keytab", false, true},
    [CCACHE] = {"ccache", false, true},
    [SERVICE] = {"service", false, true},
    [REALM] = {"realm", false, true},
    [HOST] = {"host", false, true},
    [CANONICAL] = {"canonical", false, true},
};

/* Stores the value of "key=value". Returns false if it is malformed, or given twice. */
static bool sasl_options_take(const char *values[ENTRIES], char *text)
{
    char *value = strchr(text, '=');

    if (value == NULL || value[1] == '\0') {
        return false;
    }
    *value++ = '\0';
    for (size_t i = 0; i < ENTRIES; i++) {
        if (strcmp(text, entries[i].key) == 0) {
            bool is_first = values[i] == NULL;
            values[i] = value;
            return is_first;
        }
    }
    return false;
}

static bool sasl_options_split(char *text, const char *values[ENTRIES])
{
    bool valid = text[0] != '\0';

    for (char *rest = text; valid && rest != NULL;) {
        valid = sasl_options_take(values, strsep(&rest, ","));
    }
    return valid;
}

/* Returns what is wrong with the values, or NULL. */
static const char *fault_of(const char *const values[ENTRIES])
{
    bool is_gssapi =
        values[MECHANISM] != NULL && strcmp(values[MECHANISM], "GSSAPI") == 0;

    if (!is_gssapi &&
        (values[MECHANISM] == NULL || strcmp(values[MECHANISM], "DIGEST-MD5") != 0)) {
        return "options.sasl has no mechanism=GSSAPI or mechanism=DIGEST-MD5";
    }
    for (size_t i = 0; i < ENTRIES; i++) {
        if (values[i] != NULL &&
            !(is_gssapi ? entries[i].of_gssapi : entries[i].of_digest)) {
            return is_gssapi ? "options.sasl: user and password-file are of DIGEST-MD5"
                             : "options.sasl: DIGEST-MD5 has only user and password-file";
        }
    }
    if (!is_gssapi && (values[USER] == NULL || values[PASSWORD_FILE] == NULL)) {
        return "options.sasl: DIGEST-MD5 needs user and password-file";
    }
    if (values[CANONICAL] != NULL && strcmp(values[CANONICAL], "yes") != 0 &&
        strcmp(values[CANONICAL], "no") != 0) {
        return "options.sasl: canonical is neither yes nor no";
    }
    if (values[HOST] != NULL && strlen(values[HOST]) > UVZK__HOST_MAX) {
        return "options.sasl: the host has more than 255 characters";
    }
    return NULL;
}

static void sasl_options_store(struct uvzk__sasl_options *options,
                               const char *const values[ENTRIES])
{
    options->is_gssapi = strcmp(values[MECHANISM], "GSSAPI") == 0;
    options->canonical =
        values[CANONICAL] != NULL && strcmp(values[CANONICAL], "yes") == 0;
    options->user = values[USER];
    options->password_file = values[PASSWORD_FILE];
    options->principal = values[PRINCIPAL];
    options->keytab = values[KEYTAB];
    options->ccache = values[CCACHE];
    options->service = values[SERVICE] != NULL ? values[SERVICE] : "zookeeper";
    options->realm = values[REALM];
    options->host = values[HOST];
}

int uvzk__sasl_options_read(struct uvzk__sasl_options *options, const char *text)
{
    const char *values[ENTRIES] = {NULL};

    *options = (struct uvzk__sasl_options){.text = uvzk__strdup(text)};
    if (options->text == NULL) {
        return UV_ENOMEM;
    }
    const char *fault =
        sasl_options_split(options->text, values) ? fault_of(values) : LIST_TEXT;
    if (fault != NULL) {
        uvzk__sasl_options_free(options);
        return uvzk__refuse(UV_EINVAL, fault);
    }
    sasl_options_store(options, values);
    return 0;
}

void uvzk__sasl_options_free(struct uvzk__sasl_options *options)
{
    uvzk__free(options->text);
    *options = (struct uvzk__sasl_options){.text = NULL};
}
