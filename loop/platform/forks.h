/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a forked child from its parent, cheaply enough to be asked often. It does not
 * recognise a child that was created in another way (vfork, _Fork, clone). */
#ifndef UVZK_FORKS_H
#define UVZK_FORKS_H

/* How many forks lie between this process and the one that counted first. */
extern unsigned uvzk__fork_count;

/* Begins to count, once for the whole process. Returns 0 or UV_ENOMEM. */
int uvzk__forks_begin(void);

static inline unsigned uvzk__forks(void)
{
    return uvzk__fork_count;
}

#endif
