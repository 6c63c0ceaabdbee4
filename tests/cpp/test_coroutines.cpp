/* SPDX-License-Identifier: Apache-2.0 */
/* co_await of what uvzk.hpp's calls return, and the ends of coroutines that wait. */
#include "kit.hpp"

using namespace std::chrono_literals;
using uvzk::status;

namespace {

uvzk::task<> take_and_release(uvzk::lock &lock, int &steps)
{
    uvzk::result<uvzk::hold> got = co_await lock.acquire(10s);
    CHECK(bool(got) && got->is_valid());
    steps++;
    CHECK((co_await got->verify()).code() == 0);
    CHECK((co_await lock.acquire(100ms)).code() == UV_ETIMEDOUT);
    CHECK((co_await got->release()).code() == 0);
    steps++;
}

void test_awaits()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    int steps = 0;

    CHECK(bool(take_and_release(lock, steps)));
    CHECK(steps == 0);
    CHECK(comes([&] { return steps == 2; }));
    CHECK(uvzk_sim_children("/locks/a") == 0);
}

uvzk::task<> await_refused(int &steps)
{
    uvzk::lock empty;
    uvzk::future<uvzk::hold> twice;
    CHECK((co_await empty.acquire()).code() == UVZK_ECLOSED);
    CHECK((co_await twice).code() == UVZK_ESTATE);
    CHECK((co_await uvzk::hold().release()).code() == UVZK_ENOTHELD);
    steps++;
}

void test_goes_on_at_once_when_refused()
{
    int steps = 0;
    CHECK(bool(await_refused(steps)));
    CHECK(steps == 1);
}

uvzk::task<> await_kept(uvzk::future<uvzk::hold> &kept, status &how)
{
    how = co_await kept;
}

void test_awaits_what_is_kept()
{
    for (bool ends : {false, true}) {
        world world;
        uvzk::client client = open_client();
        uvzk::lock lock = make_mutex(client);
        uvzk::future<uvzk::hold> kept = lock.acquire();
        status how = 1, second = 1;

        CHECK(bool(await_kept(kept, how)));
        CHECK(bool(await_kept(kept, second)));
        CHECK(how == status(1) && second == status(UV_EBUSY));
        if (ends) { /* it is the coroutine's as well */
            kept = uvzk::future<uvzk::hold>();
        }
        CHECK(comes([&] { return how == status(0); }));
        CHECK(comes([&] { return !lock.is_held(); })); /* the hold ended there */
    }
}

owned hold_until_destroyed(uvzk::lock &lock, bool &has)
{
    uvzk::result<uvzk::hold> got = co_await lock.acquire();
    has = bool(got);
    co_await got->verify();
    co_await std::suspend_always();
}

void test_is_destroyed_while_it_waits()
{
    for (std::uint64_t ms : {0U, 10U, 30U, 50U, 70U, 90U, 120U, 1000U}) {
        world world;
        uvzk::client client = open_client();
        uvzk::lock lock = make_mutex(client);
        bool has = false, has_too = false;
        owned first = hold_until_destroyed(lock, has);
        owned second = hold_until_destroyed(lock, has_too);

        run(ms);
        second.handle.destroy();
        first.handle.destroy();
        run(1000);
        CHECK(!lock.is_held() && !has_too && uvzk_sim_children("/locks/a") == 0);
    }
}

owned await_kept_until_destroyed(uvzk::future<uvzk::hold> &kept)
{
    (void)co_await kept;
}

void test_leaves_a_kept_future_when_it_is_destroyed()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    uvzk::future<uvzk::hold> kept = lock.acquire();

    await_kept_until_destroyed(kept).handle.destroy();
    CHECK(bool(await(std::move(kept))));
}

uvzk::task<> end_all(uvzk::client &client, uvzk::lock &lock, status &how)
{
    uvzk::result<uvzk::hold> got = co_await lock.acquire();
    uvzk::client ends = std::move(client);
    co_await got->verify();
    how = co_await ends.close();
    CHECK(!*got && got->lost() == status(UVZK_ECLOSED));
}

void test_closes_the_client_it_uses()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    status how = 1;

    CHECK(bool(end_all(client, lock, how)));
    CHECK(comes([&] { return how == status(0); }));
    CHECK(uvzk_sim_sessions() == 0);
}

uvzk::task<> wait_for_ever(uvzk::lock &lock, status &how)
{
    how = co_await lock.acquire();
}

void test_goes_on_when_the_lock_ends()
{
    world world;
    uvzk::client client = open_client();
    status how = 1;
    {
        uvzk::lock lock = make_mutex(client);
        uvzk::hold first = take(lock);
        CHECK(bool(wait_for_ever(lock, how)));
        run(100);
    }
    CHECK(comes([&] { return how == status(UVZK_ECLOSED); }));
}

} // namespace

int main()
{
    test_awaits();
    test_goes_on_at_once_when_refused();
    test_awaits_what_is_kept();
    test_is_destroyed_while_it_waits();
    test_leaves_a_kept_future_when_it_is_destroyed();
    test_closes_the_client_it_uses();
    test_goes_on_when_the_lock_ends();
    std::puts("all of the coroutines' tests");
}
