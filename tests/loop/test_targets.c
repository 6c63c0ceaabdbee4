/* Which servers a search hands over when several of its targets have one address
 * (discovery/targets.h). */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "discovery/targets.h"

static struct uvzk__sockets sockets;
static struct uvzk__targets targets;
static const struct uvzk__host first = {"zoo1.example", 2281},
                               second = {"zoo2.example", 2281},
                               first_again = {"zoo1.example", 2281};

static void add(const struct uvzk__host *host, const char *text)
{
    struct uvzk__address address;

    assert_true(uvzk__address_read(text, 2281, &address));
    assert_int_equal(uvzk__targets_add(&targets, host, &address), 0);
    targets.array[targets.count - 1].result = UVZK__PROBE_SERVER;
}

/* What is handed over, in any order: "HOST/ADDRESS" each. */
static void assert_handed_over(const char *const *expected, size_t count)
{
    struct uvzk__named_address *found;
    char local[UVZK__ADDRESS_TEXT];

    assert_int_equal(uvzk__targets_take_addresses(&targets, &found, local), count);
    for (size_t i = 0; i < count; i++) {
        bool any = false;
        for (size_t j = 0; j < count; j++) {
            char address[UVZK__ADDRESS_TEXT], text[UVZK__HOST_MAX + UVZK__ADDRESS_TEXT];
            uvzk__address_text(&found[j].address, address);
            snprintf(text, sizeof(text), "%s/%s",
                     found[j].host == NULL ? "" : found[j].host, address);
            any = any || strcmp(text, expected[i]) == 0;
        }
        assert_true(any);
    }
    uvzk__free(found);
}

static int open_targets(void **state)
{
    (void)state;
    targets = (struct uvzk__targets){.only_connects = false};
    uvzk__targets_init(&targets, &sockets, 1000);
    add(NULL, "127.0.0.1");
    add(&first, "127.0.0.1");
    add(&second, "127.0.0.1");
    add(&first_again, "127.0.0.1");
    add(&first, "127.0.0.2");
    return 0;
}

static int close_targets(void **state)
{
    (void)state;
    uvzk__targets_free(&targets);
    return 0;
}

static void in_plain_text_an_address_is_one_server(void **state)
{
    static const char *const expected[] = {"/127.0.0.1", "zoo1.example/127.0.0.2"};
    (void)state;

    assert_handed_over(expected, 2);
}

/* A certificate is for a host, and a proxy asks which one is meant. */
static void over_tls_each_host_of_an_address_is_one(void **state)
{
    static const char *const expected[] = {"/127.0.0.1", "zoo1.example/127.0.0.1",
                                           "zoo2.example/127.0.0.1",
                                           "zoo1.example/127.0.0.2"};
    (void)state;

    targets.only_connects = true;
    assert_handed_over(expected, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_plain_text_an_address_is_one_server,
                                        open_targets, close_targets),
        cmocka_unit_test_setup_teardown(over_tls_each_host_of_an_address_is_one,
                                        open_targets, close_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
