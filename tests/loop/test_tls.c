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

/* The outcome of a handshake with this server, at 127.0.0.1. failure: what it says has these
 * words; NULL: it succeeds. */
static void assert_meets(struct uvzk__tls_context *context, const struct issuer *as,
                         const char *host, const char *failure)
{
    SSL *server = serve(as);
    struct uvzk__tls *tls = uvzk__tls_new(context, host, "127.0.0.1", "127.0.0.1:2281");
    int status = shake_hands(tls, server);

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
