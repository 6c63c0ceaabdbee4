/* Whole clients over the simulator, for tests that are about what they do when
 * something is refused: some seats, each a process with a client and a mutex, all
 * on one path, and claims on the lock whose every callback is written down.
 *
 * Checked by itself, with the trace printed before the test fails: callbacks come
 * once and in a legal order; a refused acquire has done nothing; never are two
 * valid holds of different owners on the path. */
#ifndef UVZK_SIM_STAGE_H
#define UVZK_SIM_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"
#include "sim.h"

#define STAGE_SEATS 2
#define STAGE_PATH "/locks/of/stage"
#define STAGE_TIMEOUT_MS 10000U
#define STAGE_UNTOLD 9999 /* a status nobody has told yet */

struct stage;

struct seat {
    struct stage *stage;
    struct uvzk__port *port; /* NULL once closed */
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    bool closing;
    int closed, mutex_closed; /* callbacks */
};

struct claim {
    struct seat *seat;
    struct claim *next; /* of all claims ever made on the stage */
    uvzk_hold_t request;
    void *owner;
    bool accepted, releasing;
    int granted, refused, queued, lost, released; /* callbacks */
    int status, reason, release_status;
    int turn; /* 1 for the first grant on the stage, and so on */
};

struct stage {
    struct sim *sim;
    struct seat seats[STAGE_SEATS];
    struct claim *claims;
    int grants;
    bool meddled;     /* somebody deleted a holder's znode: no lock survives that */
    const char *what; /* printed when the test fails; may be NULL */
    void (*each_ms)(struct stage *); /* called when a ms has passed; may be NULL */
    void *data;                      /* the test's own */
};

struct stage_options {
    unsigned tuning; /* UVZK__TUNE_* */
    uint32_t proof;  /* uvzk_proof_t */
    bool no_containers;
};

/* Clients and mutexes are made; nobody is started. */
void stage_open(struct stage *stage, const struct stage_options *options);
void stage_start(struct stage *stage);

/* Prints the trace and fails. */
void stage_fail(struct stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void stage_run(struct stage *stage, uint64_t ms);
/* Runs until the counter has reached the value; false: not within ms. */
bool stage_until(struct stage *stage, const int *counter, int value, uint64_t ms);

/* What uvzk_lock_acquire says, which is 0 or UV_ENOMEM. */
int claim_ask(struct claim *claim, struct seat *seat, uvzk_acquire_options_t *options);
/* No options but an owner (or NULL) and a timeout. */
int claim_simply(struct claim *claim, struct seat *seat, void *owner, int64_t timeout_ms);
bool claim_holds(const struct claim *claim); /* granted, neither released nor lost */
bool claim_pending(const struct claim *claim);
bool claim_over(const struct claim *claim); /* told everything, or never accepted */
/* Only if it holds, else nothing. */
void claim_release(struct claim *claim);
/* Runs until the acquire is answered; fails after two virtual minutes. Nobody else
 * holds longer than half a minute meanwhile. */
void claim_wait_answer(struct claim *claim);
/* The same, until it is over: it is released when it holds. */
void claim_finish(struct claim *claim);

/* Another one's contender, in a session that never ends: its full path, or "" if
 * there is no lock directory to stand in. */
struct stage_path {
    char text[256];
};
struct stage_path stage_foreigner(struct stage *stage);
/* Deletes it, or another znode; nothing if there is none. */
void stage_delete(struct stage *stage, const struct stage_path *path);

void seat_close(struct seat *seat);
void seat_close_mutex(struct seat *seat);

/* Everybody lets go; all are answered within two virtual minutes; then no
 * contender, no watch and no znode of a contender is left. */
void stage_let_go(struct stage *stage);
/* Closes the clients and frees everything. No session, no watch is left. */
void stage_end(struct stage *stage);

#endif
