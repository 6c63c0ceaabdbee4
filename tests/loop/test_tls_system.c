/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a client trusts without ca= (native/tls.h): OpenSSL's own places if there are any, and
 * else the first of the places that systems have. This program stands in for the files, and for
 * those functions of OpenSSL that look for them. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "native/tls.h"

#define OWN_FILE "/openssl/cert.pem"
#define OWN_DIRECTORY "/openssl/certs"

static const char *existing[4];
static char loaded[200]; /* what was loaded, in order */

static void note(const char *what, const char *name)
{
    size_t length = strlen(loaded);
    snprintf(loaded + length, sizeof(loaded) - length, "%s%s%s", length == 0 ? "" : ", ",
             what, name);
}

int access(const char *name, int mode)
{
    (void)mode;
    for (size_t i = 0; i < sizeof(existing) / sizeof(existing[0]); i++) {
        if (existing[i] != NULL && strcmp(existing[i], name) == 0) {
            return 0;
        }
    }
    return -1;
}

const char *X509_get_default_cert_file(void)
{
    return OWN_FILE;
}

const char *X509_get_default_cert_dir(void)
{
    return OWN_DIRECTORY;
}

int SSL_CTX_set_default_verify_paths(SSL_CTX *ctx)
{
    (void)ctx;
    note("", "OpenSSL's");
    return 1;
}

int SSL_CTX_load_verify_file(SSL_CTX *ctx, const char *name)
{
    (void)ctx;
    note("file ", name);
    return 1;
}

int SSL_CTX_load_verify_dir(SSL_CTX *ctx, const char *name)
{
    (void)ctx;
    note("directory ", name);
    return 1;
}

static void assert_trusts(const char *options, const char *what)
{
    struct uvzk__tls_context *context;

    loaded[0] = '\0';
    assert_int_equal(uvzk__tls_context_new(options, &context), 0);
    uvzk__tls_context_free(context);
    assert_string_equal(loaded, what);
}

/* Up to three files. */
static void exist(const char *a, const char *b, const char *c)
{
    existing[0] = a;
    existing[1] = b;
    existing[2] = c;
}

static void openssl_knows_its_own_places(void **state)
{
    (void)state;
    exist(OWN_FILE, "/etc/ssl/cert.pem", NULL);
    assert_trusts("name=zk", "OpenSSL's");
    exist(OWN_DIRECTORY, "/etc/ssl/cert.pem", NULL);
    assert_trusts("name=zk", "OpenSSL's");
}

static void the_environment_names_places(void **state)
{
    (void)state;
    exist("/etc/ssl/cert.pem", NULL, NULL);
    assert_int_equal(setenv("SSL_CERT_FILE", "/mine", 1), 0);
    assert_trusts("name=zk", "OpenSSL's");
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    assert_int_equal(setenv("SSL_CERT_DIR", "/mine", 1), 0);
    assert_trusts("name=zk", "OpenSSL's");
    assert_int_equal(unsetenv("SSL_CERT_DIR"), 0);
}

static void each_system_has_its_place(void **state)
{
    static const char *const files[] = {
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/ca-bundle.pem",
        "/var/lib/ca-certificates/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    };
    char what[100];
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        exist("/etc/ssl/certs", files[i], "/etc/ssl/cert.pem");
        snprintf(what, sizeof(what), "file %s", files[i]);
        assert_trusts("name=zk", what);
    }
    exist("/etc/ssl/certs", NULL, NULL);
    assert_trusts("name=zk", "directory /etc/ssl/certs");
}

static void no_other_place_than_the_named_one(void **state)
{
    (void)state;
    exist("/etc/ssl/cert.pem", OWN_FILE, NULL);
    assert_trusts("ca=/nowhere", "file /nowhere");
}

/* Each test sets what it needs. */
static int forget_environment(void **state)
{
    (void)state;
    return unsetenv("SSL_CERT_FILE") + unsetenv("SSL_CERT_DIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openssl_knows_its_own_places),
        cmocka_unit_test(the_environment_names_places),
        cmocka_unit_test(each_system_has_its_place),
        cmocka_unit_test(no_other_place_than_the_named_one),
    };
    return cmocka_run_group_tests(tests, forget_environment, NULL);
}
