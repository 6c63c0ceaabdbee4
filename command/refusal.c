/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the names of struct fields in the library's messages by the options of the
 * command line (refusal.h). */
#include "refusal.h"

#include <stdio.h>
#include <string.h>

#include <uvzk.h>

static char text[1024];

/* Returns the option that sets the field with which the sentence begins, and the length
 * of the field's name; NULL: there is none. */
static const char *option_of(const struct connection_options *options,
                             const char *sentence, size_t *length)
{
    const struct {
        const char *field, *option;
    } names[] = {{"options.hosts", options->hosts_from},
                 {"options.ns", options->ns_from},
                 {"options.tls", options->tls ? "--tls" : "tls"},
                 {"options.session_timeout_ms", "--session-timeout, in ms,"},
                 {"options.traceparent", "TRACEPARENT"},
                 {"options.tick_ms", "--tick, in ms,"},
                 {"options.auth_scheme", "auth_scheme"},
                 {"options.acl", "acl"},
                 {"options.retry.base_ms", "retry_base_ms"}};

    *length = strcspn(sentence, " :");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i].field) == *length &&
            strncmp(names[i].field, sentence, *length) == 0) {
            return names[i].option;
        }
    }
    return NULL;
}

const char *refusal_text(const struct connection_options *options, int status)
{
    const char *sentence = uvzk_refusal(status);
    size_t length = 0;
    const char *option = option_of(options, sentence, &length);

    if (option == NULL) {
        return sentence;
    }
    snprintf(text, sizeof(text), "%s%s", option, sentence + length);
    return text;
}

const char *refusal_of_chroot(const struct connection_options *options, int status)
{
    const char *chroot = strchr(options->hosts, '/');

    if (status != UVZK_ENONODE || chroot == NULL) {
        return uvzk_strerror(status);
    }
    snprintf(text, sizeof(text), "%s: the chroot %s does not exist", options->hosts_from,
             chroot);
    return text;
}
