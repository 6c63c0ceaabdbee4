/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_peer.h"

#include "cmocka_test.h"

#include <uv.h>

#define BYTES 17000

#define DAY_S (24L * 60 * 60)
/* ---------------------------------------------------------------------- certificates */

static void add_extension(X509 *certificate, int kind, const char *text)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, text);

    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

struct issuer certify(const char *name, const struct issuer *by, long from_days,
                      long to_days, const char *names)
{
    static long serial;
    struct issuer made = {EVP_EC_gen("P-256"), X509_new()};
    X509_NAME *subject = X509_get_subject_name(made.certificate);

    X509_set_version(made.certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.certificate), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made.certificate), from_days * DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(made.certificate), to_days * DAY_S);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name,
                               -1, -1, 0);
    X509_set_pubkey(made.certificate, made.key);
    X509_set_issuer_name(made.certificate,
                         by == NULL ? subject : X509_get_subject_name(by->certificate));
    if (by == NULL) {
        add_extension(made.certificate, NID_basic_constraints, "critical,CA:TRUE");
    } else if (names != NULL) {
        add_extension(made.certificate, NID_subject_alt_name, names);
    }
    assert_true(
        X509_sign(made.certificate, by == NULL ? made.key : by->key, EVP_sha256()) > 0);
    return made;
}

void discard(struct issuer *issuer)
{
    X509_free(issuer->certificate);
    EVP_PKEY_free(issuer->key);
}

/* --------------------------------------------------------------------------- a server */

void listen_in_memory(SSL *server)
{
    SSL_set_bio(server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(server);
}

SSL *serve(const struct issuer *as)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    assert_int_equal(SSL_CTX_use_certificate(ctx, as->certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, as->key), 1);
    SSL *server = SSL_new(ctx);
    SSL_CTX_free(ctx);
    listen_in_memory(server);
    return server;
}

bool carry(struct uvzk__tls *tls, SSL *server)
{
    struct uvzk__jute_bytes out = uvzk__tls_output(tls);
    char bytes[BYTES];

    if (out.length > 0) {
        BIO_write(SSL_get_rbio(server), out.at, (int)out.length);
        uvzk__tls_sent(tls, out.length);
    }
    (void)SSL_do_handshake(server);
    int length = BIO_read(SSL_get_wbio(server), bytes, sizeof(bytes));
    if (length > 0) {
        assert_int_equal(uvzk__tls_receive(tls, bytes, (size_t)length), 0);
    }
    return length > 0;
}

int shake_hands(struct uvzk__tls *tls, SSL *server)
{
    int status;

    do {
        status = uvzk__tls_handshake(tls);
    } while (carry(tls, server) && status == UV_EAGAIN);
    return status;
}
