/* One TLS connection over two memory BIOs (tls.h). */
#include "native/tls.h"

#include <string.h>
#include <uv.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/memory.h"
#include "discovery/addresses.h"
#include "discovery/hosts.h"
#include "native/tls_errors.h"
#include "native/tls_internal.h"

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
                 uvzk__tls_context_authority(tls->context),
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
                 uvzk__tls_context_has_certificate(tls->context)
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
static int tls_outcome(struct uvzk__tls *tls, int result, struct uvzk__tls_errors *errors)
{
    int status = result == 1 ? 0 : failure_of(tls, result);

    uvzk__tls_errors_put_back(errors);
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
    const char *name = uvzk__tls_context_name(tls->context);
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
    tls->ssl = uvzk__tls_context_connection(tls->context);
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
    struct uvzk__tls_errors errors;

    if (tls == NULL) {
        return NULL;
    }
    tls->context = context;
    uvzk__tls_errors_take(&errors);
    bool opened = open_ssl(tls, host, address);
    uvzk__tls_errors_put_back(&errors);
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
    struct uvzk__tls_errors errors;

    uvzk__tls_errors_take(&errors);
    return tls_outcome(tls, SSL_do_handshake(tls->ssl), &errors);
}

int uvzk__tls_receive(struct uvzk__tls *tls, const void *bytes, size_t length)
{
    struct uvzk__tls_errors errors;

    uvzk__tls_errors_take(&errors);
    int written = BIO_write(tls->in, bytes, (int)length);
    uvzk__tls_errors_put_back(&errors);
    return written == (int)length ? 0 : UV_ENOMEM;
}

int uvzk__tls_read(struct uvzk__tls *tls, void *bytes, size_t *length)
{
    struct uvzk__tls_errors errors;

    uvzk__tls_errors_take(&errors);
    return tls_outcome(tls, SSL_read_ex(tls->ssl, bytes, *length, length), &errors);
}

int uvzk__tls_write(struct uvzk__tls *tls, const void *bytes, size_t length)
{
    struct uvzk__tls_errors errors;
    size_t written;

    uvzk__tls_errors_take(&errors);
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
