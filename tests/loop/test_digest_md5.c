/* SPDX-License-Identifier: Apache-2.0 */
/* DIGEST-MD5: which challenges are read, and the hashes, which Python's hashlib has computed
 * from RFC 2831's formulas too. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "native/digest_md5.h"

/* What ZooKeeper 3.8 sends. */
#define OF_JAVA "realm=\"zk-sasl-md5\",nonce=\"+9/q0Zk\",charset=utf-8,algorithm=md5-sess"

static const char *read_text(const char *text, struct uvzk__digest_challenge *challenge)
{
    return uvzk__digest_challenge_read(uvzk__jute_text(text), challenge);
}

static void challenges_are_read(void **state)
{
    struct uvzk__digest_challenge challenge;
    (void)state;
    assert_null(read_text(OF_JAVA, &challenge));
    assert_string_equal(challenge.realm, "zk-sasl-md5");
    assert_string_equal(challenge.nonce, "+9/q0Zk");
    assert_true(challenge.utf8);
    assert_null(read_text(
        " , algorithm = md5-sess ,,nonce=\"a\\\"b\\\\\" , qop=\"auth-int, auth\"",
        &challenge));
    assert_string_equal(challenge.realm, "");
    assert_string_equal(challenge.nonce, "a\"b\\");
    assert_false(challenge.utf8);
    /* Of several realms, the first. */
    assert_null(read_text("realm=\"a\",realm=\"b\",nonce=n,algorithm=md5-sess,unknown=1",
                          &challenge));
    assert_string_equal(challenge.realm, "a");
    assert_string_equal(challenge.nonce, "n");
}

static void what_is_no_challenge_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "nonce",
        "nonce=",
        "nonce=\"a",
        "nonce=\"a\\",
        "nonce=\"\",algorithm=md5-sess",
        "nonce=a",
        "nonce=a,algorithm=md5",
        "algorithm=md5-sess",
        "=a",
        "nonce a",
        "nonce=a,algorithm=md5-sess,a-name-of-more-than-thirty-one-bytes=1"};
    struct uvzk__digest_challenge challenge;
    char text[3000] = "algorithm=md5-sess,nonce=\"";
    (void)state;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_non_null(read_text(wrong[i], &challenge));
    }
    assert_non_null(
        read_text("nonce=a,algorithm=md5-sess,qop=\"auth-conf\"", &challenge));
    size_t begin = strlen(text);
    memset(text + begin, 'n', 255);
    strcpy(text + begin + 255, "\"");
    assert_null(read_text(text, &challenge));
    strcpy(text + begin + 255, "n\"");
    assert_non_null(read_text(text, &challenge));
    memset(text + begin + 200, ' ', 2100);
    assert_non_null(read_text(text, &challenge));
    assert_non_null(
        uvzk__digest_challenge_read(uvzk__jute_bytes("nonce=\0a", 8), &challenge));
}

static void assert_responds(const struct uvzk__digest_challenge *challenge,
                            const char *user, const char *password, const char *cnonce,
                            const char *response, const char *proof)
{
    const struct uvzk__digest_client client = {user, password, cnonce};
    struct uvzk__jute_writer writer;
    char expected[UVZK__MD5_TEXT], answer[64];

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__digest_respond(challenge, &client, &writer, expected), 0);
    assert_string_equal(expected, proof);
    assert_int_equal(writer.length, strlen(response));
    assert_memory_equal(writer.bytes, response, writer.length);
    uvzk__jute_writer_end(&writer);
    snprintf(answer, sizeof(answer), "rspauth=%s", proof);
    assert_true(uvzk__digest_is_proof(uvzk__jute_text(answer), expected));
    answer[8] ^= 1;
    assert_false(uvzk__digest_is_proof(uvzk__jute_text(answer), expected));
    answer[20] = '\0';
    assert_false(uvzk__digest_is_proof(uvzk__jute_text(answer), expected));
    assert_false(uvzk__digest_is_proof(uvzk__jute_text(""), expected));
    assert_false(uvzk__digest_is_proof(uvzk__jute_bytes(NULL, 0), expected));
}

#define RESPONSE(user, realm, nonce, cnonce, hash)                                    \
    "username=\"" user "\"," realm "nonce=\"" nonce "\",nc=00000001,cnonce=\"" cnonce \
    "\",digest-uri=\"zookeeper/zk-sasl-md5\",maxbuf=65536,response=" hash ",qop=auth"

static void responses_have_these_hashes(void **state)
{
    struct uvzk__digest_challenge rfc = {"elwood.innosoft.com", "OA6MG9tEQGm2hh", true};
    struct uvzk__digest_challenge zk = {"zk-sasl-md5", "n", true};
    (void)state;
    assert_responds(&rfc, "chris", "secret", "OA6MHXh6VqTrRk",
                    "charset=utf-8," RESPONSE("chris", "realm=\"elwood.innosoft.com\",",
                                              "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk",
                                              "3d53f3e841d45c8a4dcf0f37c4725582"),
                    "8c55a82deadfa98cf2a60488be40c74d");
    /* ISO 8859-1 is hashed as that, other texts are hashed as UTF-8. */
    assert_responds(&zk, "\xc3\xbc", "geh\xc3\xa9im", "c",
                    "charset=utf-8," RESPONSE("\xc3\xbc", "realm=\"zk-sasl-md5\",", "n",
                                              "c", "fdaa68511822fd72e644ce61b907bf43"),
                    "e1e4a4fa4fbf291943778a3a9705917c");
    assert_responds(&zk, "\xc3\xbc", "\xe2\x98\x83", "c",
                    "charset=utf-8," RESPONSE("\xc3\xbc", "realm=\"zk-sasl-md5\",", "n",
                                              "c", "1e75825977dd786509a584731a778f25"),
                    "99c0db974c26cdbe37680164f76d92d2");
    assert_responds(&zk, "a\"b\\c", "p", "c",
                    "charset=utf-8," RESPONSE("a\\\"b\\\\c", "realm=\"zk-sasl-md5\",",
                                              "n", "c",
                                              "972a8329b8d0e6db7c51909472b014e1"),
                    "3e48bdf0f8ac3c9cbb8147ecdbc0eaf4");
    zk.utf8 = false;
    assert_responds(&zk, "\xc3\xbc", "geh\xc3\xa9im", "c",
                    RESPONSE("\xc3\xbc", "realm=\"zk-sasl-md5\",", "n", "c",
                             "fecfbfb6c27858b93728731cce545005"),
                    "7f16db2da57735837aa3d1dc33c6fdab");
}

static void openssl_has_md5(void **state)
{
    (void)state;
    assert_true(uvzk__digest_is_possible());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(challenges_are_read),
        cmocka_unit_test(what_is_no_challenge_is_refused),
        cmocka_unit_test(responses_have_these_hashes),
        cmocka_unit_test(openssl_has_md5),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
