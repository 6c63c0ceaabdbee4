/* SPDX-License-Identifier: Apache-2.0 */
/* The users and groups of this system, by name and by number. A static command knows those of
 * /etc/passwd and /etc/group alone (accounts_of_files.c). */
#ifndef ACCOUNTS_H
#define ACCOUNTS_H

#include <stdbool.h>

#include <sys/types.h>

/* Returns false if there is no such user, or no such group. */
bool accounts_find_user(const char *name, uid_t *uid);
bool accounts_find_group(const char *name, gid_t *gid);
/* Returns NULL if the user has no name. The text is static. */
const char *accounts_user_name(uid_t uid);

#endif
