/* SPDX-License-Identifier: Apache-2.0 */
/* DIGEST-MD5 (digest_md5.h): reads the challenge, writes the response, and checks what the
 * server answers. sasl.c calls it. OpenSSL computes MD5. */
#include "native/digest_md5.h"

#include <string.h>
#include <uv.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

/* ZooKeeper's servers and clients have agreed on these. */
#define DIGEST_URI "zookeeper/zk-sasl-md5"

/* RFC 2831 2.1.1: a longer challenge is not one. */
#define CHALLENGE_MAX 2048U

#define MD5_BYTES 16U
#define NONCE_COUNT "00000001"

/* ------------------------------------------------------------------------- directives */

/* One directive of a list of name=value and name="value". */
struct directive {
    char name[32];
    char value[256];
};

static bool is_space(unsigned char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* Takes a part of the list up to one of the bytes `ends`, or to the end. */
static bool take_word(struct uvzk__jute_bytes *left, const char *ends, char *word,
                      size_t size)
{
    size_t length = 0;

    while (left->length > 0 && left->at[0] != '\0' && strchr(ends, left->at[0]) == NULL) {
        if (length + 1 == size) {
            return false;
        }
        word[length++] = (char)left->at[0];
        left->at++;
        left->length--;
    }
    word[length] = '\0';
    return left->length == 0 || left->at[0] != '\0';
}

/* Takes a string behind its first quote, and its last quote. */
static bool take_quoted(struct uvzk__jute_bytes *left, char *word, size_t size)
{
    size_t length = 0;

    while (left->length > 0 && left->at[0] != '"') {
        size_t escape = left->at[0] == '\\' && left->length > 1;
        unsigned char byte = left->at[escape];
        if (byte == '\0' || length + 1 == size) {
            return false;
        }
        word[length++] = (char)byte;
        left->at += 1 + escape;
        left->length -= 1 + escape;
    }
    word[length] = '\0';
    if (left->length == 0) {
        return false;
    }
    left->at++;
    left->length--;
    return true;
}

static void skip_blanks(struct uvzk__jute_bytes *left, bool commas)
{
    while (left->length > 0 &&
           (is_space(left->at[0]) || (commas && left->at[0] == ','))) {
        left->at++;
        left->length--;
    }
}

/* Takes the next directive. 1; 0: there is none; -1: the list is malformed. */
static int take_directive(struct uvzk__jute_bytes *left, struct directive *directive)
{
    skip_blanks(left, true);
    if (left->length == 0) {
        return 0;
    }
    if (!take_word(left, "= \t\r\n,", directive->name, sizeof(directive->name))) {
        return -1;
    }
    skip_blanks(left, false);
    if (left->length == 0 || left->at[0] != '=') {
        return -1;
    }
    left->at++;
    left->length--;
    skip_blanks(left, false);
    bool quoted = left->length > 0 && left->at[0] == '"';
    if (quoted) {
        left->at++;
        left->length--;
    }
    bool taken =
        quoted ? take_quoted(left, directive->value, sizeof(directive->value))
               : take_word(left, " \t\r\n,", directive->value, sizeof(directive->value));
    return taken ? 1 : -1;
}

/* Returns true if the list of words with commas has this one. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    while (*list != '\0') {
        list += strspn(list, ", \t");
        size_t part = strcspn(list, ", \t");
        if (part == length && strncmp(list, word, length) == 0) {
            return true;
        }
        list += part;
    }
    return false;
}

const char *uvzk__digest_challenge_read(struct uvzk__jute_bytes bytes,
                                        struct uvzk__digest_challenge *challenge)
{
    struct directive directive = {.name = ""};
    bool has_auth = true, has_algorithm = false;
    int taken = -1;

    *challenge = (struct uvzk__digest_challenge){.utf8 = false};
    if (bytes.length <= CHALLENGE_MAX) {
        taken = 1;
    }
    while (taken == 1 && (taken = take_directive(&bytes, &directive)) == 1) {
        if (strcmp(directive.name, "realm") == 0 && challenge->realm[0] == '\0') {
            memcpy(challenge->realm, directive.value, sizeof(challenge->realm));
        } else if (strcmp(directive.name, "nonce") == 0) {
            memcpy(challenge->nonce, directive.value, sizeof(challenge->nonce));
        } else if (strcmp(directive.name, "qop") == 0) {
            has_auth = has_word(directive.value, "auth");
        } else if (strcmp(directive.name, "algorithm") == 0) {
            has_algorithm = strcmp(directive.value, "md5-sess") == 0;
        } else if (strcmp(directive.name, "charset") == 0) {
            challenge->utf8 = strcmp(directive.value, "utf-8") == 0;
        }
    }
    return taken < 0 || challenge->nonce[0] == '\0' || !has_algorithm
               ? "sent no challenge of DIGEST-MD5: it may offer another mechanism of SASL"
           : !has_auth ? "does not offer DIGEST-MD5 without encryption"
                       : NULL;
}

/* ----------------------------------------------------------------------------- hashes */

/* An MD5 that is being computed; the first failure stays. */
struct hash {
    EVP_MD_CTX *ctx;
    bool failed;
};

/* OpenSSL's errors belong to the program (tls.c), which sees none of these. */
static struct hash hash_begin(void)
{
    ERR_set_mark();
    struct hash hash = {.ctx = EVP_MD_CTX_new()};
    hash.failed = hash.ctx == NULL || EVP_DigestInit_ex(hash.ctx, EVP_md5(), NULL) != 1;
    return hash;
}

static void hash_add(struct hash *hash, const void *bytes, size_t length)
{
    hash->failed = hash->failed || EVP_DigestUpdate(hash->ctx, bytes, length) != 1;
}

static void hash_add_text(struct hash *hash, const char *text)
{
    hash_add(hash, text, strlen(text));
}

static bool hash_end(struct hash *hash, unsigned char bytes[MD5_BYTES])
{
    unsigned length = 0;

    hash->failed = hash->failed || EVP_DigestFinal_ex(hash->ctx, bytes, &length) != 1 ||
                   length != MD5_BYTES;
    EVP_MD_CTX_free(hash->ctx);
    ERR_pop_to_mark();
    return !hash->failed;
}

static bool hash_end_text(struct hash *hash, char text[UVZK__MD5_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[MD5_BYTES];

    if (!hash_end(hash, bytes)) {
        return false;
    }
    for (size_t i = 0; i < MD5_BYTES; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * MD5_BYTES] = '\0';
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return true;
}

bool uvzk__digest_is_possible(void)
{
    unsigned char ignored[MD5_BYTES];
    struct hash hash = hash_begin();

    return hash_end(&hash, ignored);
}

/* RFC 2831 2.1.2.1: a text of UTF-8 that ISO 8859-1 could write is hashed as that. Returns
 * how many bytes of UTF-8 the next character of ISO 8859-1 has, 0 if it is not of it. */
static size_t latin_1_length(const unsigned char *at)
{
    return at[0] < 0x80                                                 ? 1
           : (at[0] == 0xc2 || at[0] == 0xc3) && (at[1] & 0xc0) == 0x80 ? 2
                                                                        : 0;
}

static void hash_add_name(struct hash *hash, const char *text, bool utf8)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = 1;

    while (utf8 && *at != '\0' && (length = latin_1_length(at)) > 0) {
        at += length;
    }
    if (!utf8 || length == 0) {
        hash_add_text(hash, text);
        return;
    }
    for (at = (const unsigned char *)text; *at != '\0'; at += length) {
        length = latin_1_length(at);
        unsigned char byte =
            length == 1 ? at[0] : (unsigned char)((at[0] & 3U) << 6 | (at[1] & 0x3fU));
        hash_add(hash, &byte, 1);
    }
}

/* H({ H(user:realm:password), ":", nonce, ":", cnonce }), RFC 2831 2.1.2.1. */
static bool hash_secret(const struct uvzk__digest_challenge *challenge,
                        const struct uvzk__digest_client *client,
                        char text[UVZK__MD5_TEXT])
{
    unsigned char secret[MD5_BYTES];
    struct hash hash = hash_begin();

    hash_add_name(&hash, client->user, challenge->utf8);
    hash_add_text(&hash, ":");
    hash_add_name(&hash, challenge->realm, challenge->utf8);
    hash_add_text(&hash, ":");
    hash_add_name(&hash, client->password, challenge->utf8);
    if (!hash_end(&hash, secret)) {
        return false;
    }
    hash = hash_begin();
    hash_add(&hash, secret, sizeof(secret));
    OPENSSL_cleanse(secret, sizeof(secret));
    hash_add_text(&hash, ":");
    hash_add_text(&hash, challenge->nonce);
    hash_add_text(&hash, ":");
    hash_add_text(&hash, client->cnonce);
    return hash_end_text(&hash, text);
}

/* verb: "AUTHENTICATE" in the client's response, "" in the server's. */
static bool hash_response(const char *secret, const char *nonce, const char *cnonce,
                          const char *verb, char text[UVZK__MD5_TEXT])
{
    char method[UVZK__MD5_TEXT];
    struct hash hash = hash_begin();

    hash_add_text(&hash, verb);
    hash_add_text(&hash, ":" DIGEST_URI);
    if (!hash_end_text(&hash, method)) {
        return false;
    }
    hash = hash_begin();
    hash_add_text(&hash, secret);
    hash_add_text(&hash, ":");
    hash_add_text(&hash, nonce);
    hash_add_text(&hash, ":" NONCE_COUNT ":");
    hash_add_text(&hash, cnonce);
    hash_add_text(&hash, ":auth:");
    hash_add_text(&hash, method);
    return hash_end_text(&hash, text);
}

/* ------------------------------------------------------------------------ the messages */

static void put_text(struct uvzk__jute_writer *writer, const char *text)
{
    uvzk__jute_put_raw(writer, text, strlen(text));
}

static void put_quoted(struct uvzk__jute_writer *writer, const char *name,
                       const char *value)
{
    put_text(writer, name);
    put_text(writer, "=\"");
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\') {
            put_text(writer, "\\");
        }
        uvzk__jute_put_raw(writer, value, 1);
    }
    put_text(writer, "\",");
}

int uvzk__digest_respond(const struct uvzk__digest_challenge *challenge,
                         const struct uvzk__digest_client *client,
                         struct uvzk__jute_writer *response,
                         char expected[UVZK__MD5_TEXT])
{
    char secret[UVZK__MD5_TEXT], proof[UVZK__MD5_TEXT];
    bool hashed =
        hash_secret(challenge, client, secret) &&
        hash_response(secret, challenge->nonce, client->cnonce, "AUTHENTICATE", proof) &&
        hash_response(secret, challenge->nonce, client->cnonce, "", expected);

    OPENSSL_cleanse(secret, sizeof(secret));
    if (!hashed) {
        return UV_ENOTSUP;
    }
    if (challenge->utf8) {
        put_text(response, "charset=utf-8,");
    }
    put_quoted(response, "username", client->user);
    if (challenge->realm[0] != '\0') {
        put_quoted(response, "realm", challenge->realm);
    }
    put_quoted(response, "nonce", challenge->nonce);
    put_text(response, "nc=" NONCE_COUNT ",");
    put_quoted(response, "cnonce", client->cnonce);
    put_quoted(response, "digest-uri", DIGEST_URI);
    put_text(response, "maxbuf=65536,response=");
    put_text(response, proof);
    put_text(response, ",qop=auth");
    return response->status;
}

bool uvzk__digest_is_proof(struct uvzk__jute_bytes answer,
                           const char expected[UVZK__MD5_TEXT])
{
    struct directive directive;

    while (take_directive(&answer, &directive) == 1) {
        if (strcmp(directive.name, "rspauth") == 0) {
            return strcmp(directive.value, expected) == 0;
        }
    }
    return false;
}
