/* What the live tests on an ensemble stand on: one for the program, which is whole again
 * before each test, and clients on it, each with a mutex. */
#ifndef ONE_ENSEMBLE_H
#define ONE_ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmocka_test.h"
#include "ensemble.h"
#include "uvzk.h"

/* The program's ensemble; NULL before it is started. */
extern struct ensemble *ensemble;
/* A test sets it to false at its begin, and to true when nothing of it is left: what a
 * failed one has left in this process is left alone, and meets an ensemble that knows
 * nothing of it. */
extern bool ensemble_is_clean;

/* Group fixtures for cmocka: the first with the default options. */
int one_ensemble_start(void **state);
int one_ensemble_start_with(const struct ensemble_options *options);
int one_ensemble_stop(void **state);
/* Before each test: all members run, and serve. */
int one_ensemble_make_whole(void **state);

struct side {
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    int suspended, reconnected, lost, closed; /* told so far */
};

/* The defaults, but for these hosts (which must stay), this session and the ensemble's
 * tick. */
uvzk_client_options_t side_options(const char *hosts, uint32_t session_ms);
/* Initialises and starts the client, with a mutex on the path. */
void side_open(struct side *side, uv_loop_t *loop, const uvzk_client_options_t *options,
               const char *path);
/* Closes the client and waits for the callback. */
void side_close(struct side *side, uv_loop_t *loop);

#endif
