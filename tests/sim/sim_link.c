/* SPDX-License-Identifier: Apache-2.0 */
/* A connection between a client and a server, and the messages on it. sim_io.c makes the
 * link for each attempt to connect. A link has two queues, which are first in, first out,
 * whatever the latency of each message.
 *
 *            client                                   server
 *     send ─► up   [request][request]... ──arrival──► sim__server_receive
 *     read ◄──arrival── ...[answer][answer]   down ◄─ send
 *
 * A queue has one event: the arrival of its first message. While the link is cut, nothing
 * arrives. Messages that were sent wait, because TCP would send them again. Each end of
 * the link is closed by itself, and the link is freed when both are closed. */
#include "sim_internal.h"

#include <stdlib.h>
#include <string.h>

struct sim__answer *sim__answer_new(enum sim__answer_kind kind)
{
    struct sim__answer *answer = sim__alloc(sizeof(*answer));
    uvzk__list_init(&answer->packet.link);
    answer->kind = kind;
    return answer;
}

void sim__answer_free(struct sim__answer *answer)
{
    if (answer->reply != NULL) {
        sim__free(answer->data, answer->reply->data_length);
        sim__free(answer->names, answer->name_count * sizeof(*answer->names));
        sim__free(answer->reply, sizeof(*answer->reply));
    }
    if (answer->name != NULL) {
        sim__free(answer->name, strlen(answer->name));
    }
    free(answer->text);
    free(answer->full_stats);
    sim__free(answer, sizeof(*answer));
}

size_t sim__queue_length(const struct sim__queue *queue)
{
    size_t length = 0;
    for (const struct uvzk__link *at = queue->packets.next; at != &queue->packets;
         at = at->next) {
        length++;
    }
    return length;
}

static struct sim__packet *first_packet(struct sim__queue *queue)
{
    return UVZK__CONTAINER_OF(queue->packets.next, struct sim__packet, link);
}

/* Appends a message with a random latency. */
static void push(struct sim *sim, struct sim__link *link, struct sim__queue *queue,
                 struct sim__packet *packet)
{
    uint64_t at = sim->now + queue->extra_ms;
    at += sim__random_between(sim, link->latency_min_ms, link->latency_max_ms);
    if (sim__random_hit(sim, sim->faults.delay)) {
        at += 1 + sim_random(sim, sim->faults.delay_max_ms);
    }
    queue->extra_ms = 0;
    packet->at = at; /* or later, when the messages before it have arrived */
    uvzk__list_append(&queue->packets, &packet->link);
    if (queue->event.place == 0) {
        sim__event_set(sim, &queue->event, packet->at);
    }
}

/* Takes the first message off the queue, and sets the event for the next one. Returns
 * NULL if nothing arrives now because the link is cut. */
static struct sim__packet *arrival(struct sim *sim, struct sim__link *link,
                                   struct sim__queue *queue)
{
    if (sim->now < link->cut_until) {
        sim__event_set(sim, &queue->event, link->cut_until);
        return NULL;
    }
    struct sim__packet *packet = first_packet(queue);
    uvzk__list_remove(&packet->link);
    if (!uvzk__list_empty(&queue->packets)) {
        sim__event_set(sim, &queue->event, first_packet(queue)->at);
    }
    return packet;
}

void sim__link_slow_up(struct sim *sim, struct sim__link *link, uint64_t ms)
{
    if (link->up.event.place != 0) {
        sim__event_set(sim, &link->up.event, link->up.event.at + ms);
    }
}

static void up_arrives(struct sim *sim, struct sim__event *event)
{
    struct sim__link *link = UVZK__CONTAINER_OF(event, struct sim__link, up.event);
    struct sim__packet *packet = arrival(sim, link, &link->up);
    if (packet == NULL) {
        return;
    }
    sim__server_receive(sim, link,
                        UVZK__CONTAINER_OF(packet, struct sim__request, packet));
    if (link->client == NULL && uvzk__list_empty(&link->up.packets)) {
        sim__link_close_server(sim, link); /* the last request that still arrived */
    }
}

static void down_arrives(struct sim *sim, struct sim__event *event)
{
    struct sim__link *link = UVZK__CONTAINER_OF(event, struct sim__link, down.event);
    struct sim__client *client = link->client; /* not NULL, or the queue would be empty */
    if (sim->now < client->paused_until) {
        sim__event_set(sim, event, client->paused_until);
        return;
    }
    struct sim__packet *packet = arrival(sim, link, &link->down);
    if (packet != NULL) {
        sim__io_read(client, UVZK__CONTAINER_OF(packet, struct sim__answer, packet));
    }
}

static void follower_ends(struct sim *sim, struct sim__event *event)
{
    struct sim__link *link = UVZK__CONTAINER_OF(event, struct sim__link, follower_end);
    sim__trace(sim, link->who, "its follower hangs up");
    sim__server_hang_up(sim, link);
}

static void queue_init(struct sim__queue *queue,
                       void (*fire)(struct sim *, struct sim__event *))
{
    uvzk__list_init(&queue->packets);
    queue->event.fire = fire;
}

struct sim__link *sim__link_new(struct sim *sim, struct sim__client *client,
                                struct sim__member *member)
{
    struct sim__link *link = sim__alloc(sizeof(*link));
    queue_init(&link->up, up_arrives);
    queue_init(&link->down, down_arrives);
    link->member = member;
    uvzk__list_init(&link->held);
    uvzk__list_init(&link->watches);
    uvzk__list_init(&link->all);
    uvzk__list_append(&sim->links, &link->all);
    link->follower_end.fire = follower_ends;
    link->client = client;
    link->server_open = true;
    link->latency_min_ms = client->latency_min_ms;
    link->latency_max_ms = client->latency_max_ms;
    link->who = sim__copy(client->name, strlen(client->name) + 1);
    return link;
}

void sim__link_send_up(struct sim *sim, struct sim__link *link,
                       struct sim__request *request)
{
    if (!link->server_open) { /* the server has closed its end; END is on its way */
        free(request);
        return;
    }
    push(sim, link, &link->up, &request->packet);
}

void sim__link_send_down(struct sim *sim, struct sim__link *link,
                         struct sim__answer *answer)
{
    if (link->client == NULL || link->told_end) {
        sim__answer_free(answer);
        return;
    }
    push(sim, link, &link->down, &answer->packet);
}

/* Drops the last requests, so that the first `keep` of them are left. */
static void drop_requests(struct sim *sim, struct sim__link *link, size_t keep)
{
    size_t dropped = sim__queue_length(&link->up);
    while (dropped > keep) {
        struct uvzk__link *last = link->up.packets.prev;
        uvzk__list_remove(last);
        free(UVZK__CONTAINER_OF(last, struct sim__request, packet.link));
        dropped--;
    }
    if (uvzk__list_empty(&link->up.packets)) {
        sim__event_clear(sim, &link->up.event);
    }
}

static void drop_answers(struct sim *sim, struct sim__link *link)
{
    struct uvzk__link *taken;
    while ((taken = uvzk__list_take(&link->down.packets)) != NULL) {
        sim__answer_free(UVZK__CONTAINER_OF(taken, struct sim__answer, packet.link));
    }
    sim__event_clear(sim, &link->down.event);
}

void sim__link_close_client(struct sim *sim, struct sim__link *link, size_t keep)
{
    link->client = NULL;
    drop_answers(sim, link);
    drop_requests(sim, link, keep);
    /* Otherwise up_arrives() closes the server's end after the last request. */
    if (uvzk__list_empty(&link->up.packets)) {
        sim__link_close_server(sim, link);
    }
    sim->dead_links = true;
}

void sim__link_close_server(struct sim *sim, struct sim__link *link)
{
    sim__server_detach(link);
    sim__event_clear(sim, &link->follower_end);
    drop_requests(sim, link, 0);
    sim__link_drop_held(link);
    link->server_open = false;
    sim->dead_links = true;
}

static void link_free(struct sim *sim, struct sim__link *link)
{
    drop_answers(sim, link);
    if (link->follower != NULL) {
        sim__tree_free(link->follower);
        free(link->follower);
    }
    uvzk__list_remove(&link->all);
    sim__free(link->who, strlen(link->who));
    sim__free(link, sizeof(*link));
}

void sim__links_sweep(struct sim *sim)
{
    if (!sim->dead_links) {
        return;
    }
    sim->dead_links = false;
    struct uvzk__link *at = sim->links.next;
    while (at != &sim->links) {
        struct sim__link *link = UVZK__CONTAINER_OF(at, struct sim__link, all);
        at = at->next;
        if (link->client == NULL && !link->server_open) {
            link_free(sim, link);
        }
    }
}
