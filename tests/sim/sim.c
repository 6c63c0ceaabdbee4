/* SPDX-License-Identifier: Apache-2.0 */
/* The simulation as a whole (sim.h): the heap of events, virtual time, the trace, and
 * the beginning and the end.
 *
 * The one idea: everything that happens is an event in one binary heap, and sim_step()
 * fires the earliest one. Events at the same millisecond fire in the order in which they
 * were set, or in a random order if the option shuffle_ties is set. So the seed and the
 * options alone decide the history. */
#include "sim_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------- memory */

static void *checked(void *memory)
{
    if (memory == NULL) {
        fputs("sim: out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *sim__alloc(size_t size)
{
    return checked(calloc(1, size > 0 ? size : 1));
}

void *sim__copy(const void *bytes, size_t size)
{
    void *copy = checked(malloc(size > 0 ? size : 1));
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

void sim__free(void *memory, size_t size)
{
    if (memory != NULL) {
        memset(memory, 0xdb, size);
        free(memory);
    }
}

/* ------------------------------------------------------------------- events */

static bool earlier(const struct sim__event *a, const struct sim__event *b)
{
    if (a->at != b->at) {
        return a->at < b->at;
    }
    if (a->tie != b->tie) {
        return a->tie < b->tie;
    }
    return a->order < b->order;
}

static void put(struct sim *sim, size_t place, struct sim__event *event)
{
    sim->heap[place] = event;
    event->place = place;
}

static void sift_up(struct sim *sim, struct sim__event *event)
{
    size_t place = event->place;
    while (place > 1 && earlier(event, sim->heap[place / 2])) {
        put(sim, place, sim->heap[place / 2]);
        place /= 2;
    }
    put(sim, place, event);
}

static void sift_down(struct sim *sim, struct sim__event *event)
{
    size_t place = event->place;
    for (;;) {
        size_t child = place * 2;
        if (child > sim->heap_count) {
            break;
        }
        if (child < sim->heap_count && earlier(sim->heap[child + 1], sim->heap[child])) {
            child++;
        }
        if (!earlier(sim->heap[child], event)) {
            break;
        }
        put(sim, place, sim->heap[child]);
        place = child;
    }
    put(sim, place, event);
}

void sim__event_clear(struct sim *sim, struct sim__event *event)
{
    if (event->place == 0) {
        return;
    }
    struct sim__event *last = sim->heap[sim->heap_count--];
    /* The last event fills the gap. It may belong above or below that place; one of the
     * two sifts does nothing. */
    if (last != event) {
        put(sim, event->place, last);
        sift_up(sim, last);
        sift_down(sim, last);
    }
    event->place = 0;
}

void sim__event_set(struct sim *sim, struct sim__event *event, uint64_t at)
{
    sim__event_clear(sim, event);
    if (at == SIM__NEVER) {
        return;
    }
    /* Index 0 of the heap is not used. */
    if (sim->heap_count + 1 >= sim->heap_room) {
        sim->heap_room *= 2;
        sim->heap = checked(realloc(sim->heap, sim->heap_room * sizeof(*sim->heap)));
    }
    event->at = at > sim->now ? at : sim->now;
    event->tie = sim->options.shuffle_ties ? sim__random_word(sim) : 0;
    event->order = ++sim->order;
    put(sim, ++sim->heap_count, event);
    sift_up(sim, event);
}

bool sim_step(struct sim *sim)
{
    if (sim->heap_count == 0) {
        return false;
    }
    struct sim__event *event = sim->heap[1];
    sim->now = event->at;
    sim->steps++;
    sim__event_clear(sim, event);
    event->fire(sim, event);
    /* Links are freed only here, so every pointer to a link is valid within an event. */
    sim__links_sweep(sim);
    return true;
}

void sim_run_until(struct sim *sim, uint64_t t)
{
    while (sim->heap_count > 0 && sim->heap[1]->at <= t) {
        sim_step(sim);
    }
    if (sim->now < t) {
        sim->now = t;
    }
}

void sim_run_for(struct sim *sim, uint64_t ms)
{
    sim_run_until(sim, sim->now + ms);
}

uint64_t sim_now(const struct sim *sim)
{
    return sim->now;
}

uint64_t sim_back_at(const struct sim *sim)
{
    return sim->server.up_at;
}

uint64_t sim_steps(const struct sim *sim)
{
    return sim->steps;
}

uint64_t sim_fault_count(const struct sim *sim)
{
    return sim->fault_count;
}

/* -------------------------------------------------------------------- trace */

/* FNV-1a, 64 bits. */
static void hash_text(uint64_t *hash, const char *text)
{
    for (; *text != '\0'; text++) {
        *hash = (*hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
}

/* Adds one line: the time, who it is about, and the text. A text that is too long is cut
 * off. */
static void trace_arguments(struct sim *sim, const char *who, const char *format,
                            va_list arguments)
{
    char *line = sim->trace.lines[sim->trace.count % sim->trace.room];
    size_t room = sizeof(sim->trace.lines[0]);
    int begun = snprintf(line, room, "[%8llu] %-8s ", (unsigned long long)sim->now, who);
    size_t at = begun < 0 ? 0 : (size_t)begun < room ? (size_t)begun : room - 1;
    vsnprintf(line + at, room - at, format, arguments);
    sim->trace.count++;
    hash_text(&sim->trace.hash, line);
    if (sim->options.trace_cb != NULL) {
        sim->options.trace_cb(sim->options.trace_arg, line);
    }
}

void sim__trace_line(struct sim *sim, const char *who, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    trace_arguments(sim, who, format, arguments);
    va_end(arguments);
}

void sim_note(struct sim *sim, const char *format, ...)
{
    if (sim->trace.lines == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    trace_arguments(sim, "--", format, arguments);
    va_end(arguments);
}

void sim_trace_print(const struct sim *sim, FILE *file)
{
    const struct sim__trace *trace = &sim->trace;
    uint64_t first = trace->count > trace->room ? trace->count - trace->room : 0;
    for (uint64_t i = first; i < trace->count; i++) {
        fprintf(file, "%s\n", trace->lines[i % trace->room]);
    }
}

void sim_trace_to_stderr(void *trace_arg, const char *line)
{
    (void)trace_arg;
    (void)fprintf(stderr, "%s\n", line);
}

uint64_t sim_trace_hash(const struct sim *sim)
{
    return sim->trace.hash;
}

const char *sim__code(int status)
{
    switch (status) {
    case 0:
        return "ok";
    case UV_ENOMEM:
        return "ENOMEM";
#define XX(name, value, text) \
    case value:               \
        return #name;
        UVZK_ERRNO_MAP(XX)
#undef XX
    default:
        return "?";
    }
}

const char *sim__request_name(uint32_t kind)
{
    static const char *const names[] = {
        "create", "delete",    "set",     "get",  "exists", "children", "sync",
        "multi",  "add watch", "connect", "ping", "forget", "rewatch",  "end session"};
    return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}

_Noreturn void sim__misuse(struct sim *sim, const char *who, const char *what)
{
    sim_trace_print(sim, stderr);
    fprintf(stderr, "sim: at %llu ms, %s: %s\n", (unsigned long long)sim->now, who, what);
    abort();
}

/* ---------------------------------------------------------------- beginning */

void sim_options_init(struct sim_options *options)
{
    *options = (struct sim_options){.start_ms = 1000,
                                    .tick_ms = 2000,
                                    .session_timeout_ms = 10000,
                                    .latency_min_ms = 1,
                                    .latency_max_ms = 20,
                                    .servers = 1,
                                    .lag_max_ms = 20,
                                    .alarm_late_max_ms = 2,
                                    .container_check_ms = 60000,
                                    .jute_maxbuffer = 1048575,
                                    .trace = true,
                                    .trace_lines = 2000};
}

struct sim *sim_new(uint64_t seed, const struct sim_options *options)
{
    struct sim *sim = sim__alloc(sizeof(*sim));
    sim_options_init(&sim->options);
    if (options != NULL) {
        sim->options = *options;
    }
    sim->now = sim->options.start_ms;
    sim->heap_room = 64;
    sim->heap = sim__alloc(sim->heap_room * sizeof(*sim->heap));
    sim->trace.hash = UINT64_C(0xcbf29ce484222325);
    if (sim->options.trace && sim->options.trace_lines > 0) {
        sim->trace.room = sim->options.trace_lines;
        sim->trace.lines = sim__alloc(sim->trace.room * sizeof(*sim->trace.lines));
    }
    uvzk__list_init(&sim->clients);
    uvzk__list_init(&sim->closed_clients);
    uvzk__list_init(&sim->links);
    sim->fault_clock.fire = sim__fault_tick;
    sim__random_seed(sim, seed);
    sim__server_init(sim);
    return sim;
}

void sim_free(struct sim *sim)
{
    /* A port that is left would be a leak in the library under test. */
    if (sim_has_ports(sim)) {
        struct sim__client *left =
            UVZK__CONTAINER_OF(sim->clients.next, struct sim__client, all);
        sim__misuse(sim, left->name, "the port was not closed before sim_free");
    }
    for (struct uvzk__link *at = sim->links.next; at != &sim->links; at = at->next) {
        sim__link_close_server(sim, UVZK__CONTAINER_OF(at, struct sim__link, all));
    }
    sim__links_sweep(sim);
    while (!uvzk__list_empty(&sim->closed_clients)) {
        struct sim__client *closed =
            UVZK__CONTAINER_OF(sim->closed_clients.next, struct sim__client, all);
        uvzk__list_remove(&closed->all);
        sim__free(closed, sizeof(*closed));
    }
    sim__server_free(sim);
    sim__event_clear(sim, &sim->fault_clock);
    free(sim->heap);
    free(sim->trace.lines);
    free(sim);
}
