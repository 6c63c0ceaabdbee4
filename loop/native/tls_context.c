/* The SSL_CTX of a client (tls_context.h). */
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <uv.h>

#include <openssl/err.h>

#include "base/memory.h"
#include "base/refusal.h"
#include "native/tls_errors.h"
#include "native/tls_internal.h"
#include "native/tls_options.h"

enum { CA, CERTIFICATE, KEY, FILES };

struct uvzk__tls_context {
    struct uvzk__tls_options options;
    SSL_CTX *ctx;
    struct stat files[FILES]; /* as they were when they were read */
    unsigned users;           /* ports that share it */
    bool asked_for_password;  /* by OpenSSL, while the files were read */
    char text[UVZK__TLS_TEXT];
};

/* ---------------------------------------------------------------------------- the files */

static const char *name_of(const struct uvzk__tls_context *context, int file)
{
    const struct uvzk__tls_options *options = &context->options;

    return file == CA             ? options->ca
           : file == CERTIFICATE  ? options->certificate
           : options->key != NULL ? options->key
                                  : options->certificate;
}

static void look_at_files(const struct uvzk__tls_context *context,
                          struct stat files[FILES])
{
    for (int file = 0; file < FILES; file++) {
        const char *name = name_of(context, file);
        if (name == NULL || stat(name, &files[file]) != 0) {
            memset(&files[file], 0, sizeof(files[file]));
        }
    }
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool have_changed(const struct stat *before, const struct stat *now)
{
    for (int file = 0; file < FILES; file++) {
        if (!is_same(&before[file], &now[file])) {
            return true;
        }
    }
    return false;
}

/* Reports why OpenSSL, or the system, refuses a file. */
static int tls_context_complain(struct uvzk__tls_context *context, const char *what,
                                const char *name)
{
    unsigned long error = ERR_peek_error();
    const char *reason = context->asked_for_password
                             ? "it is encrypted, and uvzk asks for no password"
                         : ERR_SYSTEM_ERROR(error)
                             ? uv_strerror(uv_translate_sys_error(ERR_GET_REASON(error)))
                             : ERR_reason_error_string(error);

    /* A file with a long name still has a reason. */
    snprintf(context->text, sizeof(context->text), "%s %.400s: %s", what, name,
             reason == NULL ? "it is not what is wanted" : reason);
    return UV_EINVAL;
}

static int tls_context_trust(struct uvzk__tls_context *context, SSL_CTX *ctx)
{
    const char *ca = name_of(context, CA);
    int right = ca == NULL ? SSL_CTX_set_default_verify_paths(ctx)
                           : SSL_CTX_load_verify_file(ctx, ca);

    return right == 1 ? 0
                      : tls_context_complain(context, "options.tls: CA file",
                                             ca == NULL ? "of the system" : ca);
}

static int tls_context_identify(struct uvzk__tls_context *context, SSL_CTX *ctx)
{
    const char *certificate = name_of(context, CERTIFICATE), *key = name_of(context, KEY);

    if (certificate == NULL) {
        return 0;
    }
    if (SSL_CTX_use_certificate_chain_file(ctx, certificate) != 1) {
        return tls_context_complain(context, "options.tls: certificate file",
                                    certificate);
    }
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1) {
        return tls_context_complain(context, "options.tls: key file", key);
    }
    return 0;
}

/* OpenSSL's own function would ask on the terminal, and wait. */
static int have_no_password(char *buffer, int size, int writes, void *context)
{
    (void)buffer;
    (void)size;
    (void)writes;
    ((struct uvzk__tls_context *)context)->asked_for_password = true;
    return -1;
}

/* Opening a FIFO would wait for a writer. OpenSSL reports a file that does not exist. */
static int refuse_what_is_no_file(struct uvzk__tls_context *context,
                                  const struct stat files[FILES])
{
    for (int file = 0; file < FILES; file++) {
        if (files[file].st_mode != 0 && !S_ISREG(files[file].st_mode)) {
            snprintf(context->text, sizeof(context->text),
                     "options.tls: %.400s is not a regular file", name_of(context, file));
            return UV_EINVAL;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------------ begin and end */

static int tls_context_make(struct uvzk__tls_context *context, SSL_CTX **made)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    if (ctx == NULL) {
        return UV_ENOMEM;
    }
    context->asked_for_password = false;
    SSL_CTX_set_default_passwd_cb(ctx, have_no_password);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, context);
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    /* A connection at rest keeps no buffers for records. */
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    /* The server's certificate is checked at each connect: no TLS session is resumed. */
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    int status = tls_context_trust(context, ctx);
    if (status == 0) {
        status = tls_context_identify(context, ctx);
    }
    if (status != 0) {
        SSL_CTX_free(ctx);
        return status;
    }
    *made = ctx;
    return 0;
}

/* Makes the SSL_CTX from the files. */
static int tls_context_load(struct uvzk__tls_context *context,
                            const struct stat files[FILES], SSL_CTX **made)
{
    struct uvzk__tls_errors errors;
    int status = refuse_what_is_no_file(context, files);

    if (status == 0) {
        uvzk__tls_errors_take(&errors);
        status = tls_context_make(context, made);
        uvzk__tls_errors_put_back(&errors);
    }
    return status;
}

/* The sentence outlives the context. */
static void tls_context_refuse(const struct uvzk__tls_context *context)
{
    static _Thread_local char text[UVZK__TLS_TEXT];

    memcpy(text, context->text, sizeof(text));
    (void)uvzk__refuse(UV_EINVAL, text);
}

int uvzk__tls_context_new(const char *options, struct uvzk__tls_context **made)
{
    struct uvzk__tls_context *context = uvzk__calloc(1, sizeof(*context));
    if (context == NULL) {
        return UV_ENOMEM;
    }
    context->users = 1;
    int status = uvzk__tls_options_read(&context->options, options);
    if (status == 0) {
        look_at_files(context, context->files);
        status = tls_context_load(context, context->files, &context->ctx);
        if (status == UV_EINVAL) {
            tls_context_refuse(context);
        }
    }
    if (status != 0) {
        uvzk__tls_context_free(context);
        return status;
    }
    *made = context;
    return 0;
}

struct uvzk__tls_context *uvzk__tls_context_share(struct uvzk__tls_context *context)
{
    if (context != NULL) {
        context->users++;
    }
    return context;
}

void uvzk__tls_context_free(struct uvzk__tls_context *context)
{
    if (context != NULL && --context->users == 0) {
        SSL_CTX_free(context->ctx);
        uvzk__tls_options_free(&context->options);
        uvzk__free(context);
    }
}

/* An operator who renews a certificate may replace the files one after the other. Until
 * they match, the old ones stay in use, and the new ones are tried at the next
 * connection. */
const char *uvzk__tls_context_renew(struct uvzk__tls_context *context)
{
    struct stat now[FILES];
    SSL_CTX *ctx;

    look_at_files(context, now);
    if (!have_changed(context->files, now)) {
        return NULL;
    }
    int status = tls_context_load(context, now, &ctx);
    if (status != 0) {
        return status == UV_ENOMEM ? "out of memory" : context->text;
    }
    SSL_CTX_free(context->ctx);
    context->ctx = ctx;
    memcpy(context->files, now, sizeof(now));
    return NULL;
}

SSL *uvzk__tls_context_connection(const struct uvzk__tls_context *context)
{
    return SSL_new(context->ctx);
}

const char *uvzk__tls_context_name(const struct uvzk__tls_context *context)
{
    return context->options.name;
}

bool uvzk__tls_context_has_certificate(const struct uvzk__tls_context *context)
{
    return context->options.certificate != NULL;
}

const char *uvzk__tls_context_authority(const struct uvzk__tls_context *context)
{
    return context->options.ca != NULL ? context->options.ca : "the system's CAs";
}
