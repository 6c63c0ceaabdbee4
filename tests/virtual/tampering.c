/* SPDX-License-Identifier: Apache-2.0 */
/* Which reply is tampered with, and how what is left of it arrives (tampering.h). The other
 * file, tampered_reply.c, has the replies that are changed within. */
#include "tampering.h"

#include <stdlib.h>
#include <string.h>

#include "native/opcode.h"
#include "native/stream.h"
#include "tampered_reply.h"
#include "virtual_loop.h"

#define LENGTH_BYTES 4U
#define SLOW_MS 1000U
#define TRIES 8 /* of kinds, until one is possible */

/* A request that has no reply yet. */
struct asked {
    int32_t xid, opcode;
};

static uint64_t count;

/* What tampering_cut_next has asked for; opcode 0: nothing. */
static struct {
    int32_t opcode;
    size_t length;
    bool done;
} wanted;

bool tampering_cut_next(int32_t opcode, size_t length)
{
    bool done = wanted.done;

    wanted.opcode = opcode;
    wanted.length = length;
    wanted.done = false;
    return done;
}

/* What tampering_exceed has asked for; opcode 0: nothing. */
static struct {
    int32_t opcode;
    unsigned times;
} exceeding;

unsigned tampering_exceed(int32_t opcode)
{
    unsigned times = exceeding.times;

    exceeding.opcode = opcode;
    exceeding.times = 0;
    return times;
}

uint64_t tampering_count(void)
{
    return count;
}

static uint64_t random_below(uint64_t n)
{
    return sim_random(virtual_time_sim(), n);
}

/* ------------------------------------------------------------------------- the requests */

void tampering_asked(struct tampering *tampering, struct uvzk__jute_bytes frame)
{
    struct uvzk__jute_reader reader;

    uvzk__jute_reader_init(&reader, frame);
    if (!tampering->connects) {
        tampering->connects = true;
        (void)uvzk__jute_get_int(&reader);  /* the protocol's version */
        (void)uvzk__jute_get_long(&reader); /* the last zxid */
        (void)uvzk__jute_get_int(&reader);  /* the timeout */
        tampering->resumes = uvzk__jute_get_long(&reader) != 0;
        return;
    }
    struct asked asked = {.xid = uvzk__jute_get_int(&reader)};
    asked.opcode = uvzk__jute_get_int(&reader);
    if (asked.xid <= 0) {
        return;
    }
    if (tampering->asked_count == tampering->asked_room) {
        tampering->asked_room = 2 * tampering->asked_room + 16;
        tampering->asked =
            realloc(tampering->asked, tampering->asked_room * sizeof(asked));
    }
    tampering->asked[tampering->asked_count++] = asked;
}

/* The opcode of the request with this xid, which is answered; 0: there is none. */
static int32_t opcode_of(struct tampering *tampering, int32_t xid)
{
    for (size_t i = 0; i < tampering->asked_count; i++) {
        if (tampering->asked[i].xid == xid) {
            int32_t opcode = tampering->asked[i].opcode;
            tampering->asked_count -= i + 1;
            memmove(tampering->asked, tampering->asked + i + 1,
                    tampering->asked_count * sizeof(struct asked));
            return opcode;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ how bytes arrive */

static void drip(struct sim *sim, struct sim__event *event)
{
    struct tampering *tampering = UVZK__CONTAINER_OF(event, struct tampering, drip);

    if (tampering->slow_at < tampering->slow_length) {
        tampering->user->pass(tampering->context, &tampering->slow[tampering->slow_at++],
                              1);
        sim__event_set(sim, event, sim->now + SLOW_MS);
    }
}

static void pass(struct tampering *tampering, const void *bytes, size_t length)
{
    if (tampering->slow == NULL) {
        tampering->user->pass(tampering->context, bytes, length);
        return;
    }
    tampering->slow =
        realloc(tampering->slow, tampering->slow_length + length + LENGTH_BYTES);
    memcpy(tampering->slow + tampering->slow_length, bytes, length);
    tampering->slow_length += length;
    if (tampering->drip.place == 0) {
        sim__event_set(virtual_time_sim(), &tampering->drip, virtual_time_sim()->now);
    }
}

/* With this length in front of it. */
static void pass_frame(struct tampering *tampering, const void *bytes, size_t length,
                       uint32_t said)
{
    unsigned char *frame = malloc(length + LENGTH_BYTES);

    for (size_t i = 0; i < LENGTH_BYTES; i++) {
        frame[i] = (unsigned char)(said >> (24 - 8 * i));
    }
    memcpy(frame + LENGTH_BYTES, bytes, length);
    pass(tampering, frame, length + LENGTH_BYTES);
    free(frame);
}

static void pass_on(struct tampering *tampering, struct uvzk__jute_bytes frame)
{
    pass_frame(tampering, frame.at, frame.length, (uint32_t)frame.length);
}

/* ------------------------------------------------------- whole frames, whatever they are */

static bool cut(struct tampering *tampering, const struct tampered_reply *reply)
{
    struct uvzk__jute_bytes frame = reply->frame;

    /* The answer to a connect request may lack its last byte. */
    size_t length = random_below(frame.length - (reply->is_greeting ? 1 : 0));
    pass_frame(tampering, frame.at, length, (uint32_t)length);
    return true;
}

/* Returns whether the frame has been passed on, cut. */
static bool cut_as_wanted(struct tampering *tampering, const struct tampered_reply *reply)
{
    bool is_wanted = wanted.opcode != 0 && reply->opcode == wanted.opcode;

    if (!is_wanted || wanted.length >= reply->frame.length) {
        return false;
    }
    wanted.opcode = 0;
    wanted.done = true;
    pass_frame(tampering, reply->frame.at, wanted.length, (uint32_t)wanted.length);
    return true;
}

/* Returns whether the frame has been passed on, with a length that it does not have. */
static bool exceeds(struct tampering *tampering, const struct tampered_reply *reply)
{
    if (exceeding.opcode == 0 || reply->opcode != exceeding.opcode) {
        return false;
    }
    exceeding.times++;
    pass_frame(tampering, reply->frame.at, reply->frame.length, UVZK__REPLY_MAX + 1);
    return true;
}

static bool cut_and_hang_up(struct tampering *tampering,
                            const struct tampered_reply *reply)
{
    pass_frame(tampering, reply->frame.at, random_below(reply->frame.length),
               (uint32_t)reply->frame.length);
    tampering->user->hang_up(tampering->context);
    return true;
}

static bool wrong_length(struct tampering *tampering, const struct tampered_reply *reply)
{
    static const uint32_t lengths[] = {UINT32_MAX, 0x80000000U, 0x7fffffffU, 0xfffffffeU};

    pass_frame(tampering, reply->frame.at, reply->frame.length,
               lengths[random_below(sizeof(lengths) / sizeof(lengths[0]))]);
    return true;
}

static bool twice(struct tampering *tampering, const struct tampered_reply *reply)
{
    pass_on(tampering, reply->frame);
    if (reply->is_answer) {
        pass_on(tampering, reply->frame);
    }
    return reply->is_answer;
}

static bool overtaken(struct tampering *tampering, const struct tampered_reply *reply)
{
    if (!reply->is_answer || tampering->held != NULL || tampering->slow != NULL) {
        return false;
    }
    tampering->held_length = reply->frame.length;
    tampering->held = malloc(reply->frame.length);
    memcpy(tampering->held, reply->frame.at, reply->frame.length);
    return true;
}

/* A reply that was held: an event or a ping does not overtake it. */
static void pass_held(struct tampering *tampering)
{
    unsigned char *held = tampering->held;

    tampering->held = NULL;
    if (held != NULL) {
        pass_on(tampering, uvzk__jute_bytes(held, tampering->held_length));
        free(held);
    }
}

static bool falls_silent(struct tampering *tampering, const struct tampered_reply *reply)
{
    tampering->mute = !reply->is_greeting;
    return tampering->mute;
}

static bool a_byte_a_second(struct tampering *tampering,
                            const struct tampered_reply *reply)
{
    if (tampering->slow != NULL) {
        return false;
    }
    tampering->slow = malloc(1);
    tampering->slow_length = tampering->slow_at = 0;
    pass_on(tampering, reply->frame);
    return true;
}

/* -------------------------------------------------------------------------- the choice */

static bool changed_within(struct tampering *tampering,
                           const struct tampered_reply *reply)
{
    struct uvzk__jute_writer out;
    bool changed;

    uvzk__jute_writer_init(&out);
    changed = tampered_reply_write(reply, virtual_time_sim(), &out);
    if (changed) {
        pass(tampering, out.bytes, out.length);
    }
    uvzk__jute_writer_end(&out);
    return changed;
}

static const struct {
    const char *name;
    bool (*tamper)(struct tampering *, const struct tampered_reply *);
} kinds[] = {{"cut", cut},
             {"cut, and the connection ends", cut_and_hang_up},
             {"given another length", wrong_length},
             {"sent twice", twice},
             {"overtaken", overtaken},
             {"the last one", falls_silent},
             {"sent byte by byte", a_byte_a_second},
             {"changed", changed_within},
             {"changed", changed_within},
             {"changed", changed_within},
             {"changed", changed_within},
             {"changed", changed_within}};

/* Returns false if nothing could be done. */
static bool tamper(struct tampering *tampering, const struct tampered_reply *reply)
{
    struct sim *sim = virtual_time_sim();

    for (int i = 0; i < TRIES; i++) {
        size_t kind = random_below(sizeof(kinds) / sizeof(kinds[0]));
        if (kinds[kind].tamper(tampering, reply)) {
            count++;
            sim__trace(sim, tampering->name, "has a reply that is %s: xid %d, opcode %d",
                       kinds[kind].name, reply->xid, reply->opcode);
            return true;
        }
    }
    return false;
}

static struct tampered_reply reply_of(struct tampering *tampering,
                                      struct uvzk__jute_bytes frame)
{
    struct tampered_reply reply = {.frame = frame,
                                   .is_greeting = !tampering->greeted,
                                   .resumes = tampering->resumes};
    struct uvzk__jute_reader reader;

    if (!reply.is_greeting) {
        uvzk__jute_reader_init(&reader, frame);
        reply.xid = uvzk__jute_get_int(&reader);
        reply.is_answer = reply.xid > 0;
        reply.opcode = opcode_of(tampering, reply.xid);
    }
    tampering->greeted = true;
    return reply;
}

static void frame_is_sent(struct tampering *tampering, struct uvzk__jute_bytes frame)
{
    struct sim *sim = virtual_time_sim();
    struct tampered_reply reply = reply_of(tampering, frame);

    if ((tampering->mute && reply.xid != UVZK__XID_PING) ||
        cut_as_wanted(tampering, &reply) || exceeds(tampering, &reply)) {
        return;
    }
    bool overtakes = tampering->held != NULL && reply.is_answer;
    if (!overtakes) {
        pass_held(tampering);
    }
    bool tampers = !overtakes && reply.xid != UVZK__XID_EVENT &&
                   sim__random_hit(sim, sim->faults.tamper);
    if (!tampers || !tamper(tampering, &reply)) {
        pass_on(tampering, frame);
    }
    if (overtakes) {
        pass_held(tampering);
    }
}

void tampering_sent(struct tampering *tampering, const void *bytes, size_t length)
{
    struct uvzk__jute_bytes left = uvzk__jute_bytes(bytes, length), frame;

    while (uvzk__jute_frame(left, SIZE_MAX, &frame) == 0) {
        frame_is_sent(tampering, frame);
        left.at += frame.length + LENGTH_BYTES;
        left.length -= frame.length + LENGTH_BYTES;
    }
}

/* ------------------------------------------------------------------------ begin and end */

void tampering_begin(struct tampering *tampering, const struct tampering_user *user,
                     void *context, const char *name)
{
    tampering->user = user;
    tampering->context = context;
    tampering->name = name;
    tampering->drip.fire = drip;
}

void tampering_end(struct tampering *tampering)
{
    sim__event_clear(virtual_time_sim(), &tampering->drip);
    free(tampering->asked);
    free(tampering->held);
    free(tampering->slow);
}
