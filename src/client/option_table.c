/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the options (option_table.h), and what its rows mean: defaults, ranges, and
 * how a text becomes a value. A new field of uvzk_client_options_t gets a row here, unless
 * it is a callback. */
#include "client/option_table.h"

#include <string.h>

#include "engine/client.h"
#include "engine/port.h"

/* The limits of the session timeout. The C client counts in ints and computes twice the
 * timeout, which overflows at about 12 days. After it has tried all servers without
 * success it pauses for a sixtieth of the timeout, so below 500 ms it tries again almost
 * without a pause, and logs each attempt. One day is more than any server grants. It is
 * far from the overflow, and so are all values that are computed from the timeout or the
 * tick.
 *
 * A proof request that came too early is repeated after a quarter of a tick, so a tick is
 * not shorter than 10 ms.
 *
 * The limits are written as numbers, because the sentences are made of them. */
_Static_assert(UVZK__SESSIONS_MAX == 32, "the row of sessions has the same limit");
_Static_assert(UVZK__DATA_MAX == 1000000, "the rows of bytes have the same limit");

#define FIELD(of)                                                \
    .field = #of, .offset = offsetof(uvzk_client_options_t, of), \
    .size = sizeof(((uvzk_client_options_t *)0)->of)
#define RANGE(of, low, high)                                                \
    FIELD(of), .kind = UVZK__OPTION_NUMBER, .least = (low), .most = (high), \
               .wrong = "options." #of " is not " #low " to " #high,        \
               .malformed = "options." #of " is not a decimal number"
#define BYTES(of)                                                             \
    FIELD(of), .kind = UVZK__OPTION_BYTES, .most = UVZK__DATA_MAX,            \
               .length_offset = offsetof(uvzk_client_options_t, of##_length), \
               .wrong = "options." #of "_length is more than 1000000",        \
               .missing = "options." #of " is NULL, " #of "_length is not 0"

static const char *const proofs[] = {"quorum", "sync", "none", NULL};
static const char *const transports[] = {"c-client", "native", NULL};
static const char *const mixed_kinds[] = {"warn", "refuse", NULL};
static const char *const retries[] = {"exponential", "n-times", "until-elapsed",
                                      "forever", NULL};
static const char *const acls[] = {"anyone", "ours", "ours-anyone-reads", NULL};

static const struct uvzk__option table[] = {
    {.name = "hosts",
     FIELD(hosts),
     .kind = UVZK__OPTION_TEXT,
     .meaning = "The servers: `host:port,host:port/chroot`. Required.",
     .usual = "none"},
    {.name = "session_timeout_ms",
     RANGE(session_timeout_ms, 500, 86400000),
     .initial = 60000, /* curator-default-session-timeout */
     .unit = "ms",
     .meaning = "The session timeout to request from the servers, which may change it."},
    {.name = "tick_ms",
     RANGE(tick_ms, 10, 86400000),
     .initial = 2000, /* tickTime of ZooKeeper's sample configuration */
     .unit = "ms",
     .meaning = "An upper bound of the servers' tickTime, which the proof of ownership "
                "relies on."},
    {.name = "namespace",
     FIELD(ns),
     .kind = UVZK__OPTION_TEXT,
     .meaning = "`app` puts every path below `/app`.",
     .usual = "none"},
    {.name = "auth_scheme",
     FIELD(auth_scheme),
     .kind = UVZK__OPTION_TEXT,
     .meaning = "The scheme of the credentials, such as `digest`.",
     .usual = "none"},
    {.name = "auth",
     BYTES(auth),
     .meaning = "The credentials, such as `ann:secret`. Secret.",
     .usual = "none",
     .secret = true},
    {.name = "acl",
     FIELD(acl),
     .kind = UVZK__OPTION_ACL,
     .length_offset = offsetof(uvzk_client_options_t, acl_count),
     .words = acls,
     .meaning = "The ACL of every znode that uvzk creates: one of the words, which stand "
                "for the entries `UVZK_ACL_ANYONE`, `UVZK_ACL_OURS` and "
                "`UVZK_ACL_ANYONE_READS`; or a list of `SCHEME:ID:PERMISSIONS`, see "
                "[below](#acl).",
     .usual = "anyone"},
    {.name = "retry",
     FIELD(retry.kind),
     .kind = UVZK__OPTION_WORD,
     .words = retries,
     .wrong = "options.retry.kind: unknown policy",
     .meaning = "The retry policy. If one of the five retry options is set, set "
                "`retry_base_ms` too.",
     .usual = "exponential"},
    {.name = "retry_base_ms",
     RANGE(retry.base_ms, 0, 4294967295),
     .unit = "ms",
     .meaning = "The pause before the first retry. 0 is allowed only with `n-times`.",
     .usual = "1000"},
    {.name = "retry_max_sleep_ms",
     RANGE(retry.max_sleep_ms, 0, 4294967295),
     .unit = "ms",
     .meaning = "The longest pause of `exponential`.",
     .usual = "2147483647"},
    {.name = "retry_max_retries",
     RANGE(retry.max_retries, 0, 4294967295),
     .meaning = "The number of retries, for `exponential` (at most 29) and `n-times`.",
     .usual = "3"},
    {.name = "retry_max_elapsed_ms",
     FIELD(retry.max_elapsed_ms),
     .kind = UVZK__OPTION_NUMBER,
     .most = UINT64_MAX,
     .malformed = "options.retry.max_elapsed_ms is not a decimal number",
     .unit = "ms",
     .meaning = "How long after the first attempt `until-elapsed` begins a retry.",
     .usual = "0"},
    {.name = "default_data",
     BYTES(default_data),
     .meaning = "The data of lock znodes.",
     .usual = "the local address"},
    {.name = "proof",
     FIELD(proof),
     .kind = UVZK__OPTION_WORD,
     .words = proofs,
     .wrong = "options.proof: there is no such proof",
     .meaning = "How uvzk proves ownership while something is held.",
     .usual = "quorum"},
    {.name = "close_wait_ms",
     RANGE(close_wait_ms, 0, 4294967295),
     .initial = 1000,
     .unit = "ms",
     .meaning = "How long a close waits for pending releases; 0 means the default."},
    {.name = "metrics",
     FIELD(metrics),
     .kind = UVZK__OPTION_FLAG,
     .most = 1,
     .wrong = "options.metrics is not 0 or 1",
     .malformed = "options.metrics is not 0 or 1",
     .meaning = "1 starts the metrics.",
     .usual = "0"},
    {.name = "tls",
     FIELD(tls),
     .kind = UVZK__OPTION_TEXT,
     .meaning = "Empty: TLS with the system's CAs. Or a list of `ca=FILE`, `cert=FILE`, "
                "`key=FILE` and `name=NAME`. Needs the transport `native`.",
     .usual = "plain text"},
    {.name = "sessions",
     FIELD(sessions),
     .kind = UVZK__OPTION_NUMBER,
     .most = UVZK__SESSIONS_MAX,
     .initial = 1,
     .wrong = "options.sessions is more than 32",
     .malformed = "options.sessions is not a decimal number",
     .meaning = "The number of ZooKeeper sessions; 0 means the default."},
    {.name = "transport",
     FIELD(transport),
     .kind = UVZK__OPTION_WORD,
     .words = transports,
     .wrong = "options.transport: there is no such transport",
     .meaning = "How the client communicates with the servers.",
     .usual = "c-client; native in a build without it"},
    {.name = "mixed_kinds",
     FIELD(mixed_kinds),
     .kind = UVZK__OPTION_WORD,
     .words = mixed_kinds,
     .wrong = "options.mixed_kinds: there is no such choice",
     .meaning = "What follows if a contender of another kind of lock came first at the "
                "path.",
     .usual = "warn"},
    {.name = "sasl",
     FIELD(sasl),
     .kind = UVZK__OPTION_TEXT,
     .meaning = "A list of `mechanism=GSSAPI` with `principal=NAME`, `keytab=FILE`, "
                "`ccache=NAME`, `service=NAME`, `realm=NAME`, `host=NAME` and "
                "`canonical=yes`; or of `mechanism=DIGEST-MD5`, `user=NAME` and "
                "`password-file=FILE`. Needs the transport `native`.",
     .usual = "no SASL"},
};

enum { COUNT = sizeof(table) / sizeof(table[0]) };
_Static_assert(COUNT <= 64, "options_by_name.c has a bit for each");

size_t uvzk__option_count(void)
{
    return COUNT;
}

const struct uvzk__option *uvzk__option_at(size_t index)
{
    return &table[index];
}

const struct uvzk__option *uvzk__option_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------- the values of fields */

static uint64_t number_in(const uvzk_client_options_t *options, size_t offset,
                          size_t size)
{
    const char *field = (const char *)options + offset;
    uint32_t short_number;
    uint64_t number;

    if (size == sizeof(number)) {
        memcpy(&number, field, size);
        return number;
    }
    memcpy(&short_number, field, sizeof(short_number));
    return short_number;
}

static void set_number(const struct uvzk__option *option, uvzk_client_options_t *options,
                       uint64_t number)
{
    char *field = (char *)options + option->offset;
    uint32_t short_number = (uint32_t)number;

    if (option->size == sizeof(number)) {
        memcpy(field, &number, sizeof(number));
    } else {
        memcpy(field, &short_number, sizeof(short_number));
    }
}

static void set_pointer(const struct uvzk__option *option, uvzk_client_options_t *options,
                        const void *pointer)
{
    memcpy((char *)options + option->offset, &pointer, sizeof(pointer));
}

static void set_length(const struct uvzk__option *option, uvzk_client_options_t *options,
                       size_t length)
{
    memcpy((char *)options + option->length_offset, &length, sizeof(length));
}

/* ------------------------------------------------------------------------- all options */

void uvzk__options_complete(uvzk_client_options_t *options)
{
    for (size_t i = 0; i < COUNT; i++) {
        const struct uvzk__option *option = &table[i];
        if (option->initial != 0 &&
            number_in(options, option->offset, option->size) == 0) {
            set_number(option, options, option->initial);
        }
    }
}

static size_t count_words(const char *const *words)
{
    size_t count = 0;

    while (words[count] != NULL) {
        count++;
    }
    return count;
}

static const char *fault_of_bytes(const struct uvzk__option *option,
                                  const uvzk_client_options_t *options)
{
    size_t length = (size_t)number_in(options, option->length_offset, sizeof(size_t));
    const void *pointer;

    memcpy(&pointer, (const char *)options + option->offset, sizeof(pointer));
    if (pointer == NULL && length > 0) {
        return option->missing;
    }
    return length > option->most ? option->wrong : NULL;
}

static const char *fault_of(const struct uvzk__option *option,
                            const uvzk_client_options_t *options)
{
    uint64_t number;

    switch (option->kind) {
    case UVZK__OPTION_NUMBER:
        number = number_in(options, option->offset, option->size);
        return number < option->least || number > option->most ? option->wrong : NULL;
    case UVZK__OPTION_WORD:
        number = number_in(options, option->offset, option->size);
        return number < count_words(option->words) ? NULL : option->wrong;
    case UVZK__OPTION_BYTES:
        return fault_of_bytes(option, options);
    case UVZK__OPTION_FLAG: /* each number but 0 is 1 */
    case UVZK__OPTION_ACL:  /* engine/acl.c checks it */
    case UVZK__OPTION_TEXT:
        break;
    }
    return NULL;
}

const char *uvzk__options_fault(const uvzk_client_options_t *options)
{
    const char *fault = NULL;

    for (size_t i = 0; i < COUNT && fault == NULL; i++) {
        fault = fault_of(&table[i], options);
    }
    return fault;
}

/* ----------------------------------------------------------------------- one, from a text */

/* Reads decimal digits and nothing else, at least one. A number that does not fit becomes
 * UINT64_MAX. */
static bool read_number(const char *text, uint64_t *number)
{
    *number = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        unsigned digit = (unsigned)(*at - '0');
        *number = *number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *number * 10 + digit;
    }
    return *text != '\0';
}

static const char *set_from_number(const struct uvzk__option *option,
                                   uvzk_client_options_t *options, const char *text)
{
    uint64_t number;

    if (!read_number(text, &number)) {
        return option->malformed;
    }
    if (number < option->least || number > option->most) {
        return option->wrong;
    }
    set_number(option, options, number);
    return NULL;
}

/* word: as in `acls`, of which the second and the third begin with the same entry. */
static void set_acl(const struct uvzk__option *option, uvzk_client_options_t *options,
                    size_t word)
{
    static const uvzk_acl_t anyone[] = {UVZK_ACL_ANYONE};
    static const uvzk_acl_t ours[] = {UVZK_ACL_OURS, UVZK_ACL_ANYONE_READS};
    set_pointer(option, options, word == 0 ? anyone : ours);
    set_length(option, options, word == 2 ? 2 : 1);
}

static size_t word_of(const struct uvzk__option *option, const char *text)
{
    size_t word = 0;

    while (option->words[word] != NULL && strcmp(option->words[word], text) != 0) {
        word++;
    }
    return word;
}

bool uvzk__option_lists_acl(const struct uvzk__option *option, const char *text)
{
    return option->kind == UVZK__OPTION_ACL &&
           option->words[word_of(option, text)] == NULL;
}

static const char *set_from_word(const struct uvzk__option *option,
                                 uvzk_client_options_t *options, const char *text)
{
    size_t word = word_of(option, text);

    if (option->words[word] == NULL) {
        return option->wrong;
    }
    if (option->kind == UVZK__OPTION_ACL) {
        set_acl(option, options, word);
    } else {
        set_number(option, options, word);
    }
    return NULL;
}

const char *uvzk__option_set(const struct uvzk__option *option,
                             uvzk_client_options_t *options, const char *text)
{
    switch (option->kind) {
    case UVZK__OPTION_NUMBER:
    case UVZK__OPTION_FLAG:
        return set_from_number(option, options, text);
    case UVZK__OPTION_WORD:
    case UVZK__OPTION_ACL:
        return set_from_word(option, options, text);
    case UVZK__OPTION_BYTES:
        if (strlen(text) > option->most) {
            return option->wrong;
        }
        set_length(option, options, strlen(text));
        set_pointer(option, options, text);
        return NULL;
    case UVZK__OPTION_TEXT:
        set_pointer(option, options, text);
        break;
    }
    return NULL;
}
