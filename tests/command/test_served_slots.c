/* SPDX-License-Identifier: Apache-2.0 */
/* What a program that reads the slots may believe. */
#include "serve/served_slots.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"
#include "serve/served_validity.h"

#define MS ((uint64_t)1000000)
/* How long the machine was suspended before. */
#define SUSPENDED_MS 5000U
#define NOW_MS 1000U /* CLOCK_MONOTONIC */

static struct served_slots slots;
static struct served_slots_memory *memory;
static struct served_now now;

struct served_now __wrap_served_validity_now(void);
struct served_now __wrap_served_validity_now(void)
{
    return now;
}

static int begin(void **state)
{
    (void)state;
    memory = calloc(1, sizeof(*memory));
    assert_non_null(memory);
    served_slots_init(&slots, memory);
    now = (struct served_now){.monotonic = NOW_MS * MS,
                              .boottime = (NOW_MS + SUSPENDED_MS) * MS};
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(memory);
    return 0;
}

static void assert_slot(int64_t slot, uint64_t hold, uint64_t until, uint64_t monotonic)
{
    const struct served_slot *of = &memory->slots[slot];

    assert_int_equal(of->hold, hold);
    assert_int_equal(of->valid_until, until);
    assert_int_equal(of->monotonic_until, monotonic);
}

/* As docs/guide/serve.md has it. */
static void layout(void **state)
{
    const unsigned char *bytes = (const unsigned char *)memory;
    uint32_t head[4];
    uint64_t slot[4];
    (void)state;

    memcpy(head, bytes + 8, sizeof(head));
    assert_memory_equal(bytes, "uvzkhold", 8);
    assert_int_equal(head[0], 1);
    assert_int_equal(head[1], 64);
    assert_int_equal(head[2], 32);
    assert_int_equal(head[3], 20000);
    assert_int_equal(sizeof(*memory), 64 + 32 * 20000);
    assert_int_equal(served_slots_take(&slots, 7), 0);
    assert_int_equal(served_slots_take(&slots, 8), 1);
    served_slots_tell(&slots, 1, NOW_MS + SUSPENDED_MS + 300);
    memcpy(slot, bytes + 64 + 32, sizeof(slot));
    assert_int_equal(slot[0], 8);
    assert_int_equal(slot[1], NOW_MS + SUSPENDED_MS + 300);
    assert_int_equal(slot[2], NOW_MS + 299);
    assert_int_equal(slot[3], 0);
}

/* A slot is 0 when its hold is over, and then of another hold. */
static void one_hold_after_the_other(void **state)
{
    (void)state;
    assert_false(served_slots_are_used(&slots));
    int64_t slot = served_slots_take(&slots, 7);
    assert_true(served_slots_are_used(&slots));
    assert_slot(slot, 7, 0, 0);
    served_slots_tell(&slots, slot, 9000);
    served_slots_leave(&slots, slot);
    assert_slot(slot, 0, 0, 0);
    assert_false(served_slots_are_used(&slots));
    assert_int_equal(served_slots_take(&slots, 8), slot);
    assert_slot(slot, 8, 0, 0);
    served_slots_leave(&slots, slot);
}

/* At any fraction of a ms, of both clocks. */
static void never_later_on_the_other_clock(void **state)
{
    uint64_t between = SUSPENDED_MS * MS + 900007; /* of the clocks, in ns */
    (void)state;
    int64_t slot = served_slots_take(&slots, 7);
    for (uint64_t ns = 0; ns < 3 * MS; ns += 130003) {
        for (uint64_t until = NOW_MS + SUSPENDED_MS; until < 6010; until++) {
            now.monotonic = NOW_MS * MS + ns;
            now.boottime = now.monotonic + between;
            served_slots_tell(&slots, slot, 0);
            served_slots_tell(&slots, slot, until);
            uint64_t monotonic = memory->slots[slot].monotonic_until;
            assert_true(monotonic == 0 || monotonic * MS + between <= until * MS);
            assert_true(monotonic + SUSPENDED_MS + 3 >= until ||
                        now.boottime + 2 * MS > until * MS);
        }
    }
    served_slots_leave(&slots, slot);
}

static void hold_without_a_limit(void **state)
{
    (void)state;
    int64_t slot = served_slots_take(&slots, 7);
    served_slots_tell(&slots, slot, UINT64_MAX);
    assert_true(memory->slots[slot].valid_until == UINT64_MAX);
    assert_true(memory->slots[slot].monotonic_until > UINT64_MAX / 2);
    served_slots_leave(&slots, slot);
}

static void more_holds_than_slots(void **state)
{
    (void)state;
    for (int64_t hold = 1; hold <= (int64_t)SERVED_SLOTS; hold++) {
        assert_int_equal(served_slots_take(&slots, hold), hold - 1);
    }
    int64_t none = served_slots_take(&slots, 99999);
    assert_true(none == SERVED_NO_SLOT);
    served_slots_tell(&slots, none, 9000);
    served_slots_leave(&slots, none);
    served_slots_leave(&slots, 77);
    assert_int_equal(served_slots_take(&slots, 99999), 77);
    for (int64_t slot = 0; slot < (int64_t)SERVED_SLOTS; slot++) {
        served_slots_leave(&slots, slot);
    }
    assert_false(served_slots_are_used(&slots));
}

static void no_memory(void **state)
{
    static struct served_slots none;
    (void)state;
    assert_true(served_slots_take(&none, 7) == SERVED_NO_SLOT);
    assert_false(served_slots_are_used(&none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(layout, begin, end),
        cmocka_unit_test_setup_teardown(one_hold_after_the_other, begin, end),
        cmocka_unit_test_setup_teardown(never_later_on_the_other_clock, begin, end),
        cmocka_unit_test_setup_teardown(hold_without_a_limit, begin, end),
        cmocka_unit_test_setup_teardown(more_holds_than_slots, begin, end),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
