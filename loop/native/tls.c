/* SPDX-License-Identifier: Apache-2.0 */
/* TLS from OpenSSL (tls.h): the SSL_CTX of a client, and each connection over two memory
 * BIOs. */
#include "native/tls.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/memory.h"
#include "base/refusal.h"
#include "discovery/addresses.h"
#include "discovery/hosts.h"
#include "native/tls_options.h"

/* ----------------------------------------------------------------- OpenSSL's errors */

/* The errors that the program has left in the queue of OpenSSL's errors. Each thread has
 * one queue, so uvzk and the program share it. OpenSSL attributes an error in the queue
 * to the latest call, and several of its calls empty the queue first. uvzk therefore
 * removes the program's errors before it calls OpenSSL, and puts them back afterwards. */
struct tls_errors {
    struct tls_error *array; /* owned; NULL: there were none */
    size_t count;
};

/* The texts are cut if they are longer. */
struct tls_error {
    unsigned long code;
    int line;
    char file[256];
    char function[128];
    char text[1024]; /* "": none */
};

/* Takes the oldest error out of the queue. False: there is none. */
static bool take_oldest(struct tls_error *error)
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

static void put_back(const struct tls_error *error)
{
    ERR_new();
    ERR_set_debug(error->file, error->line, error->function);
    ERR_set_error(ERR_GET_LIB(error->code), ERR_GET_REASON(error->code), NULL);
    if (error->text[0] != '\0') {
        ERR_add_error_data(1, error->text);
    }
}

/* Before calls of OpenSSL: the queue is empty afterwards. */
static void tls_errors_take(struct tls_errors *errors)
{
    *errors = (struct tls_errors){.array = NULL};
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

/* After calls of OpenSSL: removes the errors that they have left, and puts back the
 * program's errors. Out of memory: the program's errors are lost. */
static void tls_errors_put_back(struct tls_errors *errors)
{
    ERR_clear_error();
    for (size_t i = 0; i < errors->count; i++) {
        put_back(&errors->array[i]);
    }
    uvzk__free(errors->array);
    errors->array = NULL;
}

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

/* Where systems keep their CAs. A program that carries the OpenSSL of another system, as a
 * static one does, would look for them in places that are not here. */
static const char *const ca_files[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Arch, Alpine */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, Red Hat */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* the same */
    "/etc/ssl/ca-bundle.pem",                            /* openSUSE */
    "/var/lib/ca-certificates/ca-bundle.pem",            /* the same */
    "/etc/ssl/cert.pem",                                 /* Alpine */
};
#define CA_DIRECTORY "/etc/ssl/certs" /* with a file for each CA, named by its hash */

/* OpenSSL's own places, or what the environment names instead. */
static bool is_place_of_openssl(void)
{
    return getenv(X509_get_default_cert_file_env()) != NULL ||
           getenv(X509_get_default_cert_dir_env()) != NULL ||
           access(X509_get_default_cert_file(), F_OK) == 0 ||
           access(X509_get_default_cert_dir(), F_OK) == 0;
}

static int tls_trust_system(SSL_CTX *ctx)
{
    if (is_place_of_openssl()) {
        return SSL_CTX_set_default_verify_paths(ctx);
    }
    for (size_t i = 0; i < sizeof(ca_files) / sizeof(ca_files[0]); i++) {
        if (access(ca_files[i], R_OK) == 0) {
            return SSL_CTX_load_verify_file(ctx, ca_files[i]);
        }
    }
    return SSL_CTX_load_verify_dir(ctx, CA_DIRECTORY);
}

static int tls_context_trust(struct uvzk__tls_context *context, SSL_CTX *ctx)
{
    const char *ca = name_of(context, CA);
    int right = ca == NULL ? tls_trust_system(ctx) : SSL_CTX_load_verify_file(ctx, ca);

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

/* -------------------------------------------------------------------------- the context */

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
    struct tls_errors errors;
    int status = refuse_what_is_no_file(context, files);

    if (status == 0) {
        tls_errors_take(&errors);
        status = tls_context_make(context, made);
        tls_errors_put_back(&errors);
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

struct uvzk__tls {
    struct uvzk__tls_context *context;
    SSL *ssl;
    BIO *in, *out; /* the SSL's */
    /* The name or address that the certificate must have. */
    char expected[UVZK__HOST_MAX + 1];
    char failure[UVZK__TLS_TEXT];
};

/* ----------------------------------------------------------------------- what is wrong */

/* The time of a certificate, as text. */
static void write_time(const ASN1_TIME *time, char *text, size_t size)
{
    struct tm parts;

    if (time == NULL || ASN1_TIME_to_tm(time, &parts) != 1 ||
        strftime(text, size, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
        snprintf(text, size, "an unknown time");
    }
}

static void write_subject(X509 *certificate, char *text, size_t size)
{
    if (certificate == NULL ||
        X509_NAME_oneline(X509_get_subject_name(certificate), text, (int)size) == NULL) {
        snprintf(text, size, "?");
    }
}

/* The sentence about the certificate that was refused while the chain was checked. */
static void describe_certificate(struct uvzk__tls *tls, X509_STORE_CTX *store)
{
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    int error = X509_STORE_CTX_get_error(store);
    char subject[120], time[40];

    write_subject(certificate, subject, sizeof(subject));
    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        write_time(X509_get0_notAfter(certificate), time, sizeof(time));
        snprintf(tls->failure, sizeof(tls->failure), "its certificate %s expired at %s",
                 subject, time);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        write_time(X509_get0_notBefore(certificate), time, sizeof(time));
        snprintf(tls->failure, sizeof(tls->failure),
                 "its certificate %s is not valid before %s", subject, time);
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        snprintf(tls->failure, sizeof(tls->failure), "its certificate %s %s for %s",
                 subject,
                 X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) < 0
                     ? "has no subjectAltName, and so is not"
                     : "is not",
                 tls->expected);
        break;
    default:
        snprintf(tls->failure, sizeof(tls->failure),
                 "its certificate %s is not trusted by %.200s: %s", subject,
                 tls->context->options.ca != NULL ? tls->context->options.ca
                                                  : "the system's CAs",
                 X509_verify_cert_error_string(error));
    }
}

static int on_verified(int right, X509_STORE_CTX *store)
{
    const SSL *ssl =
        X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());

    if (right != 1) {
        describe_certificate(SSL_get_app_data(ssl), store);
    }
    return right;
}

/* Describes the alert, or the other data, that the server has sent. */
static void describe_error(struct uvzk__tls *tls, unsigned long error)
{
    switch (ERR_GET_REASON(error)) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        snprintf(tls->failure, sizeof(tls->failure), "%s: %s",
                 tls->context->options.certificate != NULL
                     ? "refuses the certificate of the client"
                     : "requires a certificate of the client",
                 ERR_reason_error_string(error));
        break;
    case SSL_R_WRONG_VERSION_NUMBER:
        snprintf(tls->failure, sizeof(tls->failure), "does not speak TLS on this port");
        break;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        snprintf(tls->failure, sizeof(tls->failure), "does not speak TLS 1.2 or newer");
        break;
    default: {
        const char *reason = ERR_reason_error_string(error);
        snprintf(tls->failure, sizeof(tls->failure), "TLS has failed: %s",
                 reason == NULL ? "for an unknown reason" : reason);
    }
    }
}

static int failure_of(struct uvzk__tls *tls, int result)
{
    int kind = SSL_get_error(tls->ssl, result);
    unsigned long error = ERR_peek_error();

    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
        return UV_EAGAIN;
    }
    if (kind == SSL_ERROR_ZERO_RETURN) {
        return UV_EOF;
    }
    if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) {
        return UV_ENOMEM;
    }
    /* on_verified has said more already. */
    if (tls->failure[0] == '\0') {
        describe_error(tls, error);
    }
    return UV_EPROTO;
}

/* Translates the outcome of a call of OpenSSL. errors: those that were saved for it. */
static int tls_outcome(struct uvzk__tls *tls, int result, struct tls_errors *errors)
{
    int status = result == 1 ? 0 : failure_of(tls, result);

    tls_errors_put_back(errors);
    return status;
}

const char *uvzk__tls_failure(const struct uvzk__tls *tls)
{
    return tls->failure[0] == '\0' ? NULL : tls->failure;
}

/* ------------------------------------------------------------------------ begin and end */

/* OpenSSL's macro for this drops the const. */
static bool ask_for(SSL *ssl, const char *name)
{
    return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    (void *)(uintptr_t)name) == 1;
}

/* A dot at the end of a name is for the resolver: certificates do not have it. It stays
 * if the name would be empty, because OpenSSL does not check an empty one. */
static void write_expected(struct uvzk__tls *tls, const char *name)
{
    size_t length = strlen(name);

    if (length > 1 && name[length - 1] == '.') {
        length--;
    }
    snprintf(tls->expected, sizeof(tls->expected), "%.*s", (int)length, name);
}

/* An IPv4 address that is mapped into IPv6 is an IPv4 address in certificates.
 * Certificates have no scope. */
static bool expect_address(X509_VERIFY_PARAM *rules, const struct uvzk__address *address)
{
    const unsigned char *bytes = (const unsigned char *)&address->socket.in.sin_addr;
    size_t length = 4;

    if (address->socket.any.sa_family == AF_INET6) {
        bool mapped = IN6_IS_ADDR_V4MAPPED(&address->socket.in6.sin6_addr);
        bytes = address->socket.in6.sin6_addr.s6_addr + (mapped ? 12 : 0);
        length = mapped ? 4 : 16;
    }
    return X509_VERIFY_PARAM_set1_ip(rules, bytes, length) == 1;
}

/* The name that the certificate must have, and the name that is sent to the server
 * (SNI). */
static bool tls_expect(struct uvzk__tls *tls, const char *host, const char *address)
{
    const char *name = tls->context->options.name;
    X509_VERIFY_PARAM *rules = SSL_get0_param(tls->ssl);
    struct uvzk__address numeric;

    name = name != NULL ? name : host != NULL ? host : address;
    write_expected(tls, name);
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                               X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (uvzk__address_read(name, 0, &numeric)) {
        return expect_address(rules, &numeric);
    }
    return X509_VERIFY_PARAM_set1_host(rules, tls->expected, 0) == 1 &&
           ask_for(tls->ssl, tls->expected);
}

static bool open_ssl(struct uvzk__tls *tls, const char *host, const char *address)
{
    tls->ssl = SSL_new(tls->context->ctx);
    if (tls->ssl == NULL) {
        return false;
    }
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (tls->in == NULL || tls->out == NULL) {
        BIO_free(tls->in);
        BIO_free(tls->out);
        return false;
    }
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    SSL_set_app_data(tls->ssl, tls);
    SSL_set_verify(tls->ssl, SSL_VERIFY_PEER, on_verified);
    SSL_set_connect_state(tls->ssl);
    return tls_expect(tls, host, address);
}

struct uvzk__tls *uvzk__tls_new(struct uvzk__tls_context *context, const char *host,
                                const char *address)
{
    struct uvzk__tls *tls = uvzk__calloc(1, sizeof(*tls));
    struct tls_errors errors;

    if (tls == NULL) {
        return NULL;
    }
    tls->context = context;
    tls_errors_take(&errors);
    bool opened = open_ssl(tls, host, address);
    tls_errors_put_back(&errors);
    if (!opened) {
        uvzk__tls_free(tls);
        return NULL;
    }
    return tls;
}

void uvzk__tls_free(struct uvzk__tls *tls)
{
    if (tls != NULL) {
        SSL_free(tls->ssl);
        uvzk__free(tls);
    }
}

/* ---------------------------------------------------------------------------- the bytes */

int uvzk__tls_handshake(struct uvzk__tls *tls)
{
    struct tls_errors errors;

    tls_errors_take(&errors);
    return tls_outcome(tls, SSL_do_handshake(tls->ssl), &errors);
}

int uvzk__tls_receive(struct uvzk__tls *tls, const void *bytes, size_t length)
{
    struct tls_errors errors;

    tls_errors_take(&errors);
    int written = BIO_write(tls->in, bytes, (int)length);
    tls_errors_put_back(&errors);
    return written == (int)length ? 0 : UV_ENOMEM;
}

int uvzk__tls_read(struct uvzk__tls *tls, void *bytes, size_t *length)
{
    struct tls_errors errors;

    tls_errors_take(&errors);
    return tls_outcome(tls, SSL_read_ex(tls->ssl, bytes, *length, length), &errors);
}

int uvzk__tls_write(struct uvzk__tls *tls, const void *bytes, size_t length)
{
    struct tls_errors errors;
    size_t written;

    tls_errors_take(&errors);
    return tls_outcome(tls, SSL_write_ex(tls->ssl, bytes, length, &written), &errors);
}

struct uvzk__jute_bytes uvzk__tls_output(const struct uvzk__tls *tls)
{
    char *bytes = NULL;
    long length = BIO_get_mem_data(tls->out, &bytes);

    return uvzk__jute_bytes(bytes, length < 0 ? 0 : (size_t)length);
}

/* Reading from a memory BIO removes what was read. */
void uvzk__tls_sent(struct uvzk__tls *tls, size_t length)
{
    char removed[4096];

    while (length > 0) {
        int got = BIO_read(tls->out, removed,
                           (int)(length < sizeof(removed) ? length : sizeof(removed)));
        if (got <= 0) {
            return;
        }
        length -= (size_t)got;
    }
}
