/* A TLS handshake by OpenSSL over two memory BIOs, as far as the server's certificate
 * (certificate.h). Nothing is verified in it, so that a certificate can be told that no session
 * would accept. */
#include "doctor/certificate.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define READ_BYTES 16384

struct tls_exchange {
    SSL_CTX *context;
    SSL *ssl; /* owns the BIOs */
    BIO *from_server, *to_server;
    char bytes[READ_BYTES];
};

/* A write, with its bytes behind it. */
struct sending {
    uv_write_t request;
    char bytes[];
};

static void end(struct certificate *certificate, const char *reason)
{
    if (uv_is_closing((uv_handle_t *)&certificate->socket)) {
        return;
    }
    if (!certificate->seen) {
        snprintf(certificate->reason, sizeof(certificate->reason), "%s", reason);
    }
    uv_close((uv_handle_t *)&certificate->socket, NULL);
}

/* ------------------------------------------------------------------ the certificate */

static bool is_address(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static void add_name(struct certificate *certificate, const char *name)
{
    size_t length = strlen(certificate->names);

    snprintf(certificate->names + length, sizeof(certificate->names) - length, "%s%s",
             length == 0 ? "" : ", ", name);
}

static void add_entry(struct certificate *certificate, const GENERAL_NAME *entry)
{
    char text[INET6_ADDRSTRLEN];

    if (entry->type == GEN_DNS) {
        add_name(certificate, (const char *)ASN1_STRING_get0_data(entry->d.dNSName));
    } else if (entry->type == GEN_IPADD) {
        int length = ASN1_STRING_length(entry->d.iPAddress);
        const void *bytes = ASN1_STRING_get0_data(entry->d.iPAddress);
        if ((length == 4 || length == 16) &&
            inet_ntop(length == 4 ? AF_INET : AF_INET6, bytes, text, sizeof(text)) !=
                NULL) {
            add_name(certificate, text);
        }
    }
}

/* By the rules of loop/native/tls.c: the common name does not count. */
static bool is_for(X509 *leaf, const char *name)
{
    const unsigned flags =
        X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
    size_t length = strlen(name);

    if (is_address(name)) {
        return X509_check_ip_asc(leaf, name, flags) == 1;
    }
    length -= length > 0 && name[length - 1] == '.'; /* it is relative to no domain */
    return X509_check_host(leaf, name, length, flags, NULL) == 1;
}

static void keep_names(struct certificate *certificate, X509 *leaf)
{
    GENERAL_NAMES *entries = X509_get_ext_d2i(leaf, NID_subject_alt_name, NULL, NULL);

    for (int i = 0; entries != NULL && i < sk_GENERAL_NAME_num(entries); i++) {
        add_entry(certificate, sk_GENERAL_NAME_value(entries, i));
    }
    GENERAL_NAMES_free(entries);
    if (certificate->names[0] == '\0') {
        add_name(certificate, "no name");
    }
    certificate->has_name = is_for(leaf, certificate->name);
}

static void keep_dates(struct certificate *certificate, X509 *leaf)
{
    const ASN1_TIME *ends = X509_get0_notAfter(leaf);
    int days = 0, seconds = 0;
    struct tm expires;

    certificate->is_early = X509_cmp_current_time(X509_get0_notBefore(leaf)) > 0;
    if (ASN1_TIME_diff(&days, &seconds, NULL, ends) == 1 &&
        ASN1_TIME_to_tm(ends, &expires) == 1) {
        certificate->has_expired = days < 0 || seconds < 0;
        certificate->days_left = days;
        strftime(certificate->expires, sizeof(certificate->expires), "%Y-%m-%d",
                 &expires);
    }
}

static void keep_certificate(struct certificate *certificate, X509 *leaf)
{
    certificate->seen = true;
    keep_names(certificate, leaf);
    keep_dates(certificate, leaf);
}

/* -------------------------------------------------------------------- the handshake */

static void on_written(uv_write_t *request, int status)
{
    struct certificate *certificate = request->data;

    free(request); /* the first member of struct sending */
    if (status < 0) {
        end(certificate, uv_strerror(status));
    }
}

/* Sends what OpenSSL has for the server. */
static void send_all(struct certificate *certificate)
{
    size_t length = BIO_ctrl_pending(certificate->tls->to_server);
    struct sending *sending = length == 0 ? NULL : malloc(sizeof(*sending) + length);

    if (sending == NULL) {
        if (length > 0) {
            end(certificate, uv_strerror(UV_ENOMEM));
        }
        return;
    }
    sending->request.data = certificate;
    (void)BIO_read(certificate->tls->to_server, sending->bytes, (int)length);
    uv_buf_t buffer = uv_buf_init(sending->bytes, (unsigned)length);
    int status = uv_write(&sending->request, (uv_stream_t *)&certificate->socket, &buffer,
                          1, on_written);
    if (status < 0) {
        free(sending);
        end(certificate, uv_strerror(status));
    }
}

static void shake_hands(struct certificate *certificate)
{
    struct tls_exchange *tls = certificate->tls;

    ERR_clear_error();
    int done = SSL_do_handshake(tls->ssl);
    X509 *leaf = SSL_get0_peer_certificate(tls->ssl);
    if (leaf != NULL) {
        keep_certificate(certificate, leaf);
        end(certificate, "");
        return;
    }
    int error = SSL_get_error(tls->ssl, done);
    if (done == 1 || error != SSL_ERROR_WANT_READ) {
        const char *why = ERR_reason_error_string(ERR_peek_error());
        end(certificate, why == NULL ? "no certificate" : why);
        return;
    }
    send_all(certificate);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct certificate *certificate = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(certificate->tls->bytes, READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct certificate *certificate = stream->data;

    if (length < 0) {
        end(certificate, length == UV_EOF ? "the server closes the connection"
                                          : uv_strerror((int)length));
        return;
    }
    (void)BIO_write(certificate->tls->from_server, buffer->base, (int)length);
    shake_hands(certificate);
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct certificate *certificate = connect->data;

    if (status == 0) {
        status = uv_read_start((uv_stream_t *)&certificate->socket, on_room, on_read);
    }
    if (status < 0) {
        end(certificate, uv_strerror(status));
    } else {
        shake_hands(certificate);
    }
}

/* Returns false without memory. */
static bool open_exchange(struct certificate *certificate)
{
    struct tls_exchange *tls = calloc(1, sizeof(*tls));

    certificate->tls = tls;
    if (tls == NULL) {
        return false;
    }
    tls->context = SSL_CTX_new(TLS_client_method());
    tls->ssl = tls->context == NULL ? NULL : SSL_new(tls->context);
    if (tls->ssl == NULL) {
        return false;
    }
    tls->from_server = BIO_new(BIO_s_mem());
    tls->to_server = BIO_new(BIO_s_mem());
    SSL_set_bio(tls->ssl, tls->from_server, tls->to_server);
    if (tls->from_server == NULL || tls->to_server == NULL) {
        return false;
    }
    SSL_set_verify(tls->ssl, SSL_VERIFY_NONE, NULL);
    SSL_set_connect_state(tls->ssl);
    return is_address(certificate->name) ||
           SSL_set_tlsext_host_name(tls->ssl, (char *)(uintptr_t)certificate->name) == 1;
}

void certificate_look(struct certificate *certificate, uv_loop_t *loop,
                      const struct sockaddr *address, const char *name)
{
    certificate->name = name;
    certificate->socket.data = certificate;
    certificate->connect.data = certificate;
    uv_tcp_init(loop, &certificate->socket);
    int status = open_exchange(certificate)
                     ? uv_tcp_connect(&certificate->connect, &certificate->socket,
                                      address, on_connected)
                     : UV_ENOMEM;
    if (status < 0) {
        end(certificate, uv_strerror(status));
    }
}

void certificate_give_up(struct certificate *certificate)
{
    end(certificate, "no answer");
}

void certificate_free(struct certificate *certificate)
{
    if (certificate->tls != NULL) {
        SSL_free(certificate->tls->ssl);
        SSL_CTX_free(certificate->tls->context);
        free(certificate->tls);
    }
}
