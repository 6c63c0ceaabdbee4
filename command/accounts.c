/* SPDX-License-Identifier: Apache-2.0 */
/* Users and groups (accounts.h) as nsswitch.conf says where they are. */
#include "accounts.h"

#include <grp.h>
#include <pwd.h>
#include <stddef.h>

bool accounts_find_user(const char *name, uid_t *uid)
{
    const struct passwd *user = getpwnam(name);

    if (user != NULL) {
        *uid = user->pw_uid;
    }
    return user != NULL;
}

bool accounts_find_group(const char *name, gid_t *gid)
{
    const struct group *group = getgrnam(name);

    if (group != NULL) {
        *gid = group->gr_gid;
    }
    return group != NULL;
}

const char *accounts_user_name(uid_t uid)
{
    static char memory[4096];
    struct passwd entry, *known = NULL;

    return getpwuid_r(uid, &entry, memory, sizeof(memory), &known) == 0 && known != NULL
               ? entry.pw_name
               : NULL;
}
