/* SPDX-License-Identifier: Apache-2.0 */
/* The store in SQLite; store.h has its rules. Jobs are queued on the loop's thread, and
 * one after the other runs in libuv's thread pool. So the connection and its statements
 * are used by one thread at a time, and no lock is needed. The fence is part of the SQL
 * statements LOOK and SELL. */
#include "store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* The longest wait for another instance's write, and the pause between two attempts where
 * SQLite itself does not wait. */
enum { BUSY_MS = 10000, PAUSE_MS = 20 };

/* WAL: readers do not wait for a writer, and a commit is one append. */
#define SCHEMA                                                    \
    "PRAGMA journal_mode = WAL;"                                  \
    "PRAGMA synchronous = NORMAL;"                                \
    "CREATE TABLE IF NOT EXISTS stock("                           \
    "    id INTEGER PRIMARY KEY, stock INTEGER NOT NULL,"         \
    "    left INTEGER NOT NULL, sold INTEGER NOT NULL DEFAULT 0," \
    "    token INTEGER NOT NULL DEFAULT 0) STRICT;"

#define FILL                                                            \
    "INSERT OR IGNORE INTO stock(id, stock, left)"                      \
    "    WITH RECURSIVE ids(id) AS"                                     \
    "        (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < ?1)" \
    "    SELECT id, ?2, ?2 FROM ids"

#define LOOK "UPDATE stock SET token = ?2 WHERE id = ?1 AND token <= ?2 RETURNING left"
#define SELL                                                  \
    "UPDATE stock SET left = ?3, sold = sold + 1, token = ?2" \
    "    WHERE id = ?1 AND token <= ?2 RETURNING left"
#define TALLY "SELECT id, stock, left, sold FROM stock WHERE id <= ?1"

enum statement { STATEMENT_LOOK, STATEMENT_SELL, STATEMENT_TALLY, STATEMENTS };

struct store {
    uv_loop_t *loop;
    struct store_options options;
    struct store_job *queue; /* its first job is under way */
    uv_work_t work;
    sqlite3 *db; /* used only by the thread pool, as the statements */
    sqlite3_stmt *statements[STATEMENTS];
};

struct store *store_new(uv_loop_t *loop, const struct store_options *options)
{
    struct store *store = calloc(1, sizeof(*store));

    if (store != NULL) {
        store->loop = loop;
        store->options = *options;
    }
    return store;
}

/* ------------------------------------------------------- one job after the other */

static void start_first(struct store *store);
static enum store_status run_close(struct store *store, struct store_job *job);

static void at_work(uv_work_t *work) /* in the thread pool */
{
    struct store_job *job = work->data;

    job->status = job->run(job->store, job);
}

static void worked(uv_work_t *work, int status)
{
    struct store_job *job = work->data;
    struct store *store = job->store;

    (void)status; /* always 0, because no job is cancelled */
    DL_DELETE(store->queue, job);
    if (store->queue != NULL) {
        start_first(store);
    } else if (job->run == run_close) {
        free(store);
    }
    job->cb(job, job->status);
}

static void start_first(struct store *store)
{
    store->work.data = store->queue;
    uv_queue_work(store->loop, &store->work, at_work, worked);
}

static void submit(struct store *store, struct store_job *job)
{
    bool idle = store->queue == NULL;

    job->store = store;
    DL_APPEND(store->queue, job);
    if (idle) {
        start_first(store);
    }
}

/* --------------------------------------------- what the jobs do, in the thread pool */

static enum store_status failed(struct store *store)
{
    fprintf(stderr, "store: %s\n", sqlite3_errmsg(store->db));
    return STORE_FAILED;
}

static bool prepare(struct store *store, enum statement which, const char *sql)
{
    return sqlite3_prepare_v2(store->db, sql, -1, &store->statements[which], NULL) ==
           SQLITE_OK;
}

static bool fill(struct store *store)
{
    sqlite3_stmt *statement = NULL;
    bool done = sqlite3_prepare_v2(store->db, FILL, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_bind_int(statement, 1, store->options.products) == SQLITE_OK &&
                sqlite3_bind_int64(statement, 2, store->options.stock) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_DONE;

    return sqlite3_finalize(statement) == SQLITE_OK && done;
}

/* Two connections that switch a new database to WAL at the same time would wait for each
 * other. SQLite instead refuses one of them at once, whatever its busy timeout is. So the
 * attempt is repeated here; the thread that sleeps is one of the thread pool. */
static bool make_schema(struct store *store)
{
    const uint64_t deadline = uv_hrtime() + BUSY_MS * UINT64_C(1000000);
    int status;

    while ((status = sqlite3_exec(store->db, SCHEMA, NULL, NULL, NULL)) == SQLITE_BUSY &&
           uv_hrtime() < deadline) {
        sqlite3_sleep(PAUSE_MS);
    }
    return status == SQLITE_OK;
}

static enum store_status run_open(struct store *store, struct store_job *job)
{
    (void)job;
    bool done =
        sqlite3_open(store->options.path, &store->db) == SQLITE_OK &&
        sqlite3_busy_timeout(store->db, BUSY_MS) == SQLITE_OK && make_schema(store) &&
        fill(store) && prepare(store, STATEMENT_LOOK, LOOK) &&
        prepare(store, STATEMENT_SELL, SELL) && prepare(store, STATEMENT_TALLY, TALLY);

    return done ? STORE_DONE : failed(store);
}

/* Updates one row, or none if the fence refuses the token. */
static enum store_status run_update(struct store *store, struct store_job *job,
                                    enum statement which)
{
    sqlite3_stmt *statement = store->statements[which];
    enum store_status status = STORE_FENCED;

    sqlite3_bind_int(statement, 1, job->product);
    sqlite3_bind_int64(statement, 2, job->token);
    if (which == STATEMENT_SELL) {
        sqlite3_bind_int64(statement, 3, job->left);
    }
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW) {
        job->left = sqlite3_column_int64(statement, 0);
        status = STORE_DONE;
        step = sqlite3_step(statement); /* commits */
    }
    if (step != SQLITE_DONE) {
        status = failed(store);
    }
    sqlite3_reset(statement);
    return status;
}

static enum store_status run_look(struct store *store, struct store_job *job)
{
    return run_update(store, job, STATEMENT_LOOK);
}

static enum store_status run_sell(struct store *store, struct store_job *job)
{
    return run_update(store, job, STATEMENT_SELL);
}

static enum store_status run_tally(struct store *store, struct store_job *job)
{
    sqlite3_stmt *statement = store->statements[STATEMENT_TALLY];
    int step;

    sqlite3_bind_int(statement, 1, store->options.products);
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        struct store_figures *figures =
            &job->figures[sqlite3_column_int(statement, 0) - 1];
        figures->stock = sqlite3_column_int64(statement, 1);
        figures->left = sqlite3_column_int64(statement, 2);
        figures->sold = sqlite3_column_int64(statement, 3);
    }
    enum store_status status = step == SQLITE_DONE ? STORE_DONE : failed(store);
    sqlite3_reset(statement);
    return status;
}

static enum store_status run_close(struct store *store, struct store_job *job)
{
    (void)job;
    for (int i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(store->statements[i]);
    }
    return sqlite3_close(store->db) == SQLITE_OK ? STORE_DONE : failed(store);
}

/* ---------------------------------------------------------------------- the jobs */

void store_open(struct store *store, struct store_job *job, store_cb cb)
{
    job->run = run_open;
    job->cb = cb;
    submit(store, job);
}

void store_look(struct store *store, struct store_job *job, int product, int64_t token,
                store_cb cb)
{
    job->run = run_look;
    job->cb = cb;
    job->product = product;
    job->token = token;
    submit(store, job);
}

void store_sell(struct store *store, struct store_job *job, int product, int64_t token,
                int64_t left, store_cb cb)
{
    job->run = run_sell;
    job->cb = cb;
    job->product = product;
    job->token = token;
    job->left = left;
    submit(store, job);
}

void store_tally(struct store *store, struct store_job *job,
                 struct store_figures *figures, store_cb cb)
{
    job->run = run_tally;
    job->cb = cb;
    job->figures = figures;
    submit(store, job);
}

void store_close(struct store *store, struct store_job *job, store_cb cb)
{
    job->run = run_close;
    job->cb = cb;
    submit(store, job);
}
