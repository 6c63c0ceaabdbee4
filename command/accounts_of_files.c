/* SPDX-License-Identifier: Apache-2.0 */
/* Users and groups (accounts.h) of a static command: those of /etc/passwd and /etc/group.
 * glibc's own functions would load what nsswitch.conf names, of the same version of glibc, and
 * there may be none. */
#include "accounts.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* Returns the user of this name or, without a name, of this number. */
static const struct passwd *find_entry(const char *name, uid_t uid)
{
    FILE *file = fopen("/etc/passwd", "re");
    const struct passwd *user = NULL;

    while (file != NULL && (user = fgetpwent(file)) != NULL) {
        if (name != NULL ? strcmp(user->pw_name, name) == 0 : user->pw_uid == uid) {
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return user;
}

bool accounts_find_user(const char *name, uid_t *uid)
{
    const struct passwd *user = find_entry(name, 0);

    if (user != NULL) {
        *uid = user->pw_uid;
    }
    return user != NULL;
}

bool accounts_find_group(const char *name, gid_t *gid)
{
    FILE *file = fopen("/etc/group", "re");
    const struct group *group = NULL;

    while (file != NULL && (group = fgetgrent(file)) != NULL) {
        if (strcmp(group->gr_name, name) == 0) {
            *gid = group->gr_gid;
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return group != NULL;
}

const char *accounts_user_name(uid_t uid)
{
    const struct passwd *user = find_entry(NULL, uid);

    return user != NULL ? user->pw_name : NULL;
}
