/* Processes that share a value over the simulator: a client and a shared value each, and
 * sets of it, of which everything that is told is written down.
 *
 * Checked at every callback, with the trace printed before the test fails: what is told
 * is the state of things at that moment, it never goes back, nothing is told twice or
 * after the end, a set is told once. */
#ifndef UVZK_SIM_SHARER_H
#define UVZK_SIM_SHARER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process.h"
#include "value/shared_value.h"
#include "world.h"

#define SHARER_PATH "/app/values/v" /* of every value */
#define SHARER_UNTOLD 9999          /* a status nobody has told yet */

struct sharer {
    struct process process;
    uvzk_shared_value_t value;
    int told; /* callbacks of the value, and what the last one said */
    int status;
    int64_t mzxid;
    int troubles; /* of those callbacks, how many were told a trouble */
    int value_closed;
    void (*hook)(struct sharer *); /* run inside the value's callback; may be NULL */
    void *data;                    /* the test's own */
};

struct sharer_set {
    uvzk_set_t request;
    struct sharer *sharer;
    bool accepted;
    int told, status;
    int64_t known; /* the mzxid known when it was told; 0: none */
    uint64_t told_ms;
    void (*hook)(struct sharer_set *); /* run inside its callback; may be NULL */
};

/* Cases of which the state is the first of some in one world (world_begin_exact), "c":
 * its client is made, and not started; or it shares "seed" and has been told so. Those
 * that were made are ended behind the case. */
#define SHARERS 3
#define SHARER_CASE(test, setup) cmocka_unit_test_setup_teardown(test, setup, sharers_end)
int sharer_made(void **state);
int sharer_told(void **state);
int sharers_end(void **state);

/* options: NULL for process_options. The client is made and not started. */
void sharer_begin(struct sharer *sharer, struct world *world, const char *name,
                  const uvzk_client_options_t *options);
/* Text as the seed. What uvzk_shared_value_init says. */
int sharer_share(struct sharer *sharer, const char *seed);
/* Shares, and starts the client. */
void sharer_start(struct sharer *sharer, const char *seed);
/* Begins that, and waits until it is told the value. */
void sharer_open(struct sharer *sharer, struct world *world, const char *name,
                 const char *seed);

struct sim *sharer_sim(const struct sharer *sharer);
/* Of the machine inside. */
struct uvzk__replica *sharer_replica(const struct sharer *sharer);

/* Text. What the call says: 0, or a refusal, of which nothing is written down. */
int sharer_set(struct sharer_set *set, struct sharer *sharer, const char *text);
int sharer_try_set(struct sharer_set *set, struct sharer *sharer,
                   const uvzk_value_version_t *version, const char *text);
bool sharer_set_over(const struct sharer_set *set); /* told, or never accepted */

uvzk_value_version_t sharer_version(const struct sharer *sharer);
/* Whether this text is known, or the znode's data are. */
bool sharer_knows(const struct sharer *sharer, const char *text);
bool sharer_znode_is(const struct sim *sim, const char *text);
/* Whether what is known is what the znode has: data, mzxid and version; and was told. */
bool sharer_is_current(const struct sharer *sharer);

/* As an operator does it. */
void sharer_set_by_hand(struct sim *sim, const char *text);
void sharer_make_by_hand(struct sim *sim);
void sharer_delete_by_hand(struct sim *sim);

/* Until the counter has reached the value, or fails after a virtual minute. */
void sharer_await(const struct sharer *sharer, const int *counter, int value);
/* Until it is told, which must be this. */
void sharer_await_set(const struct sharer_set *set, int status);
/* Until it is current, or fails. */
void sharer_await_current(struct sharer *sharer);

/* Closes the value if it is open, asserts that nothing is left of it, and closes the
 * client if it is open. */
void sharer_end(struct sharer *sharer);
void sharer_close_value(struct sharer *sharer);

/* Prints the trace and fails. */
void sharer_fail(const struct sharer *sharer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
