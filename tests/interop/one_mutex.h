/* SPDX-License-Identifier: Apache-2.0 */
/* The library and one client of another maker at one mutex: the scene, and what holds
 * whoever the other one is. */
#ifndef ONE_MUTEX_H
#define ONE_MUTEX_H

#include "other_side.h"

struct one_mutex {
    struct world world;
    struct process us;
    struct hold ours;
    struct peer peer; /* it calls its own on the same path L */
};

/* kind: the peer's word for its own. The path's text must stay. */
void one_mutex_begin(struct one_mutex *scene, const char *path, const char *kind);
/* Nobody is left in the line. */
void one_mutex_end(struct one_mutex *scene);

/* The state of those below, which are a scene from begin to end each. The first one is
 * true of kazoo as it comes, too; the others are of clients that queue under Curator's
 * names. */
struct one_mutex_case {
    const char *path, *kind;
};
#define ONE_MUTEX_CASE(name, test, ...) \
    ((struct CMUnitTest){#name, test, NULL, NULL, &(struct one_mutex_case){__VA_ARGS__}})

void test_they_wait_for_us(void **state);
void test_we_wait_for_them(void **state);
/* Five of each in turn are let in as they came. */
void test_one_line_for_both(void **state);
void test_two_thousand_grants_in_a_crowd_of_ten(void **state);

#endif
