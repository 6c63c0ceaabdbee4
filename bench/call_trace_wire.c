/* SPDX-License-Identifier: Apache-2.0 */
/* CALL_TRACE=wire: how long each step takes between a release and the next grant over the
 * native transport, which runs on the loop's thread alone. So a moment is a request that is
 * written, a frame that is read, or a call between the program and the library.
 *
 * As in call_trace_handover.c, moments are only recorded while the program runs, and the
 * ways are found when it ends. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_trace.h"
#include "latencies.h"

enum { MOST = 2000000, LATER = 400, LENGTH = 4, EVENTS = -1 };
enum kind { RELEASE, DELETE_WRITTEN, REQUEST_WRITTEN, EVENT_READ, REPLY_READ, GRANT };

/* number: a znode's sequence number, or of REQUEST_WRITTEN and REPLY_READ the xid. */
struct moment {
    uint64_t at;
    int64_t number;
    int fd;
    enum kind kind;
};

static struct moment *moments;
static size_t count;

void wire_trace_begin(void)
{
    moments = calloc(MOST, sizeof(*moments));
    if (moments == NULL) {
        fputs("call_trace: out of memory\n", stderr);
    }
}

static void add_moment(enum kind kind, int fd, int64_t number)
{
    if (moments != NULL && count < MOST) {
        moments[count++] = (struct moment){call_trace_now(), number, fd, kind};
    }
}

static int32_t number_at(const unsigned char *bytes, size_t at)
{
    uint32_t number;
    memcpy(&number, bytes + at, sizeof(number));
    return (int32_t)ntohl(number);
}

/* A moment for each lock znode whose name these bytes contain. */
static void add_moments(enum kind kind, int fd, const void *bytes, size_t length)
{
    const char *at = bytes;
    const char *end = at + length;
    int64_t number;

    while ((number = handover_trace_next_znode(&at, end)) >= 0) {
        add_moment(kind, fd, number);
    }
}

void wire_trace_released(const char *path)
{
    add_moments(RELEASE, -1, path, strlen(path));
}

void wire_trace_granted(void)
{
    add_moment(GRANT, -1, -1);
}

/* The frames that begin and end in these bytes. The requests and replies of a lock are so
 * short that a frame is rarely cut. */
static void each_frame(int fd, const unsigned char *bytes, size_t length,
                       void (*see)(int fd, const unsigned char *frame, size_t length))
{
    size_t at = 0;

    while (length - at >= LENGTH + 8) {
        int32_t size = number_at(bytes, at);
        at += LENGTH;
        if (size < 8 || (size_t)size > length - at) {
            return;
        }
        see(fd, bytes + at, (size_t)size);
        at += (size_t)size;
    }
}

static void see_request(int fd, const unsigned char *frame, size_t length)
{
    int32_t type = number_at(frame, 4);

    add_moment(REQUEST_WRITTEN, fd, number_at(frame, 0));
    if (type == CALL_TRACE_DELETE || type == CALL_TRACE_MULTI) {
        add_moments(DELETE_WRITTEN, fd, frame, length);
    }
}

static void see_reply(int fd, const unsigned char *frame, size_t length)
{
    int32_t xid = number_at(frame, 0);

    if (xid == EVENTS) {
        add_moments(EVENT_READ, fd, frame, length);
    } else {
        add_moment(REPLY_READ, fd, xid);
    }
}

void wire_trace_sent(int fd, const void *bytes, size_t length)
{
    each_frame(fd, bytes, length, see_request);
}

void wire_trace_received(int fd, const void *bytes, size_t length)
{
    each_frame(fd, bytes, length, see_reply);
}

/* --------------------------------------------------------- when the program has ended */

enum { ANY = -1 };

static const struct moment *next(const struct moment *from, enum kind kind, int fd,
                                 int64_t number)
{
    for (int i = 0; from != NULL && i < LATER && from < moments + count; i++, from++) {
        if (from->kind == kind && (fd == ANY || from->fd == fd) &&
            (number == ANY || from->number == number)) {
            return from;
        }
    }
    return NULL;
}

/* The last reply that this session has read before the grant, and after the event. NULL:
 * none. */
static const struct moment *last_reply(const struct moment *event,
                                       const struct moment *granted)
{
    for (const struct moment *at = granted - 1; at > event; at--) {
        if (at->kind == REPLY_READ && at->fd == event->fd) {
            return at;
        }
    }
    return NULL;
}

enum step {
    WHOLE,
    TO_WRITTEN,
    TO_DELETED, /* beside the next ones: what the holder is told */
    TO_FIRST,   /* the first session that is told */
    TO_EVENT,   /* the next holder's is */
    TO_ASKED,
    TO_ANSWERED,
    TO_GRANT,
    FROM_EVENT, /* instead of the three before, if nothing is asked */
    STEPS
};
static const char *const names[STEPS] = {
    "whole",          "release_to_written", "written_to_deleted", "written_to_first",
    "first_to_event", "event_to_asked",     "asked_to_answered",  "answered_to_grant",
    "event_to_grant"};
static struct latencies steps[STEPS];
static size_t asked_ways, silent_ways, others;

static void add(enum step step, const struct moment *from, const struct moment *to)
{
    latencies_add(&steps[step], to->at - from->at);
}

/* Where the delete of a released lock is written; NULL: nowhere soon. */
static const struct moment *delete_of(const struct moment *released)
{
    return released == NULL ? NULL
                            : next(released, DELETE_WRITTEN, ANY, released->number);
}

/* Follows the way of a release; false: another one, for example to the same session. The
 * next holder's session is the one that deletes its znode at the next release. */
static bool follow(const struct moment *released)
{
    const struct moment *written = delete_of(released);
    const struct moment *granted = next(released, GRANT, ANY, ANY);
    const struct moment *next_written = delete_of(next(granted, RELEASE, ANY, ANY));

    if (written == NULL || next_written == NULL || granted < written ||
        next_written->fd == written->fd) {
        return false;
    }
    const struct moment *request = written - 1; /* see_request */
    const struct moment *deleted =
        next(written, REPLY_READ, written->fd, request->number);
    const struct moment *event =
        next(written, EVENT_READ, next_written->fd, released->number);
    if (deleted == NULL || event == NULL || event > granted) {
        return false;
    }
    const struct moment *answered = last_reply(event, granted);
    const struct moment *asked =
        answered == NULL ? NULL
                         : next(event, REQUEST_WRITTEN, event->fd, answered->number);
    add(WHOLE, released, granted);
    add(TO_WRITTEN, released, written);
    add(TO_DELETED, written, deleted);
    const struct moment *first = next(written, EVENT_READ, ANY, released->number);
    add(TO_FIRST, written, first);
    add(TO_EVENT, first, event);
    if (asked == NULL || asked > answered) {
        silent_ways++;
        add(FROM_EVENT, event, granted);
    } else {
        asked_ways++;
        add(TO_ASKED, event, asked);
        add(TO_ANSWERED, asked, answered);
        add(TO_GRANT, answered, granted);
    }
    return true;
}

void wire_trace_print(void)
{
    for (int i = 0; i < STEPS; i++) {
        if (moments == NULL || latencies_init(&steps[i], MOST / 8) != 0) {
            return;
        }
    }
    for (const struct moment *at = moments; at < moments + count; at++) {
        others += at->kind == RELEASE && !follow(at);
    }
    fprintf(stderr, "{\"asked\":%zu,\"silent\":%zu,\"others\":%zu", asked_ways,
            silent_ways, others);
    for (int i = 0; i < STEPS; i++) {
        fprintf(stderr, ",\"%s\":{\"p50_us\":%.1f,\"p99_us\":%.1f}", names[i],
                latencies_percentile_us(&steps[i], 50),
                latencies_percentile_us(&steps[i], 99));
    }
    fputs("}\n", stderr);
}
