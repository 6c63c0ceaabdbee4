/* A path that several keep: a lock, and the directory in which its contenders stand. */
#ifndef UVZK_SHARED_PATH_H
#define UVZK_SHARED_PATH_H

#include <stdint.h>

struct uvzk__shared_path {
    uint32_t refs; /* it goes with the last of them */
    char text[];
};

/* Joined as uvzk__path_join does, with one keeper; NULL when out of memory. */
struct uvzk__shared_path *uvzk__shared_path_join(const char *parent, const char *child);

/* One more; one less, NULL is fine. */
struct uvzk__shared_path *uvzk__shared_path_ref(struct uvzk__shared_path *);
void uvzk__shared_path_unref(struct uvzk__shared_path *);

#endif
