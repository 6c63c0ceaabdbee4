/* One request on its way through the C client: made when an rpc is submitted,
 * it takes the answer on the client's thread, and outlives the rpc when that is
 * replied before the client has answered (connection lost, closing). */
#ifndef UVZK_REQUEST_H
#define UVZK_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "engine/port.h"
#include "hop.h"

struct uvzk__handle;
struct uvzk__registration;

/* Room for the server's ten digits, its sign and the end. */
#define UVZK__SUFFIX_SIZE 12

/* At most this many are with the C client: above 65,536 its wake-up pipe
 * overflows and it drops the connection, above 1,000 the server stops reading. */
#define UVZK__WINDOW 1000

struct uvzk__request {
    struct uvzk__hop_entry landing;
    struct uvzk__link link; /* handle->waiting or handle->sent */
    struct uvzk__handle *handle;
    struct uvzk__rpc *rpc;               /* NULL: replied already, or a watch's removal */
    struct uvzk__registration *watching; /* the watch it arms or removes */
    bool removal;
    bool probe; /* our own, ahead of a multi */
    bool sent;
    unsigned connection; /* handle->connection by which it was sent */
    uint8_t kind;        /* enum uvzk__rpc_kind */

    /* Written by the completion, before it hops. */
    int code; /* ZooKeeper's */
    struct uvzk__reply reply;
    void *memory;             /* what the reply points to */
    zoo_op_result_t *results; /* MULTI: these, what they and made point to are */
    const char **made;        /* in memory */
    size_t op_count;
    size_t name_size;
    char name[]; /* CREATE: name_size bytes, so that it cannot fail afterwards */
};

/* Puts the rpc behind those that wait; its watch counts as being armed. False:
 * out of memory, nothing has happened. */
bool uvzk__request_add(struct uvzk__handle *handle, struct uvzk__rpc *rpc);

/* Likewise a request by which the server forgets a watch. */
bool uvzk__request_add_removal(struct uvzk__registration *watching);

/* The rpc will be replied without it: takes the request off if it still waits,
 * else leaves it to its completion. Whether it had been sent. */
bool uvzk__request_abandon(struct uvzk__request *request);

void uvzk__request_free(struct uvzk__request *request);

/* Gives waiting requests to the C client, as far as the window allows. With credentials
 * no multi is given to it before something sent on this connection has been answered;
 * if nothing has been sent, a request of our own is. */
void uvzk__request_pump(struct uvzk__handle *handle);

/* In rpc.c: hands it to the C client. What zoo_a* says. */
int uvzk__request_send(struct uvzk__request *request);

/* In answer.c: the completions, which copy and hop. `data` is the request. */
void uvzk__answer_void(int rc, const void *data);
void uvzk__answer_multi(int rc, const void *data);
void uvzk__answer_stat(int rc, const struct Stat *stat, const void *data);
void uvzk__answer_data(int rc, const char *value, int length, const struct Stat *stat,
                       const void *data);
void uvzk__answer_names(int rc, const struct String_vector *names, const void *data);
void uvzk__answer_path(int rc, const char *path, const void *data);
void uvzk__answer_created(int rc, const char *path, const struct Stat *stat,
                          const void *data);

/* Where an answered request arrives. */
void uvzk__request_arrive(struct uvzk__hop_entry *entry);

#endif
