/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says in an exchange of DIGEST-MD5: a challenge is refused, or it is answered
 * with a response that has its own texts again; and options.sasl. */
#include <uv.h>

#include "fuzz.h"
#include "native/digest_md5.h"
#include "native/sasl_options.h"

static void answer_challenge(const struct uvzk__digest_challenge *challenge)
{
    const struct uvzk__digest_client client = {"bob", "secret", "c"};
    struct uvzk__jute_writer writer;
    char expected[UVZK__MD5_TEXT];
    struct uvzk__digest_challenge again;

    uvzk__jute_writer_init(&writer);
    PROMISE(uvzk__digest_respond(challenge, &client, &writer, expected) == 0);
    /* A response is no challenge, because it has no algorithm; with one, it is. */
    uvzk__jute_put_raw(&writer, ",algorithm=md5-sess", 19);
    PROMISE(uvzk__digest_challenge_read(uvzk__jute_bytes(writer.bytes, writer.length),
                                        &again) == NULL);
    PROMISE(strcmp(again.realm, challenge->realm) == 0);
    PROMISE(strcmp(again.nonce, challenge->nonce) == 0);
    PROMISE(again.utf8 == challenge->utf8);
    PROMISE(
        !uvzk__digest_is_proof(uvzk__jute_bytes(writer.bytes, writer.length), expected));
    uvzk__jute_writer_end(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct uvzk__digest_challenge challenge;
    struct uvzk__sasl_options options;
    char expected[UVZK__MD5_TEXT] = "0123456789abcdef0123456789abcdef";

    if (uvzk__digest_challenge_read(uvzk__jute_bytes(data, size), &challenge) == NULL) {
        PROMISE(challenge.nonce[0] != '\0');
        answer_challenge(&challenge);
    }
    (void)uvzk__digest_is_proof(uvzk__jute_bytes(data, size), expected);
    char *text = take_line(&input);
    int status = uvzk__sasl_options_read(&options, text);
    PROMISE(status == 0 || status == UV_EINVAL);
    if (status == 0) {
        PROMISE(options.is_gssapi || (options.user != NULL && options.user[0] != '\0'));
        uvzk__sasl_options_free(&options);
    }
    free(text);
    return 0;
}
