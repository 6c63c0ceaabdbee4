/* SPDX-License-Identifier: Apache-2.0 */
/* sleep_for, on a loop of libuv, and its ends. */
#include "kit.hpp"
#include "memory.hpp"

#include <vector>

using namespace std::chrono_literals;
using uvzk::status;

namespace {

/* A loop on which nothing may be left. */
struct loop {
    uv_loop_t c;

    loop()
    {
        CHECK(uv_loop_init(&c) == 0);
    }
    loop(const loop &) = delete;
    loop &operator=(const loop &) = delete;
    ~loop()
    {
        run();
        CHECK(uv_loop_close(&c) == 0);
    }
    void run()
    {
        CHECK(uv_run(&c, UV_RUN_DEFAULT) == 0);
    }
};

void test_waits()
{
    loop loop;
    std::uint64_t begin = (uv_update_time(&loop.c), uv_now(&loop.c));
    std::vector<int> order;
    uvzk::future<void> kept = uvzk::sleep_for(&loop.c, 5ms);

    CHECK(!kept.done() && kept.take() == status(UV_EAGAIN));
    uvzk::sleep_for(&loop.c, 40ms).then([&](status how) {
        CHECK(bool(how) && uv_now(&loop.c) - begin >= 40);
        order.push_back(3);
    });
    uvzk::sleep_for(&loop.c, 20ms).then([&](status) { order.push_back(2); });
    uvzk::sleep_for(&loop.c, 0ms).then([&](status) { order.push_back(1); });
    CHECK(order.empty());
    loop.run();
    CHECK(order == std::vector<int>({1, 2, 3}));
    CHECK(kept.done() && bool(kept.take()) && kept.take() == status(UVZK_ESTATE));
}

/* By the clock, although the loop's has stood still while the callback ran. */
void test_does_not_end_early_in_a_long_callback()
{
    loop loop;
    std::uint64_t begin = 0, end = 0;

    uvzk::sleep_for(&loop.c, 0ms).then([&](status) {
        uv_sleep(30); /* what this test is about */
        begin = uv_hrtime();
        uvzk::sleep_for(&loop.c, 20ms).then([&](status) { end = uv_hrtime(); });
    });
    loop.run();
    CHECK(end - begin >= 15 * UINT64_C(1000000)); /* the clocks are not as exact */
}

void test_refuses()
{
    loop loop;
    bool called = false;
    auto call = [&](status) { called = true; };

    CHECK(uvzk::sleep_for(nullptr, 1ms).state() == status(UV_EINVAL));
    CHECK(uvzk::sleep_for(&loop.c, -1ms).then(call) == status(UV_EINVAL));
    uvzk::future<void> timer = uvzk::sleep_for(&loop.c, 0ms);
    CHECK(timer.cancel() == status(UVZK_ESTATE));
    CHECK(timer.deadline(1ms) == status(UVZK_ESTATE));
    CHECK(uvzk::all_of(timer).take().code() == UVZK_ESTATE);
    loop.run();
    CHECK(!called && bool(timer.take()));
}

void test_destroys_it_while_it_is_pending()
{
    loop loop;
    bool called = false;
    {
        uvzk::future<void> timer = uvzk::sleep_for(&loop.c, 24h);
        CHECK(bool(timer.then([&](status) { called = true; })));
        (void)uv_run(&loop.c, UV_RUN_NOWAIT);
    }
    uvzk::future<void> moved, timer = uvzk::sleep_for(&loop.c, 24h);
    moved = std::move(timer);
    moved = uvzk::sleep_for(&loop.c, 0ms); /* the first one ends */
    loop.run();                            /* and does not wait a day for any of them */
    CHECK(!called && moved.done());
}

void test_destroys_it_in_its_own_callback()
{
    loop loop;
    uvzk::future<void> timer = uvzk::sleep_for(&loop.c, 1ms);
    int called = 0;

    CHECK(bool(timer.then([&](status) {
        called++;
        timer = uvzk::sleep_for(&loop.c, 1ms);
    })));
    loop.run();
    CHECK(called == 1 && timer.done());
}

#ifdef UVZK_COROUTINES
uvzk::task<> sleep_twice(uv_loop_t *loop, int &steps)
{
    CHECK(bool(co_await uvzk::sleep_for(loop, 5ms)));
    steps++;
    CHECK((co_await uvzk::sleep_for(loop, -5ms)) == status(UV_EINVAL));
    CHECK(bool(co_await uvzk::sleep_for(loop, 0ms)));
    steps++;
}

owned sleep_a_day(uv_loop_t *loop, int &steps)
{
    co_await uvzk::sleep_for(loop, 0ms);
    steps++;
    co_await uvzk::sleep_for(loop, 24h);
    steps++;
}

void test_awaits()
{
    loop loop;
    int steps = 0, others = 0;

    CHECK(bool(sleep_twice(&loop.c, steps)));
    CHECK(bool(sleep_twice(&loop.c, others)));
    CHECK(steps == 0);
    loop.run();
    CHECK(steps == 2 && others == 2);
}

void test_destroys_the_coroutine()
{
    for (int until : {0, 1}) {
        loop loop;
        int steps = 0;
        owned coroutine = sleep_a_day(&loop.c, steps);

        while (steps < until) {
            (void)uv_run(&loop.c, UV_RUN_ONCE);
        }
        coroutine.handle.destroy();
        loop.run(); /* at once */
        CHECK(steps == until);
    }
}
#endif

bool sleep_without_memory()
{
    loop loop;
    uvzk::future<void> timer = uvzk::sleep_for(&loop.c, 0ms);
    status told = 1;

    bool refused = !timer.then([&](status how) { told = how; });
    loop.run();
    return bool(told) ||
           (refused && (timer.state() == status(UV_ENOMEM) || timer.done()));
}

} // namespace

int main()
{
    test_waits();
    test_does_not_end_early_in_a_long_callback();
    test_refuses();
    test_destroys_it_while_it_is_pending();
    test_destroys_it_in_its_own_callback();
#ifdef UVZK_COROUTINES
    test_awaits();
    test_destroys_the_coroutine();
#endif
    CHECK(fail_each_allocation(sleep_without_memory) == 3);
    std::puts("all of the timers' tests");
}
