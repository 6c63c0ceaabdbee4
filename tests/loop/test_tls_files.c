/* SPDX-License-Identifier: Apache-2.0 */
/* The files of options.tls that cannot be used as they are (native/tls.h): each is refused
 * with a sentence that says why, and nothing waits for a terminal or for another process. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <uv.h>

#include "native/tls.h"
#include "tls_peer.h"
#include "uvzk.h"

static struct issuer ours, mine;
static char directory[] = "/tmp/uvzk-tls-XXXXXX";

/* ------------------------------------------------------------------------------- files */

static const char *file_named(const char *name)
{
    static char path[2][80];
    static unsigned next;
    char *made = path[next++ % 2];

    snprintf(made, sizeof(path[0]), "%s/%s", directory, name);
    return made;
}

static FILE *begin(const char *name)
{
    FILE *out = fopen(file_named(name), "w");

    assert_non_null(out);
    return out;
}

static void write_certificate(const char *name, const struct issuer *issuer)
{
    FILE *out = begin(name);

    assert_int_equal(PEM_write_X509(out, issuer->certificate), 1);
    fclose(out);
}

/* cipher: NULL: not encrypted. traditional: as OpenSSL did before PKCS#8. */
static void write_key(const char *name, const EVP_CIPHER *cipher, bool traditional)
{
    FILE *out = begin(name);
    BIO *bio = BIO_new_fp(out, BIO_NOCLOSE);
    unsigned char password[] = "secret";
    int length = cipher == NULL ? 0 : 6;

    assert_int_equal(traditional
                         ? PEM_write_bio_PrivateKey_traditional(
                               bio, mine.key, cipher, password, length, NULL, NULL)
                         : PEM_write_bio_PrivateKey(bio, mine.key, cipher, password,
                                                    length, NULL, NULL),
                     1);
    BIO_free(bio);
    fclose(out);
}

/* NULL: refused. */
static struct uvzk__tls_context *context_of(const char *ca, const char *certificate,
                                            const char *key)
{
    struct uvzk__tls_context *context = NULL;
    char options[300];

    snprintf(options, sizeof(options), "ca=%s/%s,cert=%s/%s,key=%s/%s", directory, ca,
             directory, certificate, directory, key);
    int status = uvzk__tls_context_new(options, &context);
    assert_int_equal(status, context == NULL ? UV_EINVAL : 0);
    return context;
}

static void assert_refused(const char *ca, const char *certificate, const char *key,
                           const char *file, const char *why)
{
    assert_null(context_of(ca, certificate, key));
    assert_non_null(strstr(uvzk_refusal(UV_EINVAL), file));
    assert_non_null(strstr(uvzk_refusal(UV_EINVAL), why));
}

/* --------------------------------------------------------------------------- the tests */

static void an_encrypted_key_is_refused(void **state)
{
    (void)state;
    write_key("pkcs8.key", EVP_aes_256_cbc(), false);
    write_key("traditional.key", EVP_aes_256_cbc(), true);
    assert_refused("ca.pem", "mine.pem", "pkcs8.key", "pkcs8.key", "encrypted");
    assert_refused("ca.pem", "mine.pem", "traditional.key", "traditional.key",
                   "encrypted");
}

/* The next file has a fault of its own. */
static void only_an_encrypted_key_is_called_so(void **state)
{
    (void)state;
    struct uvzk__tls_context *context = context_of("ca.pem", "mine.pem", "mine.key");
    write_key("mine.key", EVP_aes_256_cbc(), false);
    assert_non_null(strstr(uvzk__tls_context_renew(context), "encrypted"));
    fclose(begin("mine.key"));
    assert_null(strstr(uvzk__tls_context_renew(context), "encrypted"));
    write_key("mine.key", NULL, false);
    assert_null(uvzk__tls_context_renew(context));
    uvzk__tls_context_free(context);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(file_named("fifo"), 0600), 0);
    assert_refused("fifo", "mine.pem", "mine.key", "fifo", "not a regular file");
    assert_refused("ca.pem", "fifo", "mine.key", "fifo", "not a regular file");
    assert_refused("ca.pem", "mine.pem", "fifo", "fifo", "not a regular file");
    assert_refused(".", "mine.pem", "mine.key", ".", "not a regular file");
    assert_refused("ca.pem", "mine.pem", "none", "none", uv_strerror(UV_ENOENT));
}

/* The reason is there, however long the name is. */
static void a_long_name_hides_no_reason(void **state)
{
    char options[2000] = "ca=/";
    struct uvzk__tls_context *context;
    (void)state;

    memset(options + 4, 'x', sizeof(options) - 5);
    assert_int_equal(uvzk__tls_context_new(options, &context), UV_EINVAL);
    assert_non_null(strstr(uvzk_refusal(UV_EINVAL), uv_strerror(UV_ENAMETOOLONG)));
}

/* The client goes on with what it has. */
static void a_renewal_by_no_file_is_refused(void **state)
{
    struct uvzk__tls_context *context = context_of("ca.pem", "mine.pem", "mine.key");
    (void)state;

    assert_non_null(context);
    assert_int_equal(rename(file_named("fifo"), file_named("mine.key")), 0);
    assert_non_null(strstr(uvzk__tls_context_renew(context), "not a regular file"));
    struct uvzk__tls *tls = uvzk__tls_new(context, NULL, "127.0.0.1");
    SSL *server = serve(&mine);
    assert_int_equal(shake_hands(tls, server), 0);
    SSL_free(server);
    uvzk__tls_free(tls);
    uvzk__tls_context_free(context);
}

static int make_files(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    ours = certify("ours", NULL, -10, 10, NULL);
    mine = certify("mine", &ours, -1, 1, "IP:127.0.0.1");
    write_certificate("ca.pem", &ours);
    write_certificate("mine.pem", &mine);
    write_key("mine.key", NULL, false);
    return 0;
}

static int discard_files(void **state)
{
    static const char *const names[] = {"ca.pem", "mine.pem", "mine.key", "pkcs8.key",
                                        "traditional.key"};
    (void)state;

    discard(&ours);
    discard(&mine);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        unlink(file_named(names[i]));
    }
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_encrypted_key_is_refused),
        cmocka_unit_test(only_an_encrypted_key_is_called_so),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_long_name_hides_no_reason),
        cmocka_unit_test(a_renewal_by_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, make_files, discard_files);
}
