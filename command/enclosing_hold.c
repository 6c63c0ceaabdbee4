/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes UVZK_HELD (enclosing_hold.h). lock.c and elect.c ask before they
 * connect whether the command would wait for itself; supervisor.c adds its own line for
 * CMD. */
#include "enclosing_hold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descendants.h"

/* Returns the hosts, a tab, and the path on the servers, with the chroot and the namespace.
 * The caller frees it. NULL: no memory. */
static char *place_of(const struct lock_request *request)
{
    const char *hosts = request->connection.hosts, *ns = request->connection.ns;
    size_t hosts_length = strcspn(hosts, "/");
    const char *chroot = hosts + hosts_length;
    bool has_ns = ns != NULL && ns[0] != '\0';
    char *text;

    int length = asprintf(&text, "%.*s\t%s%s%s%s", (int)hosts_length, hosts,
                          strcmp(chroot, "/") == 0 ? "" : chroot, has_ns ? "/" : "",
                          has_ns ? ns : "", request->path);
    return length < 0 ? NULL : text;
}

char *enclosing_hold_describe(const struct lock_request *request)
{
    char *place = place_of(request), *text = NULL;

    if (place == NULL ||
        asprintf(&text, "%d %u %s", (int)request->recipe, request->leases, place) < 0) {
        text = NULL;
    }
    free(place);
    return text;
}

char *enclosing_hold_add(const char *description)
{
    const char *others = getenv("UVZK_HELD");
    char *text;

    int length =
        asprintf(&text, "%d %llu %s\n%s", (int)getpid(), descendants_start_time(getpid()),
                 description, others == NULL ? "" : others);
    return length < 0 ? NULL : text;
}

/* A line of UVZK_HELD. */
struct enclosing_hold {
    int supervisor, recipe;
    unsigned long long start_time; /* of the supervisor */
    unsigned leases;
};

/* Reads one line. Returns false if it is about another place, is malformed, or is of a
 * command that this process does not run inside. */
static bool read_line(const char *line, size_t length, const char *place,
                      struct enclosing_hold *hold)
{
    int at = 0;

    if (sscanf(line, "%d %llu %d %u %n", &hold->supervisor, &hold->start_time,
               &hold->recipe, &hold->leases, &at) != 4 ||
        (size_t)at > length) {
        return false;
    }
    return strlen(place) == length - (size_t)at &&
           strncmp(line + at, place, strlen(place)) == 0 &&
           descendants_has(hold->supervisor, hold->start_time);
}

/* Returns true if a hold that lasts until this command has ended prevents the grant.
 * leases: of all enclosing holds. Holds of another kind do not count: lock_job.c refuses
 * to mix kinds. */
static bool prevents(const struct lock_request *request, enum recipe held,
                     unsigned leases)
{
    if (!recipes_exclude(held, request->recipe) ||
        (held == RECIPE_READ && request->recipe == RECIPE_READ)) {
        return false;
    }
    return held != RECIPE_LEASES || leases + request->leases > request->of;
}

bool enclosing_hold_blocks(const struct lock_request *request)
{
    const char *line = getenv("UVZK_HELD");
    char *place = place_of(request);
    unsigned leases = 0;
    bool blocks = false;

    while (place != NULL && line != NULL && *line != '\0' && !blocks) {
        struct enclosing_hold hold;
        size_t length = strcspn(line, "\n");
        if (read_line(line, length, place, &hold)) {
            leases += hold.leases;
            blocks = prevents(request, (enum recipe)hold.recipe, leases);
        }
        line += length + (line[length] == '\n');
    }
    free(place);
    return blocks;
}
