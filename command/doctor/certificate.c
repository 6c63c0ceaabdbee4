/* SPDX-License-Identifier: Apache-2.0 */
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

struct tls_exchange {
    SSL_CTX *context;
    SSL *ssl; /* owns the BIOs */
    BIO *from_server, *to_server;
};

static void end(struct certificate *certificate, const char *reason)
{
    if (server_exchange_end(&certificate->exchange) && !certificate->seen) {
        snprintf(certificate->reason, sizeof(certificate->reason), "%s", reason);
    }
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

/* Sends what OpenSSL has for the server. */
static void send_all(struct certificate *certificate)
{
    char bytes[4096];
    int length;

    while ((length = BIO_read(certificate->tls->to_server, bytes, sizeof(bytes))) > 0) {
        server_exchange_send(&certificate->exchange, bytes, (size_t)length);
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

static void on_connected(void *asker)
{
    shake_hands(asker);
}

static void on_received(void *asker, const char *bytes, size_t length)
{
    const struct certificate *certificate = asker;

    (void)BIO_write(certificate->tls->from_server, bytes, (int)length);
    shake_hands(asker);
}

static void on_failed(void *asker, int status)
{
    end(asker, server_exchange_reason(status));
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
    static const struct server_exchange_calls calls = {
        .connected = on_connected, .received = on_received, .failed = on_failed};

    certificate->name = name;
    server_exchange_begin(&certificate->exchange, loop, address, &calls, certificate);
    if (!open_exchange(certificate)) {
        end(certificate, uv_strerror(UV_ENOMEM));
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
