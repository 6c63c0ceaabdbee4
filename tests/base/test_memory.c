/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "uvzk.h"

static struct {
    size_t mallocs, reallocs, callocs, frees;
    size_t last_size, last_count;
    void *last_memory;
    bool fails;
} seen;

static void *count_malloc(size_t size)
{
    seen.mallocs++;
    seen.last_size = size;
    return seen.fails ? NULL : malloc(size);
}

static void *count_realloc(void *memory, size_t size)
{
    seen.reallocs++;
    seen.last_memory = memory;
    seen.last_size = size;
    return seen.fails ? NULL : realloc(memory, size);
}

static void *count_calloc(size_t count, size_t size)
{
    seen.callocs++;
    seen.last_count = count;
    seen.last_size = size;
    return seen.fails ? NULL : calloc(count, size);
}

static void count_free(void *memory)
{
    seen.frees++;
    seen.last_memory = memory;
    free(memory);
}

static int replace_all(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    return uvzk_replace_allocator(count_malloc, count_realloc, count_calloc, count_free);
}

static int restore(void **state)
{
    (void)state;
    return uvzk_replace_allocator(malloc, realloc, calloc, free);
}

static void every_call_goes_to_its_hook(void **state)
{
    (void)state;
    void *memory = uvzk__malloc(11);
    assert_non_null(memory);
    assert_int_equal(seen.mallocs, 1);
    assert_int_equal(seen.last_size, 11);

    void *before = memory;
    memory = uvzk__realloc(memory, 70000);
    assert_non_null(memory);
    assert_int_equal(seen.reallocs, 1);
    assert_ptr_equal(seen.last_memory, before);
    assert_int_equal(seen.last_size, 70000);

    uvzk__free(memory);
    assert_int_equal(seen.frees, 1);
    assert_ptr_equal(seen.last_memory, memory);

    char *zeros = uvzk__calloc(3, 5);
    assert_non_null(zeros);
    assert_int_equal(seen.callocs, 1);
    assert_int_equal(seen.last_count, 3);
    assert_int_equal(seen.last_size, 5);
    for (size_t i = 0; i < 15; i++) {
        assert_int_equal(zeros[i], 0);
    }
    uvzk__free(zeros);
}

static void free_of_null_is_nothing(void **state)
{
    (void)state;
    uvzk__free(NULL);
    assert_int_equal(seen.frees, 0);
}

static void copies_go_through_the_hook(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {0, 1, 255, 0};
    unsigned char *copy = uvzk__memdup(bytes, sizeof(bytes));
    assert_int_equal(seen.mallocs, 1);
    assert_int_equal(seen.last_size, sizeof(bytes));
    assert_memory_equal(copy, bytes, sizeof(bytes));
    uvzk__free(copy);

    char *text = uvzk__strdup("znode");
    assert_int_equal(seen.mallocs, 2);
    assert_int_equal(seen.last_size, sizeof("znode"));
    assert_string_equal(text, "znode");
    uvzk__free(text);

    text = uvzk__strdup("");
    assert_string_equal(text, "");
    uvzk__free(text);
    assert_int_equal(seen.frees, 3);
}

static void a_copy_of_nothing_is_one_byte(void **state)
{
    (void)state;
    void *copy = uvzk__memdup(NULL, 0);
    assert_non_null(copy);
    assert_int_equal(seen.last_size, 1);
    uvzk__free(copy);
}

static void failures_are_told(void **state)
{
    (void)state;
    seen.fails = true;
    assert_null(uvzk__malloc(1));
    assert_null(uvzk__calloc(1, 1));
    assert_null(uvzk__realloc(NULL, 1));
    assert_null(uvzk__memdup("x", 1));
    assert_null(uvzk__memdup(NULL, 0));
    assert_null(uvzk__strdup("x"));
}

static void an_incomplete_replacement_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(uvzk_replace_allocator(NULL, realloc, calloc, free), UV_EINVAL);
    assert_int_equal(uvzk_replace_allocator(malloc, NULL, calloc, free), UV_EINVAL);
    assert_int_equal(uvzk_replace_allocator(malloc, realloc, NULL, free), UV_EINVAL);
    assert_int_equal(uvzk_replace_allocator(malloc, realloc, calloc, NULL), UV_EINVAL);
    void *memory = uvzk__calloc(1, 1);
    memory = uvzk__realloc(memory, 2);
    uvzk__free(memory);
    uvzk__free(uvzk__malloc(1));
    assert_int_equal(seen.mallocs, 1);
    assert_int_equal(seen.reallocs, 1);
    assert_int_equal(seen.callocs, 1);
    assert_int_equal(seen.frees, 2);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, replace_all, restore)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_call_goes_to_its_hook),
        CASE(free_of_null_is_nothing),
        CASE(copies_go_through_the_hook),
        CASE(a_copy_of_nothing_is_one_byte),
        CASE(failures_are_told),
        CASE(an_incomplete_replacement_changes_nothing),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
