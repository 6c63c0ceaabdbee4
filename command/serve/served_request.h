/* SPDX-License-Identifier: Apache-2.0 */
/* One line that a program has sent to `uvzk serve`: a JSON object with the fields of one
 * request (docs/guide/serve.md). Pure: no loop, no library call.
 *
 * libjansson reads the JSON: it checks UTF-8, refuses a NUL in a string, a field that
 * occurs twice, and what follows the object, and limits how deep values may be nested.
 * This file checks the fields. An unknown field is refused, so a misspelt timeout does
 * not cause an endless wait. */
#ifndef SERVED_REQUEST_H
#define SERVED_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Numbers up to this one are exact in every language's JSON. */
#define SERVED_NUMBER_MAX ((int64_t)1 << 53)
/* A day: as long as the command line allows. */
#define SERVED_TIMEOUT_MAX_MS ((int64_t)24 * 60 * 60 * 1000)
#define SERVED_WAIT_FOREVER (-1)
#define SERVED_WRONG_SIZE 200
#define SERVED_NOT_GIVEN INT64_MIN
/* So many objects a list has at most: the limit of uvzk.h for a multi lock. */
#define SERVED_LIST_MAX 100

enum served_operation {
    SERVED_ACQUIRE,
    SERVED_ELECT, /* an acquire of SERVED_LATCH, or of SERVED_MUTEX */
    SERVED_CANCEL,
    SERVED_RELEASE,
    SERVED_VALID,
    SERVED_VERIFY,
    SERVED_METRICS,
    SERVED_SHARED_VALUE,
    SERVED_SHARED_COUNT,
    SERVED_PERSISTENT_NODE,
    SERVED_GROUP_MEMBER,
    SERVED_GETTING, /* of an object, as SERVED_SETTING and SERVED_CLOSING */
    SERVED_SETTING,
    SERVED_CLOSING,
    SERVED_BARRIER_SET,
    SERVED_BARRIER_REMOVE,
    SERVED_BARRIER_WAIT,
    SERVED_ENTER, /* of a double barrier, as SERVED_LEAVE */
    SERVED_LEAVE,
    SERVED_ATOMIC_GET,
    SERVED_ATOMIC_ADD,
    SERVED_ATOMIC_COMPARE_AND_SET,
    SERVED_ATOMIC_SET,
    SERVED_ATOMIC_FORCE_SET,
    SERVED_ATOMIC_CREATE,
    SERVED_PARTICIPANTS,
    SERVED_WATCH,
    SERVED_UNWATCH,
    SERVED_LOCKS,
    SERVED_REVOKE,
    SERVED_ACQUIRE_ALL,
    SERVED_WRITING,
    SERVED_READING,
    SERVED_STATUS,
    SERVED_LEADER,
    SERVED_HELLO,
    SERVED_CONNECTED,
    SERVED_OPERATIONS /* how many there are */
};

enum served_kind {
    SERVED_MUTEX,
    SERVED_READ,
    SERVED_WRITE,
    SERVED_SEMAPHORE,
    SERVED_LATCH /* an election as Curator's LeaderLatch; of a LeaderSelector it is a mutex */
};

/* Of a write; in the order of uvzk_write_kind_t. */
enum served_write_kind { SERVED_CREATE, SERVED_SET, SERVED_DELETE, SERVED_CHECK };

struct served_request {
    enum served_operation operation;
    int64_t id; /* chosen by the program, at least 0; -1: none could be read */
    enum served_kind kind;
    int64_t leases, max_leases; /* 0 unless kind is SERVED_SEMAPHORE */
    int64_t timeout_ms;         /* 0: try once; SERVED_WAIT_FOREVER */
    int64_t max_hold_ms;        /* 0: not given */
    int64_t warning_ms;         /* how long before max_hold_ms has passed; 0: not given */
    int64_t interval_ms;        /* of a watch */
    int64_t limit;              /* how many locks or participants are listed at most */
    int64_t number;             /* "hold", "watch" and so on: what the request names */
    int64_t value;              /* or the delta, of an atomic long */
    int64_t expected;           /* of SERVED_ATOMIC_COMPARE_AND_SET */
    int64_t count;              /* of a shared count; SERVED_NOT_GIVEN */
    int64_t mzxid;           /* of SERVED_SETTING, as `version`; SERVED_NOT_GIVEN, both */
    int64_t member_quantity; /* of SERVED_ENTER */
    int64_t protocol_version; /* of SERVED_HELLO: the greatest that the program knows */
    bool persistent;          /* of SERVED_PERSISTENT_NODE: not ephemeral */
    bool revocable, queued;   /* whether these events are wanted */
    bool in_turn;             /* of SERVED_ACQUIRE_ALL */
    enum served_write_kind write_kind;
    int64_t version; /* of a write; -1: any. Of SERVED_SETTING; SERVED_NOT_GIVEN */
    /* Texts in `json`; NULL: not given. */
    const char *path, *owner, *data, *base64, *node, *member;
    const json_t *members, *writes; /* lists in `json`; NULL: not given */
    json_t *json;                   /* owned; NULL: the line is not JSON */
    char wrong[SERVED_WRONG_SIZE];
};

/* Reads a line. Returns NULL, or a sentence of the request that says what is wrong with
 * the line, in UTF-8: "`timeout`: no such field; did you mean `timeout_ms`?". In both
 * cases served_request_free must be called. */
const char *served_request_read(struct served_request *, const char *line, size_t length);
void served_request_free(struct served_request *);

/* Reads an object of the list `members`, as an acquire of one lock. Returns as
 * served_request_read does, and NULL for each of a request that has been accepted. The
 * element's texts belong to the request; it must not be freed. */
const char *served_request_read_member(const struct served_request *, size_t which,
                                       struct served_request *member);
/* ... of the list `writes`: write_kind, path, version, and data or base64. */
const char *served_request_read_write(const struct served_request *, size_t which,
                                      struct served_request *write);

/* Return names in the protocol. */
const char *served_operation_name(enum served_operation);
const char *served_kind_name(enum served_kind);

#endif
