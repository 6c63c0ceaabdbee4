/* Saves and restores the thread's queue of OpenSSL errors around uvzk's own calls
 * (tls_errors.h). tls.c and tls_context.c call it. */
#include "native/tls_errors.h"

#include <stdbool.h>
#include <stdio.h>

#include <openssl/err.h>

#include "base/memory.h"

/* The texts are cut if they are longer. */
struct uvzk__tls_error {
    unsigned long code;
    int line;
    char file[256];
    char function[128];
    char text[1024]; /* "": none */
};

/* Takes the oldest error out of the queue. False: there is none. */
static bool take_oldest(struct uvzk__tls_error *error)
{
    const char *file, *function, *text;
    int flags;

    error->code = ERR_get_error_all(&file, &error->line, &function, &text, &flags);
    if (error->code == 0) {
        return false;
    }
    snprintf(error->file, sizeof(error->file), "%s", file);
    snprintf(error->function, sizeof(error->function), "%s", function);
    snprintf(error->text, sizeof(error->text), "%s",
             (flags & ERR_TXT_STRING) != 0 ? text : "");
    return true;
}

static void put_back(const struct uvzk__tls_error *error)
{
    ERR_new();
    ERR_set_debug(error->file, error->line, error->function);
    ERR_set_error(ERR_GET_LIB(error->code), ERR_GET_REASON(error->code), NULL);
    if (error->text[0] != '\0') {
        ERR_add_error_data(1, error->text);
    }
}

void uvzk__tls_errors_take(struct uvzk__tls_errors *errors)
{
    *errors = (struct uvzk__tls_errors){.array = NULL};
    if (ERR_peek_error() == 0) {
        return;
    }
    errors->array = uvzk__malloc(ERR_NUM_ERRORS * sizeof(*errors->array));
    if (errors->array == NULL) {
        ERR_clear_error();
        return;
    }
    while (errors->count < ERR_NUM_ERRORS && take_oldest(&errors->array[errors->count])) {
        errors->count++;
    }
}

void uvzk__tls_errors_put_back(struct uvzk__tls_errors *errors)
{
    ERR_clear_error();
    for (size_t i = 0; i < errors->count; i++) {
        put_back(&errors->array[i]);
    }
    uvzk__free(errors->array);
    errors->array = NULL;
}
