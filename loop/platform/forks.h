/* Tells a child that fork() has made from its parent, at no cost to those that ask often. A
 * child that was made in another way (vfork, _Fork, clone) is not told apart. */
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
