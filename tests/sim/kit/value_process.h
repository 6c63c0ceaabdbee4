/* Processes that share a value over the simulator: a client and a shared value each, and
 * sets of it, of which everything that is told is written down.
 *
 * Checked at every callback, with the trace printed before the test fails: what is told
 * is the state of things at that moment, it never goes back, nothing is told twice or
 * after the end, a set is told once. */
#ifndef UVZK_SIM_VALUE_PROCESS_H
#define UVZK_SIM_VALUE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process.h"
#include "value/shared_value.h"
#include "world.h"

#define VALUE_PROCESS_PATH "/app/values/v" /* of every value */
#define VALUE_PROCESS_NO_STATUS 9999       /* a status nobody has told yet */

struct value_process {
    struct process process;
    uvzk_shared_value_t value;
    int told; /* callbacks of the value, and what the last one said */
    int status;
    int64_t mzxid;
    int troubles; /* of those callbacks, how many were told a trouble */
    int value_closed;
    void (*hook)(
        struct value_process *); /* run inside the value's callback; may be NULL */
    void *data;                  /* the test's own */
};

struct value_process_set {
    uvzk_set_t request;
    struct value_process *value_process;
    bool accepted;
    int told, status;
    int64_t known; /* the mzxid known when it was told; 0: none */
    uint64_t told_ms;
    void (*hook)(struct value_process_set *); /* run inside its callback; may be NULL */
};

/* Cases of which the state is the first of some in one world (world_begin_exact), "c":
 * its client is made, and not started; or it shares "seed" and has been told so. Those
 * that were made are ended behind the case. */
#define VALUE_PROCESSES 3
#define VALUE_PROCESS_CASE(test, setup) \
    cmocka_unit_test_setup_teardown(test, setup, value_processes_end)
int value_process_made(void **state);
int value_process_told(void **state);
int value_processes_end(void **state);

/* options: NULL for process_options. The client is made and not started. */
void value_process_begin(struct value_process *value_process, struct world *world,
                         const char *name, const uvzk_client_options_t *options);
/* Text as the seed. What uvzk_shared_value_init says. */
int value_process_share(struct value_process *value_process, const char *seed);
/* Shares, and starts the client. */
void value_process_start(struct value_process *value_process, const char *seed);
/* Begins that, and waits until it is told the value. */
void value_process_open(struct value_process *value_process, struct world *world,
                        const char *name, const char *seed);

struct sim *value_process_sim(const struct value_process *value_process);
/* Of the machine inside. */
struct uvzk__node_cache *
value_process_node_cache(const struct value_process *value_process);

/* Text. What the call says: 0, or a refusal, of which nothing is written down. */
int value_process_set(struct value_process_set *set, struct value_process *value_process,
                      const char *text);
int value_process_try_set(struct value_process_set *set,
                          struct value_process *value_process,
                          const uvzk_value_version_t *version, const char *text);
bool value_process_set_over(
    const struct value_process_set *set); /* told, or never accepted */

uvzk_value_version_t value_process_version(const struct value_process *value_process);
/* Whether this text is known, or the znode's data are. */
bool value_process_knows(const struct value_process *value_process, const char *text);
bool value_process_znode_is(const struct sim *sim, const char *text);
/* Whether what is known is what the znode has: data, mzxid and version; and was told. */
bool value_process_is_current(const struct value_process *value_process);

/* As an operator does it. */
void value_process_set_by_hand(struct sim *sim, const char *text);
void value_process_make_by_hand(struct sim *sim);
void value_process_delete_by_hand(struct sim *sim);

/* Until the counter has reached the value, or fails after a virtual minute. */
void value_process_await(const struct value_process *value_process, const int *counter,
                         int value);
/* Until it is told, which must be this. */
void value_process_await_set(const struct value_process_set *set, int status);
/* Until it is current, or fails. */
void value_process_await_current(struct value_process *value_process);

/* Closes the value if it is open, asserts that nothing is left of it, and closes the
 * client if it is open. */
void value_process_end(struct value_process *value_process);
void value_process_close_value(struct value_process *value_process);

/* Prints the trace and fails. */
void value_process_fail(const struct value_process *value_process, const char *format,
                        ...) __attribute__((format(printf, 2, 3)));

#endif
