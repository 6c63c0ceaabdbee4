/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_test.h"

#include "base/list.h"
#include "seeded.h"

struct item {
    int value;
    struct uvzk__link link;
};

static int value_of(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct item, link)->value;
}

/* Both directions tell the same: `count` values, first to last. */
static void assert_values(struct uvzk__link *head, const int *values, size_t count)
{
    assert_int_equal(uvzk__list_empty(head), count == 0);
    struct uvzk__link *link = head;
    for (size_t i = 0; i < count; i++) {
        link = link->next;
        assert_ptr_not_equal(link, head);
        assert_ptr_equal(link->prev->next, link);
        assert_int_equal(value_of(link), values[i]);
    }
    assert_ptr_equal(link->next, head);
    assert_ptr_equal(head->prev, link);
}

static void fill(struct uvzk__link *head, struct item *items, int count)
{
    uvzk__list_init(head);
    for (int i = 0; i < count; i++) {
        items[i].value = i;
        uvzk__list_append(head, &items[i].link);
    }
}

static void a_container_is_found_by_its_member(void **state)
{
    (void)state;
    struct item item = {.value = 5};
    assert_ptr_equal(UVZK__CONTAINER_OF(&item.link, struct item, link), &item);
}

static void append_goes_to_the_tail(void **state)
{
    (void)state;
    struct uvzk__link head;
    struct item items[3];
    uvzk__list_init(&head);
    assert_values(&head, NULL, 0);
    fill(&head, items, 3);
    assert_values(&head, (const int[]){0, 1, 2}, 3);
}

static void insert_before_keeps_the_place(void **state)
{
    (void)state;
    struct uvzk__link head;
    struct item items[2], first = {.value = 10}, middle = {.value = 11};
    fill(&head, items, 2);
    uvzk__list_insert_before(&items[0].link, &first.link);
    uvzk__list_insert_before(&items[1].link, &middle.link);
    assert_values(&head, (const int[]){10, 0, 11, 1}, 4);
}

static void remove_unlinks_once_and_again(void **state)
{
    (void)state;
    struct uvzk__link head;
    struct item items[3];
    fill(&head, items, 3);
    uvzk__list_remove(&items[1].link);
    assert_values(&head, (const int[]){0, 2}, 2);
    assert_true(uvzk__list_empty(&items[1].link));
    uvzk__list_remove(&items[1].link);
    assert_values(&head, (const int[]){0, 2}, 2);
    uvzk__list_remove(&items[0].link);
    uvzk__list_remove(&items[2].link);
    assert_values(&head, NULL, 0);
}

static void take_empties_from_the_front(void **state)
{
    (void)state;
    struct uvzk__link head;
    struct item items[2];
    fill(&head, items, 2);
    assert_ptr_equal(uvzk__list_take(&head), &items[0].link);
    assert_true(uvzk__list_empty(&items[0].link));
    assert_ptr_equal(uvzk__list_take(&head), &items[1].link);
    assert_null(uvzk__list_take(&head));
    assert_values(&head, NULL, 0);
}

static void move_leaves_an_empty_list_that_can_grow(void **state)
{
    (void)state;
    struct uvzk__link from, to;
    struct item items[3], late = {.value = 9};
    for (int count = 0; count <= 3; count++) {
        fill(&from, items, count);
        uvzk__list_move(&from, &to);
        assert_values(&to, (const int[]){0, 1, 2}, (size_t)count);
        assert_values(&from, NULL, 0);
        uvzk__list_append(&from, &late.link);
        assert_values(&from, (const int[]){9}, 1);
        assert_values(&to, (const int[]){0, 1, 2}, (size_t)count);
    }
}

#define ITEMS 12

/* The same operations on an array. */
static void lists_agree_with_an_array(void **state)
{
    (void)state;
    struct seeded random = seeded_begin();
    struct item items[ITEMS];
    int values[ITEMS];
    size_t count = 0;
    struct uvzk__link head;
    uvzk__list_init(&head);
    for (int i = 0; i < ITEMS; i++) {
        items[i].value = i;
        uvzk__list_init(&items[i].link);
    }
    for (int step = 0; step < 5000; step++) {
        int chosen = (int)seeded_below(&random, ITEMS);
        size_t at = 0;
        while (at < count && values[at] != chosen) {
            at++;
        }
        if (at < count) {
            uvzk__list_remove(&items[chosen].link);
            for (count--; at < count; at++) {
                values[at] = values[at + 1];
            }
        } else {
            at = seeded_below(&random, (uint32_t)count + 1);
            uvzk__list_insert_before(at == count ? &head : &items[values[at]].link,
                                     &items[chosen].link);
            for (size_t i = count++; i > at; i--) {
                values[i] = values[i - 1];
            }
            values[at] = chosen;
        }
        assert_values(&head, values, count);
    }
}

static void assert_ring(const struct uvzk__ring *ring, const int *values, size_t count)
{
    struct uvzk__link *link = uvzk__ring_first(ring);

    assert_int_equal(uvzk__ring_length(ring), count);
    assert_int_equal(uvzk__ring_empty(ring), count == 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(UVZK__CONTAINER_OF(link, struct item, link)->value, values[i]);
        link = uvzk__ring_next(ring, link);
    }
    assert_null(link);
    link = uvzk__ring_last(ring);
    for (size_t i = count; i > 0; i--) {
        assert_int_equal(UVZK__CONTAINER_OF(link, struct item, link)->value,
                         values[i - 1]);
        link = uvzk__ring_prev(ring, link);
    }
    assert_null(link);
}

static void rings_agree_with_an_array(void **state)
{
    (void)state;
    struct seeded random = seeded_begin();
    struct item items[ITEMS];
    int values[ITEMS];
    size_t count = 0;
    struct uvzk__ring ring = {NULL};
    for (int i = 0; i < ITEMS; i++) {
        items[i].value = i;
    }
    for (int step = 0; step < 5000; step++) {
        int chosen = (int)seeded_below(&random, ITEMS);
        size_t at = 0;
        while (at < count && values[at] != chosen) {
            at++;
        }
        if (at < count) {
            uvzk__ring_remove(&ring, &items[chosen].link);
            for (count--; at < count; at++) {
                values[at] = values[at + 1];
            }
        } else {
            at = seeded_below(&random, (uint32_t)count + 1);
            uvzk__ring_insert_before(&ring, at == count ? NULL : &items[values[at]].link,
                                     &items[chosen].link);
            for (size_t i = count++; i > at; i--) {
                values[i] = values[i - 1];
            }
            values[at] = chosen;
        }
        assert_ring(&ring, values, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_is_found_by_its_member),
        cmocka_unit_test(append_goes_to_the_tail),
        cmocka_unit_test(insert_before_keeps_the_place),
        cmocka_unit_test(remove_unlinks_once_and_again),
        cmocka_unit_test(take_empties_from_the_front),
        cmocka_unit_test(move_leaves_an_empty_list_that_can_grow),
        cmocka_unit_test(lists_agree_with_an_array),
        cmocka_unit_test(rings_agree_with_an_array),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
