/* SPDX-License-Identifier: Apache-2.0 */
/* CALL_TRACE=waits: how long the loop's thread waits for mutexes of the C client, and how
 * long the C client's threads hold a mutex while they send. call_trace.c calls it. */
#include <stdatomic.h>
#include <stdio.h>

#include "call_trace.h"
#include "latencies.h"

enum { MOST = 4000000, LONG_NS = 200000 };

static struct latencies requests; /* for mutexes, in each call of the C client */
static struct latencies turns;    /* for mutexes, in each turn with such a wait */
static struct latencies holds;    /* of mutexes, by threads that send meanwhile */
static atomic_uint elsewhere;     /* calls of the C client by other threads */
static uint64_t began, ended;     /* begin of the first sleep, end of the last */
/* Times of the loop's thread, in ns: asleep, in calls of the C client, waiting for
 * mutexes in all, and waiting for mutexes in the current turn. */
static uint64_t slept, called, waited, this_turn;
static atomic_uint most_writes; /* the most calls of send() in one hold */
static atomic_uint interrupted; /* holds over LONG_NS, less than half of it on the CPU */

void waits_begin(void)
{
    if (latencies_init(&requests, MOST) != 0 || latencies_init(&turns, MOST) != 0 ||
        latencies_init(&holds, MOST) != 0) {
        fputs("call_trace: out of memory\n", stderr);
    }
}

/* call_trace.c does not call this within a call of the C client; waits_called() does. */
void waits_outside(uint64_t its_wait)
{
    waited += its_wait;
    this_turn += its_wait;
}

void waits_called(uint64_t its_call, uint64_t its_wait)
{
    latencies_add(&requests, its_wait);
    called += its_call;
    waits_outside(its_wait);
}

void waits_called_elsewhere(void)
{
    atomic_fetch_add(&elsewhere, 1U);
}

void waits_slept(uint64_t from, uint64_t to)
{
    began = began == 0 ? from : began;
    ended = to;
    slept += to - from;
    if (this_turn > 0) {
        latencies_add(&turns, this_turn);
        this_turn = 0;
    }
}

/* Not protected against concurrent calls, because only one thread of a session calls
 * it. */
void waits_held(uint64_t held, uint64_t running, unsigned writes)
{
    latencies_add(&holds, held);
    if (held > LONG_NS && running < held / 2) {
        atomic_fetch_add(&interrupted, 1U);
    }
    if (writes > most_writes) {
        most_writes = writes;
    }
}

static void print_bag(const char *name, struct latencies *bag)
{
    fprintf(stderr,
            "\"%s\":{\"count\":%zu,\"p50_us\":%.2f,\"p99_us\":%.2f,\"p99_9_us\":%.2f,"
            "\"max_us\":%.1f},",
            name, bag->count, latencies_percentile_us(bag, 50),
            latencies_percentile_us(bag, 99), latencies_percentile_us(bag, 99.9),
            latencies_percentile_us(bag, 100));
}

void waits_print(void)
{
    double whole = (double)(ended - began);
    double busy = whole - (double)slept;

    /* The loop did not wait for requests that another thread has passed to the C
     * client. */
    for (unsigned i = 0; i < elsewhere; i++) {
        latencies_add(&requests, 0);
    }
    fputc('{', stderr);
    print_bag("requests", &requests);
    print_bag("turns", &turns);
    print_bag("holds", &holds);
    fprintf(stderr,
            "\"elsewhere\":%u,\"most_writes\":%u,\"interrupted\":%u,\"loop_ms\":%.1f,"
            "\"busy_ms\":%.1f,\"called_ms\":%.1f,\"waited_ms\":%.2f,\"of_loop\":%.5f,"
            "\"of_busy\":%.5f}\n",
            elsewhere, most_writes, interrupted, whole / 1e6, busy / 1e6,
            (double)called / 1e6, (double)waited / 1e6, (double)waited / whole,
            (double)waited / busy);
}
