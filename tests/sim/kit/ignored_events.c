/* SPDX-License-Identifier: Apache-2.0 */
#include "ignored_events.h"

void ignore_no_connection(struct uvzk__port_user *user,
                          const struct uvzk__connect_error *error)
{
    (void)user;
    (void)error;
}

void ignore_log(struct uvzk__port_user *user, int level, const char *module,
                const char *line)
{
    (void)user;
    (void)level;
    (void)module;
    (void)line;
}

void ignore_broken(struct uvzk__port_user *user, const char *what)
{
    (void)user;
    (void)what;
}
