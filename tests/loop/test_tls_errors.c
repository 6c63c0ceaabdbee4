/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses OpenSSL on the loop's thread, and leaves errors in the queue that both
 * share: TLS goes on, says what is wrong with its own things, and leaves the program's errors
 * as they were (native/tls.h). */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>
#include <uv.h>

#include "failing_allocator.h"
#include "native/tls.h"
#include "tls_peer.h"
#include "uvzk.h"

static struct issuer ours;
static char file[] = "/tmp/uvzk-ca-XXXXXX";

/* ------------------------------------------------------------------ the program's errors */

/* One with a text, of the system; one with a text, of OpenSSL; one without. */
static void leave_errors(void)
{
    ERR_clear_error();
    assert_null(BIO_new_file("/no/such/file", "r"));
    ERR_raise(ERR_LIB_PEM, ERR_R_PASSED_NULL_PARAMETER);
}

static const char *as_text(void)
{
    static char text[4096];
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes;

    ERR_print_errors(bio); /* the file, the line, the function and the text too */
    long length = BIO_get_mem_data(bio, &bytes);
    snprintf(text, sizeof(text), "%.*s", (int)length, bytes);
    BIO_free(bio);
    return text;
}

static void assert_as_left(void)
{
    char found[4096];

    snprintf(found, sizeof(found), "%s", as_text());
    leave_errors();
    assert_string_equal(found, as_text());
}

/* --------------------------------------------------------------------------- the tests */

static struct uvzk__tls_context *context_of(const char *ca)
{
    struct uvzk__tls_context *context = NULL;
    char options[120];

    snprintf(options, sizeof(options), "ca=%s", ca);
    (void)uvzk__tls_context_new(options, &context);
    return context;
}

static void shake_hands_among_errors(struct uvzk__tls *tls, SSL *server, int expected)
{
    int status;

    do {
        leave_errors();
        status = uvzk__tls_handshake(tls);
        assert_as_left();
    } while (carry(tls, server) && status == UV_EAGAIN);
    assert_int_equal(status, expected);
}

static void talk_among_errors(struct uvzk__tls *tls, SSL *server)
{
    char text[8];
    size_t length = sizeof(text);

    leave_errors();
    assert_int_equal(uvzk__tls_read(tls, text, &length), UV_EAGAIN);
    assert_as_left();
    assert_int_equal(SSL_write(server, "answer", 6), 6);
    (void)carry(tls, server);
    leave_errors();
    length = sizeof(text);
    assert_int_equal(uvzk__tls_read(tls, text, &length), 0);
    assert_as_left();
    assert_int_equal(length, 6);
    leave_errors();
    assert_int_equal(uvzk__tls_write(tls, "request", 7), 0);
    assert_as_left();
}

static void a_connection_goes_on(void **state)
{
    (void)state;
    leave_errors();
    struct uvzk__tls_context *context = context_of(file);
    assert_as_left();
    assert_non_null(context);
    struct issuer named = certify("server", &ours, -1, 1, "DNS:zoo1.example");
    SSL *server = serve(&named);
    leave_errors();
    struct uvzk__tls *tls = uvzk__tls_new(context, "zoo1.example", "127.0.0.1");
    assert_as_left();
    shake_hands_among_errors(tls, server, 0);
    talk_among_errors(tls, server);
    leave_errors();
    uvzk__tls_free(tls);
    uvzk__tls_context_free(context);
    assert_as_left();
    SSL_free(server);
    discard(&named);
}

static void a_refused_server_leaves_nothing(void **state)
{
    struct uvzk__tls_context *context = context_of(file);
    struct issuer other = certify("server", &ours, -1, 1, "DNS:zoo2.example");
    SSL *server = serve(&other);
    struct uvzk__tls *tls = uvzk__tls_new(context, "zoo1.example", "127.0.0.1");
    (void)state;

    shake_hands_among_errors(tls, server, UV_EPROTO);
    assert_non_null(strstr(uvzk__tls_failure(tls), "is not for zoo1.example"));
    uvzk__tls_free(tls);
    SSL_free(server);
    discard(&other);
    uvzk__tls_context_free(context);
}

/* The connection is worth more than the program's errors. */
static void without_memory_the_connection_goes_on(void **state)
{
    struct uvzk__tls_context *context = context_of(file);
    struct issuer named = certify("server", &ours, -1, 1, "DNS:zoo1.example");
    SSL *server = serve(&named);
    struct uvzk__tls *tls = uvzk__tls_new(context, "zoo1.example", "127.0.0.1");
    char byte;
    size_t length = 1;
    (void)state;

    assert_int_equal(shake_hands(tls, server), 0);
    /* What comes behind the handshake. */
    assert_int_equal(uvzk__tls_read(tls, &byte, &length), UV_EAGAIN);
    leave_errors();
    failing_allocator_arm(1, FAILING_ALLOCATOR_FOREVER);
    assert_int_equal(uvzk__tls_read(tls, &byte, &length), UV_EAGAIN);
    failing_allocator_stop();
    assert_int_equal(failing_allocator_failures(), 1);
    assert_int_equal(ERR_peek_error(), 0);
    uvzk__tls_free(tls);
    SSL_free(server);
    discard(&named);
    uvzk__tls_context_free(context);
}

/* What is said of a file is about this file, not about one of the program's. */
static void a_refused_file_is_named(void **state)
{
    char sentence[200];
    FILE *none = fopen(file, "w");
    (void)state;

    fclose(none);
    leave_errors();
    assert_null(context_of(file));
    assert_as_left();
    snprintf(sentence, sizeof(sentence), "%s", uvzk_refusal(UV_EINVAL));
    ERR_clear_error();
    assert_null(context_of(file));
    assert_int_equal(ERR_peek_error(), 0);
    assert_string_equal(sentence, uvzk_refusal(UV_EINVAL));
    assert_null(strstr(sentence, uv_strerror(UV_ENOENT)));
}

static int make_issuer(void **state)
{
    int fd = failing_allocator_install() < 0 ? -1 : mkstemp(file);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    (void)state;

    ours = certify("ours", NULL, -10, 10, NULL);
    return out == NULL || PEM_write_X509(out, ours.certificate) != 1 ? -1 : fclose(out);
}

static int discard_issuer(void **state)
{
    (void)state;
    discard(&ours);
    return unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_goes_on),
        cmocka_unit_test(a_refused_server_leaves_nothing),
        cmocka_unit_test(without_memory_the_connection_goes_on),
        cmocka_unit_test(a_refused_file_is_named),
    };
    return cmocka_run_group_tests(tests, make_issuer, discard_issuer);
}
