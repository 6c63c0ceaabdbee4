#include "census.h"

#include <stdlib.h>
#include <string.h>

/* A lock that changes hands faster than it can be read is told as it was seen last. */
#define LISTINGS_MORE 8U

struct looking {
    uvzk_read_t request;
    struct census *census;
    size_t which;
};

bool census_same_kind(enum recipe one, enum recipe other)
{
    return one == other || (one <= RECIPE_READ && other <= RECIPE_READ);
}

const char *census_recipe_name(enum recipe recipe)
{
    static const char *const names[] = {"write", "read", "mutex", "lease"};

    return names[recipe];
}

void census_free(struct census *census)
{
    for (size_t i = 0; i < census->count; i++) {
        free(census->residents[i].node);
        free(census->residents[i].data);
        free(census->residents[i].looking);
    }
    free(census->residents);
    census->residents = NULL;
    census->count = 0;
}

/* By kind, holders first, in the order in which they came. */
static int by_place(const void *left, const void *right)
{
    const struct resident *a = left, *b = right;

    if (!census_same_kind(a->recipe, b->recipe)) {
        return a->recipe < b->recipe ? -1 : 1;
    }
    if (a->holds != b->holds) {
        return a->holds ? -1 : 1;
    }
    return (a->token > b->token) - (a->token < b->token);
}

static bool holder_has_gone(const struct census *census)
{
    for (size_t i = 0; i < census->count; i++) {
        if (census->residents[i].holds && census->residents[i].gone) {
            return true;
        }
    }
    return false;
}

static void drop_gone(struct census *census)
{
    size_t kept = 0;

    for (size_t i = 0; i < census->count; i++) {
        struct resident *resident = &census->residents[i];
        free(resident->looking);
        resident->looking = NULL;
        if (resident->gone) {
            free(resident->node);
            free(resident->data);
        } else {
            census->residents[kept++] = *resident;
        }
    }
    census->count = kept;
}

static int list(struct census *census);

/* The listing is older than the reads: who came in between is in neither. */
static bool lists_again(struct census *census)
{
    census->torn = census->status == 0 && holder_has_gone(census);
    if (!census->torn || census->again == 0) {
        return false;
    }
    census->again--;
    int status = list(census);
    if (status < 0) {
        census->status = status;
    }
    return status == 0;
}

static void tell(struct census *census)
{
    if (lists_again(census)) {
        return;
    }
    drop_gone(census);
    if (census->count > 0) {
        qsort(census->residents, census->count, sizeof(struct resident), by_place);
    }
    census->cb(census, census->status);
}

static void failed(struct census *census, int status)
{
    if (census->status == 0) {
        census->status = status;
    }
}

/* -------------------------------------------------------------- one by one */

static void fill(struct census *census, struct resident *resident, const void *data,
                 size_t length)
{
    resident->data = malloc(length + 1);
    if (resident->data == NULL) {
        failed(census, UV_ENOMEM);
        return;
    }
    if (length > 0) {
        memcpy(resident->data, data, length);
    }
    resident->data[length] = '\0';
    resident->data_length = length;
}

static void on_looked(uvzk_read_t *request, int status, const uvzk_stat_t *stat,
                      const void *data, size_t length)
{
    struct looking *looking = request->data;
    struct census *census = looking->census;
    struct resident *resident = &census->residents[looking->which];

    if (status == UVZK_ENONODE) {
        resident->gone = true;
    } else if (status < 0) {
        failed(census, status);
    } else {
        resident->token = stat->czxid;
        resident->session = stat->session_id;
        resident->since_ms = stat->created_ms;
        fill(census, resident, data, length);
    }
    if (--census->outstanding == 0) {
        tell(census);
    }
}

static int look_at(struct census *census, size_t which)
{
    struct resident *resident = &census->residents[which];

    resident->looking = calloc(1, sizeof(*resident->looking));
    if (resident->looking == NULL) {
        return UV_ENOMEM;
    }
    resident->looking->census = census;
    resident->looking->which = which;
    resident->looking->request.data = resident->looking;
    return uvzk_client_look(census->client, &resident->looking->request, resident->node,
                            on_looked);
}

static void look_at_all(struct census *census)
{
    for (size_t i = 0; i < census->count && census->status == 0; i++) {
        int status = look_at(census, i);
        census->outstanding += status == 0;
        if (status < 0) {
            failed(census, status);
        }
    }
    if (census->outstanding == 0) {
        tell(census);
    }
}

/* ------------------------------------------------------------------- listing */

static int add(struct census *census, enum recipe recipe, const char *const *paths,
               size_t count, size_t holding)
{
    struct resident *more =
        realloc(census->residents, (census->count + count + 1) * sizeof(struct resident));

    if (more == NULL) {
        return UV_ENOMEM;
    }
    census->residents = more;
    for (size_t i = 0; i < count; i++) {
        struct resident *resident = &more[census->count];
        *resident = (struct resident){.recipe = recipe, .holds = i < holding};
        resident->node = strdup(paths[i]);
        if (resident->node == NULL) {
            return UV_ENOMEM;
        }
        census->count++;
    }
    return 0;
}

static void on_participants(uvzk_participants_t *request, int status,
                            const char *const *paths, size_t count)
{
    struct census *census = request->data;
    enum recipe recipe = (enum recipe)(request - census->requests);

    if (status == 0) {
        status = add(census, recipe, paths, count, uvzk_participants_holding(request));
    }
    if (status < 0) {
        failed(census, status);
    }
    if (--census->outstanding == 0) {
        if (census->looks) {
            look_at_all(census);
        } else {
            tell(census);
        }
    }
}

static int list(struct census *census)
{
    uvzk_lock_t *locks[CENSUS_RECIPES] = {&census->rwlock.write, &census->rwlock.read,
                                          &census->mutex, &census->semaphore};
    int status = 0;

    census_free(census);
    for (size_t i = 0; i < CENSUS_RECIPES && status == 0; i++) {
        census->requests[i].data = census;
        status = uvzk_lock_participants(locks[i], &census->requests[i], on_participants);
        census->outstanding += status == 0;
    }
    if (status < 0 && census->outstanding > 0) {
        failed(census, status); /* told when the others are answered */
        status = 0;
    }
    return status;
}

int census_take(struct census *census, bool looks, census_cb cb)
{
    census->cb = cb;
    census->looks = looks;
    census->status = 0;
    census->torn = false;
    census->again = LISTINGS_MORE;
    return list(census);
}

int census_init(struct census *census, uvzk_client_t *client, const char *path)
{
    int status = uvzk_mutex_init(client, &census->mutex, path);

    census->client = client;
    if (status == 0) {
        status = uvzk_rwlock_init(client, &census->rwlock, path);
    }
    if (status == 0) {
        status = uvzk_semaphore_init(client, &census->semaphore, path, 1, NULL);
    }
    return status;
}
