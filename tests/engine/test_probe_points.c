/* SPDX-License-Identifier: Apache-2.0 */
/* The USDT probes, watched as a tracer watches them: by a breakpoint at the place that the
 * library's note names, and with the arguments where the note says that they are.
 * `readelf` reads the notes. Needs x86-64, because it reads the registers. */
#include "world.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if !defined(UVZK_PROBES) || !defined(__x86_64__)

int main(void)
{
    puts("skipped: without sys/sdt.h, with ThreadSanitizer, or not for x86-64");
    return 77;
}

#else

#define LATENCY 5U
#define HELD_MS 300U
#define ARGUMENTS_MAX 6
#define NOP 0x90
#define BREAKPOINT 0xcc

static struct world world;
static struct process a, b;
static struct hold first, second;

static struct probe {
    char name[32], arguments[256]; /* as in the note: "8@%rdi -4@16(%rsp)" */
    uint8_t *at;
} probes[32];
static size_t probe_count;
static volatile unsigned short *semaphore;

static struct seen {
    const char *name;
    int64_t arguments[ARGUMENTS_MAX];
    char path[64]; /* of the second argument, if that is text */
} all_seen[2000];
static size_t seen_count;

/* ------------------------------------------------------------------------- the notes */

/* What has the library in it: this program, or a library of its own. */
static const char *library(uintptr_t *bias)
{
    Dl_info info;
    struct link_map *map;

    assert_true(dladdr1((void *)(uintptr_t)uvzk_version, &info, (void **)&map,
                        RTLD_DL_LINKMAP) != 0);
    *bias = (uintptr_t)map->l_addr;
    return info.dli_fname;
}

static void read_notes(void)
{
    uintptr_t bias, place, base, counter;
    char command[4096], line[512], rest[256];

    (void)snprintf(command, sizeof(command), "readelf -n '%s'", library(&bias));
    FILE *notes = popen(command, "r");
    assert_non_null(notes);
    struct probe *probe = NULL;
    while (fgets(line, sizeof(line), notes) != NULL) {
        if (sscanf(line, " Provider: %255s", rest) == 1) {
            assert_string_equal(rest, "uvzk");
            assert_true(probe_count < sizeof(probes) / sizeof(probes[0]));
            probe = &probes[probe_count++];
        } else if (probe != NULL && sscanf(line, " Name: %31s", probe->name) != 1 &&
                   sscanf(line, " Arguments: %255[^\n]", probe->arguments) != 1 &&
                   sscanf(line,
                          " Location: %" SCNxPTR ", Base: %" SCNxPTR
                          ", Semaphore: %" SCNxPTR,
                          &place, &base, &counter) == 3) {
            probe->at = (uint8_t *)(bias + place);
            semaphore = (unsigned short *)(bias + counter);
        }
    }
    assert_int_equal(pclose(notes), 0);
    assert_true(probe_count > 0);
}

/* ---------------------------------------------------------------------- the arguments */

static int64_t register_of(const ucontext_t *context, const char *name, size_t length)
{
    static const struct {
        const char *whole, *half;
        int number;
    } registers[] = {
        {"rax", "eax", REG_RAX},  {"rbx", "ebx", REG_RBX},  {"rcx", "ecx", REG_RCX},
        {"rdx", "edx", REG_RDX},  {"rsi", "esi", REG_RSI},  {"rdi", "edi", REG_RDI},
        {"rbp", "ebp", REG_RBP},  {"rsp", "esp", REG_RSP},  {"r8", "r8d", REG_R8},
        {"r9", "r9d", REG_R9},    {"r10", "r10d", REG_R10}, {"r11", "r11d", REG_R11},
        {"r12", "r12d", REG_R12}, {"r13", "r13d", REG_R13}, {"r14", "r14d", REG_R14},
        {"r15", "r15d", REG_R15}};

    for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
        if ((strlen(registers[i].whole) == length &&
             strncmp(registers[i].whole, name, length) == 0) ||
            (strlen(registers[i].half) == length &&
             strncmp(registers[i].half, name, length) == 0)) {
            return context->uc_mcontext.gregs[registers[i].number];
        }
    }
    fail_msg("no register %.*s", (int)length, name);
    return 0;
}

/* of: "$5", "%rdi", "16(%rsp)". */
static int64_t value_of(const ucontext_t *context, const char *of)
{
    char *rest;

    if (*of == '$') {
        return strtoll(of + 1, NULL, 10);
    }
    if (*of == '%') {
        return register_of(context, of + 1, strcspn(of + 1, " "));
    }
    int64_t offset = strtoll(of, &rest, 10);
    assert_true(rest[0] == '(' && rest[1] == '%');
    int64_t where = register_of(context, rest + 2, strcspn(rest + 2, ")")) + offset;
    int64_t value;
    memcpy(&value, (const void *)(uintptr_t)where, sizeof(value));
    return value;
}

/* size: as in the note, 4 or 8, negative if signed. */
static int64_t cut(int64_t value, long size)
{
    return size == 4 ? (int64_t)(uint32_t)value : size == -4 ? (int32_t)value : value;
}

static void read_arguments(const ucontext_t *context, const struct probe *probe,
                           struct seen *seen)
{
    const char *at = probe->arguments;

    for (int i = 0; i < ARGUMENTS_MAX && *at != '\0'; i++) {
        char *of;
        long size = strtol(at, &of, 10);
        assert_true(*of == '@' && (labs(size) == 4 || labs(size) == 8));
        seen->arguments[i] = cut(value_of(context, of + 1), size);
        at = of + strcspn(of, " ");
        at += *at == ' ';
    }
    const char *path = (const char *)(uintptr_t)seen->arguments[1];
    if (strcmp(probe->name, "state") != 0 && path != NULL) {
        (void)snprintf(seen->path, sizeof(seen->path), "%s", path);
    }
}

/* The breakpoint stands in place of a nop, so the process goes on behind it. */
static void on_breakpoint(int signal_number, siginfo_t *info, void *data)
{
    const ucontext_t *context = data;
    const uint8_t *at =
        (const uint8_t *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP] - 1;

    (void)signal_number;
    (void)info;
    for (size_t i = 0; i < probe_count; i++) {
        if (probes[i].at == at) {
            assert_true(seen_count < sizeof(all_seen) / sizeof(all_seen[0]));
            struct seen *seen = &all_seen[seen_count++];
            *seen = (struct seen){.name = probes[i].name};
            read_arguments(context, &probes[i], seen);
            return;
        }
    }
    abort();
}

static void set_breakpoints(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = on_breakpoint,
                               .sa_flags = SA_SIGINFO | SA_NODEFER};

    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    for (size_t i = 0; i < probe_count; i++) {
        void *start = (void *)((uintptr_t)probes[i].at & ~(page - 1));
        assert_int_equal(*probes[i].at, NOP);
        assert_int_equal(mprotect(start, page, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
        *probes[i].at = BREAKPOINT;
        assert_int_equal(mprotect(start, page, PROT_READ | PROT_EXEC), 0);
    }
}

/* As the kernel does when a tracer attaches to all probes, or to none any more. */
static void attach(void)
{
    seen_count = 0;
    *semaphore = (unsigned short)(*semaphore + probe_count);
}

static void detach(void)
{
    *semaphore = (unsigned short)(*semaphore - probe_count);
}

/* ------------------------------------------------------------------------ what is seen */

static size_t count_of(const char *name)
{
    size_t found = 0;

    for (size_t i = 0; i < seen_count; i++) {
        found += strcmp(all_seen[i].name, name) == 0;
    }
    return found;
}

/* The first one of this name, from the one with this number on. */
static const struct seen *next_of(const char *name, size_t from)
{
    for (size_t i = from; i < seen_count; i++) {
        if (strcmp(all_seen[i].name, name) == 0) {
            return &all_seen[i];
        }
    }
    fail_msg("not seen: %s", name);
    return NULL;
}

/* The one of this name that is about this hold at the world's path. */
static const struct seen *step_of(const char *name, const struct hold *hold)
{
    for (size_t i = 0; i < seen_count; i++) {
        if (strcmp(all_seen[i].name, name) == 0 &&
            all_seen[i].arguments[0] == (int64_t)(uintptr_t)&hold->request) {
            assert_string_equal(all_seen[i].path, WORLD_PATH);
            return &all_seen[i];
        }
    }
    fail_msg("not seen: %s", name);
    return NULL;
}

static void begin(void)
{
    world_begin_exact_two(&world, UVZK__TUNE_ALL, LATENCY, &a, &b);
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&b, 1000));
    world_make_directory(&world, &b);
    attach();
}

static void end(void)
{
    detach();
    world_end(&world);
}

static void check(const struct seen *seen, int64_t session_id, int64_t took_ms,
                  int64_t other)
{
    assert_int_equal(seen->arguments[2], session_id);
    assert_int_equal(seen->arguments[3], took_ms);
    assert_int_equal(seen->arguments[4], other);
}

/* --------------------------------------------------------------------------- the tests */

static void test_each_step_of_a_hold(void **state)
{
    (void)state;
    begin();
    int64_t session_id = uvzk_client_session_id(&a.client);
    hold_take(&first, &a);
    int64_t token = uvzk_hold_token(&first.request);
    assert_int_equal(step_of("acquire", &first)->arguments[2], session_id);
    check(step_of("granted", &first), session_id, 2 * LATENCY, token);
    assert_int_equal(count_of("handover"), 0);
    hold_begin(&second, &a, 100);
    world_run_for(&world, HELD_MS);
    assert_in_range(step_of("refused", &second)->arguments[3], 100, 101);
    assert_int_equal(step_of("refused", &second)->arguments[4], UV_ETIMEDOUT);
    hold_give_back(&first);
    assert_int_equal(step_of("release", &first)->arguments[4], token);
    assert_in_range(step_of("release", &first)->arguments[3], HELD_MS, HELD_MS + 1);
    check(step_of("released", &first), session_id, 2 * LATENCY, 0);
    assert_true(step_of("acquire", &first) < step_of("granted", &first));
    assert_true(step_of("granted", &first) < step_of("release", &first));
    assert_true(step_of("release", &first) < step_of("released", &first));
    assert_int_equal(count_of("acquire"), 2);
    assert_int_equal(count_of("granted") + count_of("refused"), 2);
    assert_int_equal(count_of("release") + count_of("released"), 2);
    assert_int_equal(count_of("lost"), 0);
    end();
}

/* From another client's hold, and from one of this client. */
static void test_handovers(void **state)
{
    (void)state;
    begin();
    hold_take(&second, &b);
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, HELD_MS);
    hold_give_back(&second);
    hold_await(&first, HELD_MS);
    assert_int_equal(count_of("handover"), 1);
    assert_int_equal(step_of("handover", &first)->arguments[2],
                     uvzk_client_session_id(&a.client));
    assert_int_equal(step_of("handover", &first)->arguments[3], 0);
    assert_true(step_of("handover", &first) < step_of("granted", &first));
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, HELD_MS);
    hold_give_back(&first);
    hold_await(&second, HELD_MS);
    assert_int_equal(count_of("handover"), 2);
    hold_give_back(&second);
    end();
}

static void test_losses_and_states(void **state)
{
    (void)state;
    begin();
    hold_take(&first, &a);
    int64_t token = uvzk_hold_token(&first.request);
    world_run_for(&world, HELD_MS);
    a.killed = true;
    assert_true(sim_expire_connected(a.port));
    hold_await_lost(&first, WORLD_TIMEOUT_MS, UVZK_EEXPIRED);
    const struct seen *lost = step_of("lost", &first);
    assert_in_range(lost->arguments[3], HELD_MS, WORLD_TIMEOUT_MS);
    assert_int_equal(lost->arguments[4], token);
    assert_int_equal(lost->arguments[5], UVZK_EEXPIRED);
    assert_int_equal(count_of("release") + count_of("released"), 0);
    size_t reported = 0;
    for (size_t i = 0; i < seen_count; i++) {
        if (strcmp(all_seen[i].name, "state") == 0) {
            assert_ptr_equal(all_seen[i].arguments[0], &a.client);
            assert_int_equal(all_seen[i].arguments[2], a.states[1 + reported]);
            reported++;
        }
    }
    assert_true(reported > 0 && reported + 1 == a.state_count);
    end();
}

/* Each request of both clients, and its reply. */
static void test_requests_and_replies(void **state)
{
    (void)state;
    begin();
    uint64_t before = process_metrics(&a).requests + process_metrics(&b).requests;
    hold_take(&first, &a);
    hold_give_back(&first);
    hold_take(&second, &b);
    hold_give_back(&second);
    uint64_t sent = process_metrics(&a).requests + process_metrics(&b).requests - before;
    assert_int_equal(count_of("request"), sent);
    assert_int_equal(count_of("reply"), sent);
    const struct seen *create = next_of("request", 0), *reply = next_of("reply", 0);
    assert_string_equal((const char *)(uintptr_t)create->arguments[3], "create");
    assert_int_equal(strncmp(create->path, WORLD_PATH, strlen(WORLD_PATH)), 0);
    assert_int_equal(create->arguments[2], uvzk_client_session_id(&a.client));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(reply->arguments[i], create->arguments[i]);
    }
    assert_string_equal(reply->path, create->path);
    assert_int_equal(reply->arguments[4], 2 * LATENCY);
    assert_int_equal(reply->arguments[5], 0);
    end();
}

/* A tracer that has gone is told nothing, and one that comes later has no wrong times. */
static void test_nobody_watches(void **state)
{
    (void)state;
    begin();
    detach();
    hold_take(&first, &a);
    world_run_for(&world, HELD_MS);
    assert_int_equal(seen_count, 0);
    attach();
    hold_give_back(&first);
    assert_int_equal(step_of("release", &first)->arguments[3], 0);
    assert_int_equal(step_of("released", &first)->arguments[3], 2 * LATENCY);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_step_of_a_hold),
        cmocka_unit_test(test_handovers),
        cmocka_unit_test(test_losses_and_states),
        cmocka_unit_test(test_requests_and_replies),
        cmocka_unit_test(test_nobody_watches),
    };

    if (system("readelf --version >/dev/null") != 0) {
        puts("skipped: no readelf (tools/install-packages test)");
        return 77;
    }
    read_notes();
    set_breakpoints();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
