/* SPDX-License-Identifier: Apache-2.0 */
/* A client's directories, found by discipline and path, whether or not there is memory for
 * more buckets. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "directory/directories.h"
#include "directory/queue.h"
#include "uvzk.h"

#define COUNT 300U

static const struct uvzk__directory_kind exclusive = {.in_order = true};
static const struct uvzk__directory_kind counted = {.counted = true};
static struct uvzk__queue queues[COUNT];
static bool fails;

static void *failing_allocator_calloc(size_t count, size_t size)
{
    return fails ? NULL : calloc(count, size);
}

static int be_scarce(void **state)
{
    (void)state;
    fails = false;
    return uvzk_replace_allocator(malloc, realloc, failing_allocator_calloc, free);
}

static int restore(void **state)
{
    (void)state;
    return uvzk_replace_allocator(malloc, realloc, calloc, free);
}

static int add(struct uvzk__catalogue *catalogue, size_t i,
               const struct uvzk__directory_kind *kind)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "/path/%zu", i);
    queues[i] =
        (struct uvzk__queue){.kind = kind, .path = uvzk__shared_path_join("", text)};
    assert_non_null(queues[i].path);
    return uvzk__catalogue_add(catalogue, &queues[i]);
}

static void take_out(struct uvzk__catalogue *catalogue, size_t i)
{
    uvzk__catalogue_remove(catalogue, &queues[i]);
    assert_null(uvzk__catalogue_find(catalogue, queues[i].kind, queues[i].path->text,
                                     queues[i].path->hash));
    uvzk__shared_path_unref(queues[i].path);
}

static void each_is_found(const struct uvzk__catalogue *catalogue, size_t count)
{
    const struct uvzk__queue *at = uvzk__catalogue_first(catalogue);

    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(at, &queues[i]);
        at = uvzk__catalogue_next(catalogue, at);
        assert_ptr_equal(uvzk__catalogue_find(catalogue, queues[i].kind,
                                              queues[i].path->text, queues[i].path->hash),
                         &queues[i]);
    }
    assert_null(at);
}

static void they_are_found_and_stay_in_their_order(void **state)
{
    struct uvzk__catalogue catalogue = {0};

    (void)state;
    uvzk__catalogue_init(&catalogue);
    assert_null(uvzk__catalogue_first(&catalogue));
    assert_null(uvzk__catalogue_find(&catalogue, &exclusive, "/path/0",
                                     uvzk__path_hash("/path/0")));
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(add(&catalogue, i, i % 3 == 0 ? &counted : &exclusive), 0);
    }
    each_is_found(&catalogue, COUNT);
    assert_null(uvzk__catalogue_find(&catalogue, &exclusive, "/path/0",
                                     uvzk__path_hash("/path/0")));
    assert_null(uvzk__catalogue_find(&catalogue, &counted, "/path/0/more",
                                     uvzk__path_hash("/path/0/more")));
    for (size_t i = COUNT; i > 0; i--) {
        take_out(&catalogue, i - 1);
        each_is_found(&catalogue, i - 1);
    }
    uvzk__catalogue_free(&catalogue);
}

static void out_of_memory_the_first_is_refused_and_no_other(void **state)
{
    struct uvzk__catalogue catalogue = {0};

    (void)state;
    uvzk__catalogue_init(&catalogue);
    fails = true;
    assert_int_equal(add(&catalogue, 0, &exclusive), UV_ENOMEM);
    assert_null(uvzk__catalogue_first(&catalogue));
    uvzk__shared_path_unref(queues[0].path);
    fails = false;
    assert_int_equal(add(&catalogue, 0, &exclusive), 0);
    fails = true;
    for (size_t i = 1; i < COUNT; i++) {
        assert_int_equal(add(&catalogue, i, &exclusive), 0);
    }
    each_is_found(&catalogue, COUNT);
    for (size_t i = COUNT; i > 0; i--) {
        take_out(&catalogue, i - 1);
    }
    uvzk__catalogue_free(&catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(they_are_found_and_stay_in_their_order, be_scarce,
                                        restore),
        cmocka_unit_test_setup_teardown(out_of_memory_the_first_is_refused_and_no_other,
                                        be_scarce, restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
