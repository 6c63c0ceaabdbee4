/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange of SASL (sasl.h): which token comes next, by which mechanism, and when the
 * other side is believed. authentication.c begins and ends it. */
#include "native/sasl.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/memory.h"
#include "base/refusal.h"
#include "native/sasl_options.h"
#include "platform/entropy.h"

/* Of the password, and what stands behind it in its file. */
#define PASSWORD_MAX 1024

struct uvzk__sasl_context {
    struct uvzk__sasl_options options;
    struct uvzk__gssapi *gssapi; /* owned; NULL: DIGEST-MD5 */
    unsigned users;              /* ports that share it */
};

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__SASL_, MAKING, ASKED, ACCEPTED, FAILED),
    UVZK__STATE(UVZK__SASL_, ASKED, MAKING),
    UVZK__FINAL(UVZK__SASL_, ACCEPTED),
    UVZK__FINAL(UVZK__SASL_, FAILED),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__sasl *sasl = object;

    return (sasl->state == UVZK__SASL_FAILED) == (sasl->code != 0);
}

const struct uvzk__machine uvzk__sasl_machine =
    UVZK__MACHINE("SASL exchange", table, struct uvzk__sasl, state, invariant_holds);

/* ------------------------------------------------------------------- how a step ends */

static void sasl_move(struct uvzk__sasl *sasl, enum uvzk__sasl_state state)
{
    uvzk__port_move(sasl->port, &uvzk__sasl_machine, sasl, state);
}

static void sasl_fail(struct uvzk__sasl *sasl, int code, const char *text)
{
    sasl->code = code;
    snprintf(sasl->failure, sizeof(sasl->failure), "%s", text);
    sasl_move(sasl, UVZK__SASL_FAILED);
}

static void sasl_ask(struct uvzk__sasl *sasl)
{
    sasl->step++;
    sasl_move(sasl, UVZK__SASL_ASKED);
}

/* ------------------------------------------------------------------------- DIGEST-MD5 */

/* Reads the first line. Returns NULL, or what is wrong. Opening a FIFO would wait. */
static const char *read_password(const char *name, char password[PASSWORD_MAX + 1])
{
    struct stat file;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t length = -1;

    if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) {
        length = read(fd, password, PASSWORD_MAX + 1);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (length < 0) {
        return "cannot be read, or is no file";
    }
    char *end = memchr(password, '\n', (size_t)length);
    if (end == NULL && length == PASSWORD_MAX + 1) {
        return "has a longer first line than 1024 bytes";
    }
    end = end == NULL ? password + length : end;
    *end = '\0';
    return password[0] == '\0' ? "has no password in its first line" : NULL;
}

/* The file is read at each connection, so a password may change. */
static void digest_answer(struct uvzk__sasl *sasl,
                          const struct uvzk__digest_challenge *challenge)
{
    char password[PASSWORD_MAX + 1], cnonce[33], text[UVZK__SASL_TEXT];
    unsigned char random[16];
    const struct uvzk__sasl_options *options = &sasl->context->options;
    const struct uvzk__digest_client client = {options->user, password, cnonce};
    const char *fault = read_password(options->password_file, password);
    int status = uvzk__entropy(random, sizeof(random));

    for (size_t i = 0; i < sizeof(random); i++) {
        snprintf(cnonce + 2 * i, 3, "%02x", random[i]);
    }
    if (fault == NULL && status == 0) {
        status = uvzk__digest_respond(challenge, &client, &sasl->token, sasl->expected);
    }
    explicit_bzero(password, sizeof(password));
    if (fault != NULL) {
        snprintf(text, sizeof(text), "cannot be told the password: %.400s %s",
                 options->password_file, fault);
        sasl_fail(sasl, UVZK_EAUTH, text);
    } else if (status < 0) {
        sasl_fail(sasl, status, uv_strerror(status));
    } else {
        sasl_ask(sasl);
    }
}

/* A server that lets clients in whom it could not authenticate answers nothing in place of
 * its proof. */
static void digest_step(struct uvzk__sasl *sasl, struct uvzk__jute_bytes challenge)
{
    struct uvzk__digest_challenge read;
    const char *fault;

    switch (sasl->step) {
    case 0:
        sasl_ask(sasl);
        break;
    case 1:
        fault = challenge.length == 0
                    ? "offers no SASL, or not DIGEST-MD5 (as in its FIPS mode)"
                    : uvzk__digest_challenge_read(challenge, &read);
        if (fault != NULL) {
            sasl_fail(sasl, UVZK_EAUTH, fault);
        } else {
            digest_answer(sasl, &read);
        }
        break;
    default:
        if (uvzk__digest_is_proof(challenge, sasl->expected)) {
            sasl_move(sasl, UVZK__SASL_ACCEPTED);
        } else {
            sasl_fail(sasl, UVZK_EAUTH,
                      challenge.length == 0
                          ? "refused the user or the password, and would serve without "
                            "(zookeeper.allowSaslFailedClients)"
                          : "does not prove that it knows the user's password");
        }
    }
}

/* ----------------------------------------------------------------------------- GSSAPI */

/* A step has ended on the thread. */
static void gssapi_made(void *user)
{
    struct uvzk__sasl *sasl = user;
    const struct uvzk__gssapi_result *result = uvzk__gssapi_result(sasl->gssapi);

    switch (result->outcome) {
    case UVZK__GSSAPI_SEND:
        uvzk__jute_put_raw(&sasl->token, result->token.at, result->token.length);
        if (sasl->token.status != 0) {
            sasl_fail(sasl, sasl->token.status, uv_strerror(sasl->token.status));
        } else {
            sasl_ask(sasl);
        }
        break;
    case UVZK__GSSAPI_ACCEPTED:
        sasl_move(sasl, UVZK__SASL_ACCEPTED);
        break;
    case UVZK__GSSAPI_FAILED:
        sasl_fail(sasl, result->code, result->text);
        break;
    }
    sasl->made(sasl);
}

/* -------------------------------------------------------------------------- the exchange */

struct uvzk__sasl *uvzk__sasl_new(struct uvzk__sasl_context *context,
                                  struct uvzk__port *port, struct uvzk__to_loop *to_loop,
                                  const struct uvzk__named_address *server,
                                  void (*made)(struct uvzk__sasl *), void *user)
{
    struct uvzk__sasl *sasl = uvzk__calloc(1, sizeof(*sasl));

    if (sasl == NULL) {
        return NULL;
    }
    sasl->context = context;
    sasl->port = port;
    sasl->made = made;
    sasl->user = user;
    uvzk__jute_writer_init(&sasl->token);
    if (context->gssapi != NULL) {
        sasl->gssapi =
            uvzk__gssapi_begin(context->gssapi, server, to_loop, gssapi_made, sasl);
    }
    if (context->gssapi != NULL && sasl->gssapi == NULL) {
        uvzk__free(sasl);
        return NULL;
    }
    return sasl;
}

void uvzk__sasl_step(struct uvzk__sasl *sasl, struct uvzk__jute_bytes challenge)
{
    if (sasl->state == UVZK__SASL_ASKED) {
        uvzk__jute_writer_clear(&sasl->token);
        sasl_move(sasl, UVZK__SASL_MAKING);
    }
    if (sasl->gssapi == NULL) {
        digest_step(sasl, challenge);
    } else if (uvzk__gssapi_step(sasl->gssapi, challenge) < 0) {
        sasl_fail(sasl, UV_ENOMEM, uv_strerror(UV_ENOMEM));
    }
}

void uvzk__sasl_free(struct uvzk__sasl *sasl)
{
    if (sasl != NULL) {
        uvzk__gssapi_end(sasl->gssapi);
        uvzk__jute_writer_end(&sasl->token);
        explicit_bzero(sasl->expected, sizeof(sasl->expected));
        uvzk__free(sasl);
    }
}

/* --------------------------------------------------------------------------- the context */

static int check_digest(const struct uvzk__sasl_options *options)
{
    char password[PASSWORD_MAX + 1];

    if (!uvzk__digest_is_possible()) {
        return uvzk__refuse(UV_ENOTSUP,
                            "options.sasl: OpenSSL has no MD5, as in its FIPS "
                            "mode; use mechanism=GSSAPI");
    }
    const char *fault = read_password(options->password_file, password);
    explicit_bzero(password, sizeof(password));
    return fault == NULL ? 0
                         : uvzk__refuse_with(UV_EINVAL, "options.sasl: %.300s %s",
                                             options->password_file, fault);
}

int uvzk__sasl_context_new(const char *options, struct uvzk__sasl_context **made)
{
    struct uvzk__sasl_context *context = uvzk__calloc(1, sizeof(*context));

    if (context == NULL) {
        return UV_ENOMEM;
    }
    context->users = 1;
    int status = uvzk__sasl_options_read(&context->options, options);
    if (status == 0) {
        status = context->options.is_gssapi ? uvzk__gssapi_new(options, &context->gssapi)
                                            : check_digest(&context->options);
    }
    if (status != 0) {
        uvzk__sasl_context_free(context);
        return status;
    }
    *made = context;
    return 0;
}

struct uvzk__sasl_context *uvzk__sasl_context_share(struct uvzk__sasl_context *context)
{
    if (context != NULL) {
        context->users++;
    }
    return context;
}

void uvzk__sasl_context_free(struct uvzk__sasl_context *context)
{
    if (context != NULL && --context->users == 0) {
        uvzk__gssapi_free(context->gssapi);
        uvzk__sasl_options_free(&context->options);
        uvzk__free(context);
    }
}
