/* SPDX-License-Identifier: Apache-2.0 */
/* Children's names: whoever is a contender has a name that says so again when it is
 * written anew, and the places have one order. */
#include <inttypes.h>

#include "base/place.h"
#include "fuzz.h"
#include "locks/mutex.h"
#include "locks/rwlock.h"
#include "locks/semaphore/leases.h"

#define NAMES_MAX 8

static const char *token_of(const struct uvzk__name_prefix *prefixes, bool shared)
{
    while (prefixes->shared != shared) {
        prefixes++;
    }
    return prefixes->text;
}

/* What a server would have made of it: its UUID is written in one way only. */
static void write_anew(const struct uvzk__node_name *name, const char *token)
{
    char text[UVZK__PROTECTED_NAME_SIZE + 16];
    struct uvzk__node_name again;
    size_t length = uvzk__protected_name(text, name->uuid, token);

    (void)snprintf(text + length, 16, "%010" PRId32, name->sequence);
    uvzk__node_name_parse(&again, text, token);
    PROMISE(again.is_contender && again.has_uuid);
    PROMISE(again.sequence == name->sequence);
    PROMISE(memcmp(again.uuid, name->uuid, sizeof(again.uuid)) == 0);
}

static void look(const char *text, const struct uvzk__name_prefix *prefixes,
                 struct uvzk__place *place)
{
    struct uvzk__node_name name;
    bool shared;
    char digits[16];

    uvzk__node_name_parse_any(&name, text, prefixes, &shared);
    if (!name.is_contender) {
        PROMISE(!shared);
        return;
    }
    PROMISE(prefixes != NULL);
    PROMISE(strncmp(text, "_c_", 3) == 0);
    (void)snprintf(digits, sizeof(digits), "%010" PRId32, name.sequence);
    PROMISE(strlen(text) > strlen(digits) &&
            strcmp(text + strlen(text) - strlen(digits), digits) == 0);
    PROMISE(strstr(text, token_of(prefixes, shared)) != NULL);
    write_anew(&name, token_of(prefixes, shared));
    place->sequence = name.sequence;
}

static void compare(const struct uvzk__place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        PROMISE(uvzk__place_compare(places[i], places[i]) == 0);
        for (size_t j = 0; j < count; j++) {
            int order = uvzk__place_compare(places[i], places[j]);
            PROMISE(order == -uvzk__place_compare(places[j], places[i]));
            for (size_t k = 0; k < count && order < 0; k++) {
                PROMISE(uvzk__place_compare(places[j], places[k]) >= 0 ||
                        uvzk__place_compare(places[i], places[k]) < 0);
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    /* A lock driver's directory has no prefixes. */
    const struct uvzk__name_prefix *const prefixes_of[] = {
        uvzk__exclusive.name_prefixes, uvzk__read_write.name_prefixes,
        uvzk__lease_directory.name_prefixes, NULL};
    const struct uvzk__name_prefix *prefixes = prefixes_of[take_byte(&input) % 4];
    struct uvzk__place places[NAMES_MAX] = {{0, 0}};
    size_t count = 0;

    while (input.left > 0 && count < NAMES_MAX) {
        char *text = take_line(&input);
        places[count].czxid = (int64_t)strlen(text) % 3;
        look(text, prefixes, &places[count++]);
        free(text);
    }
    compare(places, count);
    return 0;
}
