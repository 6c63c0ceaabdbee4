/* SPDX-License-Identifier: Apache-2.0 */
/* One change that a barrier makes to the tree: it creates a znode, with missing ancestors
 * if the owner wants them (node_create.h), or deletes one znode or two in one
 * transaction. The request is repeated until a server has answered it, whatever happens
 * to the connection:
 *
 *   IDLE --> WAITING --> SENT --> IDLE   answered: done_cb gets the status
 *              ^ |         |----> WAITING  no answer; or an ancestor has to be created
 *              | `-> IDLE  `----> IDLE     stopped by its owner; done_cb runs, too
 *              `-- until requests may be sent
 *
 * Repeating is safe because each of these changes leads to the same tree when it is
 * carried out twice. A repeated change gets the answer to its last request:
 * UVZK_ENODEEXISTS for a create that had been carried out, UVZK_ENONODE for such a
 * delete. */
#ifndef UVZK_ZNODE_WRITE_H
#define UVZK_ZNODE_WRITE_H

#include "base/machine.h"
#include "engine/node_create.h"
#include "engine/session.h"

enum uvzk__znode_write_state {
    UVZK__ZNODE_WRITE_IDLE,    /* next: WAITING */
    UVZK__ZNODE_WRITE_WAITING, /* next: SENT IDLE */
    UVZK__ZNODE_WRITE_SENT     /* next: WAITING IDLE */
};

extern const struct uvzk__machine uvzk__znode_write_machine;

/* Part of the struct that needs it, which must not be freed before the state is IDLE. */
struct uvzk__znode_write {
    struct uvzk__session *session;
    struct uvzk__link link; /* in barriers->writes, except when IDLE */
    struct uvzk__rpc rpc;
    struct uvzk__op ops[2]; /* of a delete of two znodes */
    void (*done_cb)(struct uvzk__znode_write *, int status);
    /* Borrowed from the owner. create: NULL: it deletes. second: the other znode to delete,
     * or NULL. */
    struct uvzk__node_create *create;
    const char *path, *second;
    size_t refused; /* of two deletes that were not done: the index of the failed one */
    uint8_t state;  /* enum uvzk__znode_write_state */
    bool attempted; /* a request without an answer may have been carried out */
    bool stopped;   /* the next reply is the last one, whatever its status is */
};

void uvzk__znode_write_init(struct uvzk__znode_write *, struct uvzk__session *,
                            void (*done_cb)(struct uvzk__znode_write *, int status));

/* Begin a change. The write must be IDLE. A new znode gets the client's default data. */
void uvzk__znode_write_create(struct uvzk__znode_write *, struct uvzk__node_create *);
void uvzk__znode_write_delete(struct uvzk__znode_write *, const char *path,
                              const char *second);

/* The owner no longer wants the change. Returns true if the write is IDLE now. Otherwise
 * a request is under way, and done_cb runs at its reply. */
bool uvzk__znode_write_stop(struct uvzk__znode_write *);

/* Returns true if the znode itself may have been created or deleted by a request that has
 * no answer. */
bool uvzk__znode_write_may_be_done(const struct uvzk__znode_write *);

/* Sends the request if it waits and may be sent. */
void uvzk__znode_write_pump(struct uvzk__znode_write *);

#endif
