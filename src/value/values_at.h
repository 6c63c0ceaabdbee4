/* At which paths a session has shared values, for engine/znode_owner. */
#ifndef UVZK_VALUES_AT_H
#define UVZK_VALUES_AT_H

#include <stdbool.h>

struct uvzk__session;

/* Returns true if a value of the session has its znode below this path. */
bool uvzk__shared_values_need_below(const struct uvzk__session *, const char *path);
/* Which of the user's values the session has at this path, as turn.h says. */
unsigned uvzk__shared_values_at(const struct uvzk__session *, const char *path);

#endif
