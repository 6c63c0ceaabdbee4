/* SPDX-License-Identifier: Apache-2.0 */
/* The submit thread, and what it is given by the window, over a client that takes
 * requests when the test lets it. */
#include "cmocka_test.h"

#include <pthread.h>
#include <string.h>

#include "log/log_route.h"
#include "requests/outstanding.h"
#include "requests/request.h"
#include "requests/send_window.h"
#include "requests/submit_thread.h"

enum { COUNT = UVZK__DIRECT_SENDS + 3 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const void *called[COUNT]; /* requests, in the order of the calls */
    unsigned calls, returned;
    bool path_is_as_it_was;
    bool shut; /* calls do not return, but to the loop's thread */
    pthread_t loop;
    int code;
} client = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Instead of the C client's. */
int zoo_awexists(zhandle_t *zh, const char *path, watcher_fn watcher, void *context,
                 stat_completion_t completion, const void *data)
{
    (void)zh;
    (void)watcher;
    (void)context;
    (void)completion;
    pthread_mutex_lock(&client.mutex);
    assert_string_equal(path, "/a");
    client.called[client.calls++] = data;
    pthread_cond_broadcast(&client.changed);
    while (client.shut && !pthread_equal(pthread_self(), client.loop)) {
        pthread_cond_wait(&client.changed, &client.mutex);
    }
    client.path_is_as_it_was &= strcmp(path, "/a") == 0; /* as when it is logged */
    client.returned++;
    int code = client.code;
    pthread_mutex_unlock(&client.mutex);
    return code;
}

static void await_calls(unsigned calls)
{
    pthread_mutex_lock(&client.mutex);
    while (client.calls < calls) {
        pthread_cond_wait(&client.changed, &client.mutex);
    }
    pthread_mutex_unlock(&client.mutex);
}

static void set_shut(bool shut)
{
    pthread_mutex_lock(&client.mutex);
    client.shut = shut;
    pthread_cond_broadcast(&client.changed);
    pthread_mutex_unlock(&client.mutex);
}

static struct uvzk__to_loop to_loop;
static struct uvzk__outstanding outstanding;
static const struct uvzk__log_route log_route;
static struct uvzk__send_window window;
static struct uvzk__submit_thread *const submit_thread = &window.submit_thread;
/* The client above does not look at it. */
static char zhandle;
static struct uvzk__rpc rpcs[COUNT];
static struct uvzk__request *requests[COUNT];
static const struct uvzk__request *landed;

static void on_landed(struct uvzk__to_loop_entry *entry)
{
    landed = UVZK__CONTAINER_OF(entry, struct uvzk__request, to_loop_entry);
}

static struct uvzk__dialect dialect;

static void on_returned(struct uvzk__send_window *its_window)
{
    assert_ptr_equal(its_window, &window);
}

static int begin(void **state)
{
    (void)state;
    client.calls = client.returned = 0;
    client.path_is_as_it_was = true;
    client.shut = false;
    client.code = ZOK;
    client.loop = pthread_self();
    landed = NULL;
    window = (struct uvzk__send_window){.zh = NULL};
    if (uvzk__to_loop_init(&to_loop) < 0 ||
        uvzk__send_window_init(&window, &outstanding, &to_loop, &log_route, &dialect,
                               false) < 0) {
        return -1;
    }
    window.returned = on_returned;
    for (int i = 0; i < COUNT; i++) {
        rpcs[i] = (struct uvzk__rpc){.kind = UVZK__RPC_EXISTS, .path = "/a"};
        requests[i] = uvzk__request_new(&window, &rpcs[i], 0);
        requests[i]->arrive = on_landed;
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    set_shut(false);
    uvzk__submit_thread_end(submit_thread);
    uvzk__send_window_destroy(&window);
    uvzk__to_loop_destroy(&to_loop);
    for (int i = 0; i < COUNT; i++) {
        uvzk__request_free(requests[i]);
    }
    return 0;
}

static void hand(int from, int to)
{
    for (int i = from; i < to; i++) {
        assert_true(uvzk__submit_thread_push(submit_thread, requests[i]));
    }
}

static void assert_given(int count)
{
    await_calls((unsigned)count);
    for (int i = 0; i < count; i++) {
        assert_ptr_equal(client.called[i], requests[i]);
    }
}

static void gives_in_order(void **state)
{
    (void)state;
    assert_true(uvzk__submit_thread_is_idle(submit_thread));
    hand(0, COUNT);
    assert_given(COUNT);
}

/* The answer may be there before the call returns, and the path another one's. */
static void keeps_the_path_for_the_call(void **state)
{
    char path[] = "/a";
    struct uvzk__link recalled;
    (void)state;
    rpcs[0].path = path;
    set_shut(true);
    hand(0, 1);
    await_calls(1);
    path[1] = 'b';
    set_shut(false);
    uvzk__submit_thread_take_back(submit_thread, &recalled); /* waits for the call */
    assert_true(client.path_is_as_it_was);
}

/* It has been sleeping when there is more. */
static void gives_again(void **state)
{
    struct uvzk__link recalled;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        hand(i, i + 1);
        assert_given(i + 1);
        uvzk__submit_thread_take_back(submit_thread, &recalled);
        assert_true(uvzk__list_empty(&recalled));
        assert_true(uvzk__submit_thread_is_idle(submit_thread));
    }
}

static void who_hands_does_not_wait(void **state)
{
    (void)state;
    set_shut(true);
    hand(0, 1);
    await_calls(1);
    hand(1, 3);
    assert_false(uvzk__submit_thread_is_idle(submit_thread)); /* nor does who asks */
    assert_int_equal(client.calls, 1);
    set_shut(false);
    assert_given(3);
}

static void one_in_a_call_is_not_idle(void **state)
{
    (void)state;
    set_shut(true);
    hand(0, 1);
    await_calls(1);
    assert_false(uvzk__submit_thread_is_idle(submit_thread));
    set_shut(false);
}

/* Opens the client when all has been taken back. */
static void *open_in_time(void *context)
{
    bool taken_back = false;
    (void)context;
    while (!taken_back) {
        pthread_mutex_lock(&submit_thread->mutex);
        taken_back = uvzk__list_empty(&submit_thread->queue);
        pthread_mutex_unlock(&submit_thread->mutex);
    }
    set_shut(false);
    return NULL;
}

static void recalls_what_has_not_been_given(void **state)
{
    struct uvzk__link recalled;
    pthread_t opener;
    (void)state;
    set_shut(true);
    hand(0, 1);
    await_calls(1);
    hand(1, 3);
    assert_int_equal(pthread_create(&opener, NULL, open_in_time, NULL), 0);
    uvzk__submit_thread_take_back(submit_thread, &recalled);
    assert_int_equal(client.returned, 1); /* it is in no call any more */
    assert_int_equal(client.calls, 1);
    pthread_join(opener, NULL);
    assert_ptr_equal(uvzk__submit_thread_next_taken_back(&recalled), requests[2]);
    assert_ptr_equal(uvzk__submit_thread_next_taken_back(&recalled), requests[1]);
    assert_null(uvzk__submit_thread_next_taken_back(&recalled));
    hand(1, COUNT); /* it goes on */
    assert_given(COUNT);
}

static void what_the_client_refuses_lands(void **state)
{
    (void)state;
    client.code = ZINVALIDSTATE;
    hand(0, 1);
    while (landed == NULL) {
        uvzk__to_loop_drain(&to_loop);
    }
    assert_ptr_equal(landed, requests[0]);
    assert_true(landed->refused);
    assert_int_equal(landed->code, ZINVALIDSTATE);
}

static void takes_nothing_once_it_has_retired(void **state)
{
    (void)state;
    hand(0, 1);
    submit_thread->unavailable = true;
    assert_false(uvzk__submit_thread_push(submit_thread, requests[1]));
    assert_given(1);
}

/* A stack that no machine has. */
static void without_a_thread_takes_nothing(void **state)
{
    pthread_attr_t usual, vast;
    (void)state;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    pthread_attr_init(&vast);
    pthread_attr_setstacksize(&vast, SIZE_MAX / 2 + 1);
    assert_int_equal(pthread_setattr_default_np(&vast), 0);
    assert_false(uvzk__submit_thread_push(submit_thread, requests[0]));
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    assert_false(
        uvzk__submit_thread_push(submit_thread, requests[0])); /* nor is it tried again */
    assert_true(uvzk__submit_thread_is_idle(submit_thread));
    pthread_attr_destroy(&vast);
    pthread_attr_destroy(&usual);
}

/* ------------------------------------------------------------------- the window */

/* Another request, which leaves at once. */
static void submit(int i)
{
    uvzk__list_append(&window.waiting, &requests[i]->link);
    uvzk__send_window_pump(&window);
}

/* The submit thread is in a call, behind those that the loop has given. */
static void give_few_and_one(void)
{
    uvzk__send_window_connect(&window, (zhandle_t *)(void *)&zhandle);
    window.answered = true;
    uvzk__list_init(&window.waiting);
    for (int i = 0; i < COUNT; i++) {
        uvzk__list_init(&requests[i]->link);
    }
    set_shut(true);
    for (int i = 0; i < UVZK__DIRECT_SENDS; i++) {
        submit(i);
        assert_int_equal(client.returned, i + 1);
    }
    submit(UVZK__DIRECT_SENDS);
    await_calls(UVZK__DIRECT_SENDS + 1);
    assert_int_equal(client.returned, UVZK__DIRECT_SENDS);
    assert_int_equal(window.in_flight, UVZK__DIRECT_SENDS + 1);
}

static void land(int i)
{
    requests[i]->arrive(&requests[i]->to_loop_entry);
}

static void land_the_few(void)
{
    for (int i = 0; i < UVZK__DIRECT_SENDS; i++) {
        land(i);
    }
}

/* Although few are under way. */
static void nothing_overtakes_the_submit_thread(void **state)
{
    (void)state;
    give_few_and_one();
    land_the_few();
    assert_int_equal(window.in_flight, 1);
    submit(UVZK__DIRECT_SENDS + 1);
    assert_int_equal(client.calls, UVZK__DIRECT_SENDS + 1);
    set_shut(false);
    assert_given(UVZK__DIRECT_SENDS + 2);
}

static void the_loop_gives_until_there_is_an_answer(void **state)
{
    (void)state;
    give_few_and_one();
    set_shut(false);
    while (!uvzk__submit_thread_is_idle(submit_thread)) {
    }
    window.answered = false;
    set_shut(true);
    submit(UVZK__DIRECT_SENDS + 1);
    assert_int_equal(client.returned, UVZK__DIRECT_SENDS + 2);
}

static void what_is_refused_is_not_under_way(void **state)
{
    (void)state;
    give_few_and_one();
    client.code = ZINVALIDSTATE;
    requests[UVZK__DIRECT_SENDS]->arrive = on_landed;
    requests[UVZK__DIRECT_SENDS]->rpc = NULL;
    set_shut(false);
    while (landed == NULL) {
        uvzk__to_loop_drain(&to_loop);
    }
    requests[UVZK__DIRECT_SENDS]->arrive = requests[0]->arrive;
    window.answered = false;
    land(UVZK__DIRECT_SENDS); /* it is freed, being nobody's any more */
    requests[UVZK__DIRECT_SENDS] =
        uvzk__request_new(&window, &rpcs[UVZK__DIRECT_SENDS], 0);
    assert_int_equal(window.in_flight, UVZK__DIRECT_SENDS);
    assert_false(window.answered);
}

static void what_is_recalled_waits_in_its_place(void **state)
{
    pthread_t opener;
    (void)state;
    give_few_and_one();
    submit(UVZK__DIRECT_SENDS + 1);
    submit(UVZK__DIRECT_SENDS + 2);
    assert_int_equal(pthread_create(&opener, NULL, open_in_time, NULL), 0);
    uvzk__send_window_disconnect(&window);
    uvzk__send_window_take_back(&window);
    pthread_join(opener, NULL);
    assert_int_equal(window.in_flight, UVZK__DIRECT_SENDS + 1);
    assert_true(requests[UVZK__DIRECT_SENDS]->sent);
    assert_false(requests[UVZK__DIRECT_SENDS + 1]->sent);
    assert_ptr_equal(window.waiting.next, &requests[UVZK__DIRECT_SENDS + 1]->link);
    assert_ptr_equal(window.waiting.prev, &requests[UVZK__DIRECT_SENDS + 2]->link);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(gives_in_order),
        CASE(keeps_the_path_for_the_call),
        CASE(gives_again),
        CASE(who_hands_does_not_wait),
        CASE(one_in_a_call_is_not_idle),
        CASE(recalls_what_has_not_been_given),
        CASE(what_the_client_refuses_lands),
        CASE(takes_nothing_once_it_has_retired),
        CASE(without_a_thread_takes_nothing),
        CASE(nothing_overtakes_the_submit_thread),
        CASE(the_loop_gives_until_there_is_an_answer),
        CASE(what_is_refused_is_not_under_way),
        CASE(what_is_recalled_waits_in_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
