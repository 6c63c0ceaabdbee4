/* TLS on one connection (native/tls.h), against a server of OpenSSL in the same process: whom
 * it believes, and that changed files are read again. live_tls_native has the same with real
 * servers. The certificates are made here. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <uv.h>

#include "native/tls.h"

#define DAY_S (24L * 60 * 60)
#define BYTES 17000

struct issuer {
    EVP_PKEY *key;
    X509 *certificate;
};

static struct issuer ours, other;
static char file[] = "/tmp/uvzk-ca-XXXXXX";

/* ---------------------------------------------------------------------- certificates */

static void add_extension(X509 *certificate, int kind, const char *text)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, text);

    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* Valid from so many days from now to so many; by: NULL: by itself. */
static struct issuer certify(const char *name, const struct issuer *by, long from_days,
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
    } else {
        add_extension(made.certificate, NID_subject_alt_name, names);
    }
    assert_true(
        X509_sign(made.certificate, by == NULL ? made.key : by->key, EVP_sha256()) > 0);
    return made;
}

static void discard(struct issuer *issuer)
{
    X509_free(issuer->certificate);
    EVP_PKEY_free(issuer->key);
}

/* Also when the clock has not gone on since: the file grows. */
static void trust_in_file(const struct issuer *issuer, const char *comment)
{
    FILE *out = fopen(file, "w");

    assert_non_null(out);
    assert_int_equal(PEM_write_X509(out, issuer->certificate), 1);
    fputs(comment, out);
    fclose(out);
}

/* --------------------------------------------------------------------------- a server */

static SSL *serve(const struct issuer *as)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    assert_int_equal(SSL_CTX_use_certificate(ctx, as->certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, as->key), 1);
    SSL *server = SSL_new(ctx);
    SSL_CTX_free(ctx);
    SSL_set_bio(server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(server);
    return server;
}

/* What each has to say goes to the other. Returns whether there was anything. */
static bool carry(struct uvzk__tls *tls, SSL *server, int *status)
{
    struct uvzk__jute_bytes out = uvzk__tls_output(tls);
    char bytes[BYTES];
    bool any = out.length > 0;

    if (any) {
        BIO_write(SSL_get_rbio(server), out.at, (int)out.length);
        uvzk__tls_sent(tls, out.length);
    }
    (void)SSL_do_handshake(server);
    int length = BIO_read(SSL_get_wbio(server), bytes, sizeof(bytes));
    if (length > 0) {
        any = true;
        assert_int_equal(uvzk__tls_receive(tls, bytes, (size_t)length), 0);
    }
    *status = uvzk__tls_handshake(tls);
    return any;
}

/* The outcome of a handshake with this server, at 127.0.0.1. failure: what it says has these
 * words; NULL: it succeeds. */
static void assert_meets(struct uvzk__tls_context *context, const struct issuer *as,
                         const char *host, const char *failure)
{
    SSL *server = serve(as);
    struct uvzk__tls *tls = uvzk__tls_new(context, host, "127.0.0.1", "127.0.0.1:2281");
    int status = uvzk__tls_handshake(tls);

    while (status == UV_EAGAIN && carry(tls, server, &status)) {
    }
    assert_int_equal(status, failure == NULL ? 0 : UV_EPROTO);
    if (failure != NULL) {
        assert_non_null(uvzk__tls_failure(tls));
        assert_non_null(strstr(uvzk__tls_failure(tls), failure));
    }
    uvzk__tls_free(tls);
    SSL_free(server);
}

static struct uvzk__tls_context *trusting(const struct issuer *issuer)
{
    struct uvzk__tls_context *context;
    char options[sizeof(file) + 4];

    trust_in_file(issuer, "");
    snprintf(options, sizeof(options), "ca=%s", file);
    assert_int_equal(uvzk__tls_context_new(options, &context), 0);
    return context;
}

/* ----------------------------------------------------------------------------- the tests */

static void who_is_believed(void **state)
{
    static const struct {
        const char *names, *host, *failure;
        long from_days, to_days;
        bool of_another;
    } cases[] = {
        {"DNS:zoo1.example", "zoo1.example", NULL, -1, 1, false},
        {"IP:127.0.0.1", NULL, NULL, -1, 1, false},
        {"DNS:zoo1.example", "zoo1.example", "issuer", -1, 1, true},
        {"DNS:zoo2.example", "zoo1.example", "zoo1.example", -1, 1, false},
        {"IP:127.0.0.2", NULL, "127.0.0.1", -1, 1, false},
        {"DNS:zoo1.example", NULL, "127.0.0.1", -1, 1, false},
        {"DNS:zoo1.example", "zoo1.example", "expired", -2, -1, false},
        {"DNS:zoo1.example", "zoo1.example", "not valid", 1, 2, false},
    };
    struct uvzk__tls_context *context = trusting(&ours);
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct issuer server =
            certify("server", cases[i].of_another ? &other : &ours, cases[i].from_days,
                    cases[i].to_days, cases[i].names);
        assert_meets(context, &server, cases[i].host, cases[i].failure);
        discard(&server);
    }
    uvzk__tls_context_free(context);
}

static void changed_files_are_read_again(void **state)
{
    struct uvzk__tls_context *context = trusting(&ours);
    struct issuer server = certify("server", &other, -1, 1, "DNS:zoo1.example");
    (void)state;

    assert_meets(context, &server, "zoo1.example", "issuer");
    trust_in_file(&other, "renewed\n");
    assert_null(uvzk__tls_context_renew(context));
    assert_meets(context, &server, "zoo1.example", NULL);
    discard(&server);
    uvzk__tls_context_free(context);
}

static int make_issuers(void **state)
{
    int fd = mkstemp(file);
    (void)state;

    ours = certify("ours", NULL, -10, 10, NULL);
    other = certify("other", NULL, -10, 10, NULL);
    return fd < 0 ? -1 : close(fd);
}

static int discard_issuers(void **state)
{
    (void)state;
    discard(&ours);
    discard(&other);
    return unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_believed),
        cmocka_unit_test(changed_files_are_read_again),
    };
    return cmocka_run_group_tests(tests, make_issuers, discard_issuers);
}
