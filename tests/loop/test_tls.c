/* SPDX-License-Identifier: Apache-2.0 */
/* TLS on one connection (native/tls.h), against a server of OpenSSL in the same process: whom
 * it believes, and that changed files are read again. live_tls_native has the same with real
 * servers. The certificates are made here. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "native/tls.h"
#include "tls_peer.h"

static struct issuer ours, other;
static char file[] = "/tmp/uvzk-ca-XXXXXX";

/* Also when the clock has not gone on since: the file grows. */
static void trust_in_file(const struct issuer *issuer, const char *comment)
{
    FILE *out = fopen(file, "w");

    assert_non_null(out);
    assert_int_equal(PEM_write_X509(out, issuer->certificate), 1);
    fputs(comment, out);
    fclose(out);
}

/* Which host the server was asked for; NULL: none. */
static void assert_asked_for(const SSL *server, const char *name)
{
    const char *asked = SSL_get_servername(server, TLSEXT_NAMETYPE_host_name);

    if (name == NULL) {
        assert_null(asked);
    } else {
        assert_non_null(asked);
        assert_string_equal(asked, name);
    }
}

/* The outcome of a handshake with this server. failure: what it says has these words; NULL:
 * it succeeds. asked_for: the host that the server is asked for; NULL: none. */
static void assert_meets_at(struct uvzk__tls_context *context, const struct issuer *as,
                            const char *host, const char *address, const char *asked_for,
                            const char *failure)
{
    SSL *server = serve(as);
    struct uvzk__tls *tls = uvzk__tls_new(context, host, address);
    assert_non_null(tls);
    int status = shake_hands(tls, server);

    assert_asked_for(server, asked_for);

    assert_int_equal(status, failure == NULL ? 0 : UV_EPROTO);
    if (failure != NULL) {
        assert_non_null(uvzk__tls_failure(tls));
        assert_non_null(strstr(uvzk__tls_failure(tls), failure));
    }
    uvzk__tls_free(tls);
    SSL_free(server);
}

/* At 127.0.0.1. */
static void assert_meets(struct uvzk__tls_context *context, const struct issuer *as,
                         const char *host, const char *failure)
{
    assert_meets_at(context, as, host, "127.0.0.1", host, failure);
}

static struct uvzk__tls_context *with_options(const char *options)
{
    struct uvzk__tls_context *context;

    assert_int_equal(uvzk__tls_context_new(options, &context), 0);
    return context;
}

static struct uvzk__tls_context *trusting(const struct issuer *issuer)
{
    char options[sizeof(file) + 4];

    trust_in_file(issuer, "");
    snprintf(options, sizeof(options), "ca=%s", file);
    return with_options(options);
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

/* A host name may end with a dot. Neither certificates nor what a server is asked for do. */
static void a_dot_at_the_end_is_of_no_account(void **state)
{
    struct uvzk__tls_context *context = trusting(&ours);
    struct issuer server = certify("server", &ours, -1, 1, "DNS:zoo1.example");
    (void)state;

    assert_meets_at(context, &server, "zoo1.example.", "127.0.0.1", "zoo1.example", NULL);
    assert_meets_at(context, &server, "zoo2.example.", "127.0.0.1", "zoo2.example",
                    "is not for zoo2.example");
    assert_meets_at(context, &server, ".", "127.0.0.1", ".", "is not for .");
    discard(&server);
    uvzk__tls_context_free(context);
}

/* names: of the certificate; name: of the options; NULL: none. */
static void assert_name(const char *names, const char *name, const char *address,
                        const char *asked_for, const char *failure)
{
    struct issuer server = certify("zoo1.example", &ours, -1, 1, names);
    char options[sizeof(file) + 80];

    snprintf(options, sizeof(options), "ca=%s%s%s", file,
             name == NULL ? "" : ",name=", name == NULL ? "" : name);
    struct uvzk__tls_context *context = with_options(options);
    assert_meets_at(context, &server, NULL, address, asked_for, failure);
    uvzk__tls_context_free(context);
    discard(&server);
}

static void the_name_of_the_options_is_asked_for(void **state)
{
    (void)state;
    trust_in_file(&ours, "");
    assert_name("DNS:all.example", "all.example", "127.0.0.1", "all.example", NULL);
    assert_name("DNS:all.example", "all.example.", "127.0.0.1", "all.example", NULL);
    assert_name("IP:127.0.0.1", "all.example", "127.0.0.1", "all.example", "is not for");
}

/* The same address may be written in several ways. */
static void addresses_are_compared_as_addresses(void **state)
{
    (void)state;
    trust_in_file(&ours, "");
    assert_name("IP:10.0.0.1", "10.0.0.1", "127.0.0.1", NULL, NULL);
    assert_name("IP:2001:db8::1", "2001:0db8::0001", "127.0.0.1", NULL, NULL);
    assert_name("IP:127.0.0.1", "10.0.0.1", "127.0.0.1", NULL, "is not for 10.0.0.1");
    assert_name("DNS:10.0.0.1", "10.0.0.1", "127.0.0.1", NULL, "is not for 10.0.0.1");
    assert_name("IP:127.0.0.1", NULL, "::ffff:127.0.0.1", NULL, NULL);
    assert_name("IP:127.0.0.1", NULL, "::ffff:127.0.0.2", NULL,
                "is not for ::ffff:127.0.0.2");
    assert_name("IP:fe80::1", NULL, "fe80::1%lo", NULL, NULL);
}

/* A name counts in the subjectAltName alone. */
static void the_common_name_does_not_count(void **state)
{
    (void)state;
    trust_in_file(&ours, "");
    assert_name("IP:127.0.0.1", "zoo1.example", "127.0.0.1", "zoo1.example",
                "is not for zoo1.example");
    assert_name(NULL, "zoo1.example", "127.0.0.1", "zoo1.example",
                "has no subjectAltName, and so is not for zoo1.example");
}

/* Also by a server that would resume. */
static void a_server_shows_its_certificate_each_time(void **state)
{
    struct uvzk__tls_context *context = trusting(&ours);
    struct issuer named = certify("server", &ours, -1, 1, "DNS:zoo1.example");
    SSL *first = serve(&named);
    (void)state;

    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        for (int i = 0; i < 3; i++) {
            SSL *server = SSL_new(SSL_get_SSL_CTX(first));
            listen_in_memory(server);
            SSL_set_max_proto_version(server, version);
            struct uvzk__tls *tls = uvzk__tls_new(context, "zoo1.example", "127.0.0.1");
            assert_int_equal(shake_hands(tls, server), 0);
            assert_int_equal(SSL_version(server), version);
            assert_int_equal(SSL_session_reused(server), 0);
            uvzk__tls_free(tls);
            SSL_free(server);
        }
    }
    SSL_free(first);
    discard(&named);
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
        cmocka_unit_test(a_dot_at_the_end_is_of_no_account),
        cmocka_unit_test(the_name_of_the_options_is_asked_for),
        cmocka_unit_test(addresses_are_compared_as_addresses),
        cmocka_unit_test(the_common_name_does_not_count),
        cmocka_unit_test(a_server_shows_its_certificate_each_time),
        cmocka_unit_test(changed_files_are_read_again),
    };
    return cmocka_run_group_tests(tests, make_issuers, discard_issuers);
}
