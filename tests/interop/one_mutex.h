/* The library and one client of another maker at one mutex: the scene, and what holds
 * whoever the other one is. */
#ifndef ONE_MUTEX_H
#define ONE_MUTEX_H

#include "other_side.h"

struct one_mutex {
    const char *path;
    struct live live;
    uvzk_mutex_t mutex;
    struct attempt ours;
    struct peer peer; /* it calls its own on the same path L */
};

/* kind: the peer's word for its own. The path's text must stay. */
void one_mutex_begin(struct one_mutex *scene, const char *path, const char *kind);
/* Nobody is left in the line. */
void one_mutex_end(struct one_mutex *scene);

/* Each is a scene from begin to end. The first one is true of kazoo as it comes, too; the
 * others are of clients that queue under Curator's names. */
void assert_they_wait_for_us(const char *path, const char *kind);
void assert_we_wait_for_them(const char *path, const char *kind);
/* Five of each in turn are let in as they came. */
void assert_one_line_for_both(const char *path, const char *kind);
void assert_two_thousand_grants_in_a_crowd_of_ten(const char *path, const char *kind);

#endif
