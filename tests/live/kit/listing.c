#include "listing.h"

#include <stdio.h>
#include <string.h>

static void on_listed(uvzk_participants_t *request, int status, const char *const *paths,
                      size_t count)
{
    struct listing *listing = request->data;

    assert_int_equal(status, 0);
    listing->told++;
    listing->count = count;
    listing->holding = uvzk_participants_holding(request);
    for (size_t i = 0; i < count && i < LISTING_PATHS; i++) {
        (void)snprintf(listing->paths[i], sizeof(listing->paths[i]), "%s", paths[i]);
    }
}

void listing_take(struct listing *listing, struct world *world, uvzk_lock_t *lock)
{
    memset(listing, 0, sizeof(*listing));
    listing->request.data = listing;
    assert_int_equal(uvzk_lock_participants(lock, &listing->request, on_listed), 0);
    assert_int_equal(listing->told, 0);
    assert_true(world_await(world, &listing->told, PATIENCE_MS));
}
