/* SPDX-License-Identifier: Apache-2.0 */
/* all_of, any_of and n_of: of ranges, whose parts the caller keeps, and of futures of
 * several types, whose results come together. */
#include "kit.hpp"
#include "memory.hpp"

#include <array>
#include <vector>
#ifdef UVZK_COROUTINES
#include <span>
#endif

using namespace std::chrono_literals;
using uvzk::status;

namespace {

uvzk::client open_connected()
{
    uvzk::client client = open_client();
    CHECK(comes([&] { return client.state() == UVZK_STATE_CONNECTED; }));
    return client;
}

/* Three locks, of which another client has the second. */
struct three {
    world around;
    uvzk::client client = open_connected(), other = open_connected();
    std::vector<uvzk::lock> locks;
    uvzk::lock taken = make_mutex(other, "/b");
    uvzk::hold in_the_way = take(taken);

    three()
    {
        for (const char *path : {"/a", "/b", "/c"}) {
            locks.push_back(make_mutex(client, path));
        }
    }
    std::vector<uvzk::future<uvzk::hold>> acquire(uvzk::milliseconds timeout = 10s)
    {
        std::vector<uvzk::future<uvzk::hold>> parts;
        for (uvzk::lock &lock : locks) {
            parts.push_back(lock.acquire(timeout));
        }
        return parts;
    }
    bool is_idle() const
    {
        return uvzk_sim_children("/a") == 0 && uvzk_sim_children("/b") == 1 &&
               uvzk_sim_children("/c") == 0;
    }
};

/* ---------------------------------------------------------------------- of ranges */

template <class Range> void have_two(Range &&parts)
{
    uvzk::future<void> two = uvzk::n_of(parts, 2);

    CHECK(comes([&] { return two.done(); }));
    CHECK(bool(two.state()) && two.winner() != 1 && two.winner(1) != 1);
    uvzk::result<uvzk::hold> a = parts[0].take(), c = parts[2].take();
    CHECK(bool(a) && bool(c) && parts[1].take().code() == UV_ECANCELED);
}

void test_takes_ranges()
{
    three world;
    std::vector<uvzk::future<uvzk::hold>> parts = world.acquire();
    have_two(parts);
    uvzk::future<uvzk::hold> four[3];
    std::move(parts.begin(), parts.end(), four);
    parts = world.acquire();
    std::array<uvzk::future<uvzk::hold>, 3> three;
    std::move(parts.begin(), parts.end(), three.begin());
    have_two(three);
    parts = world.acquire();
    std::move(parts.begin(), parts.end(), four);
    have_two(four);
#ifdef UVZK_COROUTINES
    parts = world.acquire();
    have_two(std::span<uvzk::future<uvzk::hold>>(parts));
#endif
    parts = world.acquire();
    CHECK(await(uvzk::any_of(parts)).code() == 0);
    world.in_the_way.release();
    parts = world.acquire();
    CHECK(await(uvzk::all_of(parts)).code() == 0);
}

template <class Range, class = void> struct is_taken : std::false_type {
};
template <class Range>
struct is_taken<Range, std::void_t<decltype(uvzk::all_of(std::declval<Range>()))>>
    : std::true_type {
};
using parts_of_a_lock = std::vector<uvzk::future<uvzk::hold>>;
static_assert(is_taken<parts_of_a_lock &>::value);
static_assert(!is_taken<parts_of_a_lock>::value, "its parts would end with the call");
static_assert(!is_taken<const parts_of_a_lock &>::value);
static_assert(!is_taken<std::vector<int> &>::value);
static_assert(!is_taken<const uvzk::future<void> &>::value);

void test_refuses_ranges()
{
    three world;
    std::vector<uvzk::future<uvzk::hold>> none, parts = world.acquire();

    CHECK(uvzk::all_of(none).state() == status(UV_EINVAL));
    CHECK(uvzk::any_of(none).state() == status(UV_EINVAL));
    CHECK(uvzk::n_of(parts, 0).state() == status(UV_EINVAL));
    CHECK(uvzk::n_of(parts, 4).state() == status(UV_EINVAL));
    parts.push_back(uvzk::lock().acquire());
    CHECK(uvzk::any_of(parts).state() == status(UVZK_ECLOSED));
    parts.pop_back();
    uvzk::future<void> first = uvzk::n_of(parts, 2);
    CHECK(uvzk::any_of(parts).state() == status(UV_EBUSY));
    CHECK(await(std::move(first)).code() == 0); /* refusals have changed nothing */
}

void test_fails_with_a_range()
{
    three world;
    std::vector<uvzk::future<uvzk::hold>> parts = world.acquire(500ms);
    uvzk::future<void> all = uvzk::all_of(parts);

    CHECK(await(std::move(all)).code() == UV_ETIMEDOUT);
    uvzk::result<uvzk::hold> first = parts[0].take();
    CHECK(!first || !*first); /* it was acquired, and is not held any more */
    CHECK(parts[1].take().code() == UV_ETIMEDOUT);
    run(1000);
    CHECK(world.is_idle()); /* what had been acquired was released */
}

void test_destroys_a_combination_of_a_range()
{
    for (std::uint64_t ms : {0U, 1U, 20U, 40U, 80U, 1000U}) {
        three world;
        std::vector<uvzk::future<uvzk::hold>> parts = world.acquire();
        bool called = false;
        {
            uvzk::future<void> all = uvzk::all_of(parts);
            CHECK(bool(all.then([&](status) { called = true; })));
            run(ms);
        }
        CHECK(parts[1].state() == status(UV_ECANCELED));
        run(1000);
        CHECK(world.is_idle() && !called);
    }
}

void test_destroys_the_parts_of_a_range()
{
    three world;
    std::vector<uvzk::future<uvzk::hold>> parts = world.acquire();
    uvzk::future<void> all = uvzk::all_of(parts);

    run(1000);
    parts.clear(); /* nobody keeps them any more */
    CHECK(await(std::move(all)).code() == UV_ECANCELED);
    run(1000);
    CHECK(world.is_idle());
}

/* ------------------------------------------------------------- of several types */

void test_takes_the_results_together()
{
    world world;
    uvzk::client client = open_connected();
    uvzk::lock from = make_mutex(client, "/from"), to = make_mutex(client, "/to");

    auto got = await(uvzk::all_of(from.acquire(), to.acquire(), client.read("/")));
    CHECK(bool(got));
    {
        auto [debit, credit, root] = std::move(*got);
        CHECK(debit.is_valid() && credit.is_valid() && root.view().empty());
        CHECK(debit.path().substr(0, 6) == "/from/" && from.is_held());
        auto checked = await(uvzk::all_of(debit.verify(), credit.verify()));
        CHECK(bool(checked) && bool(std::get<1>(*checked)));
        auto inner = await(uvzk::all_of(uvzk::all_of(debit.release()), client.read("/")));
        CHECK(bool(inner) && bool(std::get<0>(std::get<0>(*inner))));
    }
    run(1000);
    CHECK(uvzk_sim_children("/from") == 0 && uvzk_sim_children("/to") == 0);
}

void test_calls_back_with_the_results()
{
    world world;
    uvzk::client client = open_connected();
    uvzk::lock from = make_mutex(client, "/from"), to = make_mutex(client, "/to");
    std::tuple<uvzk::hold, uvzk::hold> kept;

    CHECK(bool(uvzk::all_of(from.acquire(), to.acquire()).then([&](auto got) {
        CHECK(bool(got));
        kept = std::move(*got);
    })));
    CHECK(comes([&] { return bool(std::get<1>(kept)); }));
    CHECK(from.is_held() && to.is_held());
}

/* The second of them cannot be had, or is not there. */
void test_fails_with_one_of_them()
{
    three world;

    CHECK(await(uvzk::all_of(world.locks[0].acquire(), world.locks[1].acquire(300ms)))
              .code() == UV_ETIMEDOUT);
    CHECK(await(uvzk::all_of(world.locks[0].acquire(), world.client.read("/nothing")))
              .code() == UVZK_ENONODE);
    uvzk::lock empty;
    auto refused = uvzk::all_of(world.locks[0].acquire(), empty.acquire());
    CHECK(refused.take().code() == UVZK_ECLOSED);
    run(1000);
    CHECK(world.is_idle());
}

void test_refuses_what_cannot_be_combined()
{
    world world;
    uvzk::client client = open_connected(), other = open_connected();
    uvzk::lock lock = make_mutex(client), closes = make_mutex(client, "/b");
    uvzk::lock others = make_mutex(other);
    uvzk::future<uvzk::hold> once = lock.acquire();
    uvzk::future<void> closing = closes.close();

    CHECK(uvzk::all_of(once, once).take().code() == UV_EBUSY);
    CHECK(uvzk::all_of(once, closing).take().code() == UVZK_ESTATE);
    CHECK(uvzk::all_of(once, others.acquire()).take().code() == UV_EINVAL);
    CHECK(uvzk::any_of(once, closing).take().code() == UVZK_ESTATE);
    CHECK(bool(await(std::move(once)))); /* kept, it goes on */
}

void test_destroys_it_while_it_is_pending()
{
    for (std::uint64_t ms : {0U, 1U, 20U, 40U, 80U, 1000U}) {
        three world;
        auto all = uvzk::all_of(world.locks[0].acquire(), world.locks[1].acquire(),
                                world.locks[2].acquire());
        bool called = false;

        CHECK(bool(all.then([&](auto) { called = true; })));
        run(ms);
        all = decltype(all)();
        run(1000);
        CHECK(!called && world.is_idle());
    }
}

void test_destroys_it_with_results_that_nobody_took()
{
    three world;
    {
        auto all = uvzk::all_of(world.locks[0].acquire(), world.locks[2].acquire());
        CHECK(comes([&] { return all.done(); }));
        CHECK(world.locks[0].is_held());
    }
    run(1000);
    CHECK(world.is_idle());
}

void test_shares_what_is_kept()
{
    three world;
    uvzk::future<uvzk::hold> a = world.locks[0].acquire(), c = world.locks[2].acquire();
    {
        auto all = uvzk::all_of(a, c);
        CHECK(comes([&] { return all.done(); }));
        CHECK(bool(a.take())); /* the caller is first */
        CHECK(all.take().code() == UVZK_ESTATE);
    }
    run(1000);
    CHECK(world.is_idle());
    a = world.locks[0].acquire();
    c = world.locks[2].acquire();
    auto all = uvzk::all_of(a, c);
    a = uvzk::future<uvzk::hold>(); /* it is the combination's as well */
    auto got = await(std::move(all));
    CHECK(bool(got) && c.take().code() == UVZK_ESTATE);
}

void test_loses_a_hold_before_the_results_are_taken()
{
    three world;
    auto all = uvzk::all_of(world.locks[0].acquire(), world.client.read("/"));

    CHECK(comes([&] { return all.done(); }));
    CHECK(uvzk_sim_expire(&world.client.native()) == 0);
    CHECK(comes([&] { return !world.locks[0].is_held(); }));
    CHECK(all.take().code() == UVZK_EEXPIRED);
}

void test_any_of_several_types()
{
    three world;
    uvzk::future<uvzk::hold> waits = world.locks[1].acquire();
    uvzk::future<uvzk::znode> read = world.client.read("/");
    uvzk::future<void> any = uvzk::any_of(waits, read);

    CHECK(comes([&] { return any.done(); }));
    CHECK(any.winner() == 1 && bool(read.take()));
    CHECK(waits.take().code() == UV_ECANCELED);
    waits = world.locks[1].acquire(300ms);
    read = world.client.read("/nothing");
    CHECK(await(uvzk::any_of(waits, read)).code() ==
          UVZK_ENONODE); /* the first failure */
}

void test_ends_with_the_client()
{
    three world;
    auto all = uvzk::all_of(world.locks[0].acquire(), world.locks[1].acquire());

    run(1000);
    world.client = uvzk::client();
    CHECK(await(std::move(all)).code() == UVZK_ECLOSED);
}

/* --------------------------------------------------------------------- co_await */

#ifdef UVZK_COROUTINES
uvzk::task<> transfer(uvzk::lock &from, uvzk::lock &to, status &how)
{
    auto both = co_await uvzk::all_of(from.acquire(10s), to.acquire(500ms));
    how = both;
    if (both) {
        auto &[debit, credit] = *both;
        CHECK(debit.is_valid() && credit.is_valid());
        co_await debit.verify();
    }
}

void test_awaits()
{
    three world;
    status how = 1;

    CHECK(bool(transfer(world.locks[0], world.locks[2], how)));
    CHECK(comes([&] { return how == status(0); }));
    CHECK(bool(transfer(world.locks[0], world.locks[1], how)));
    CHECK(comes([&] { return how == status(UV_ETIMEDOUT); }));
    run(1000);
    CHECK(world.is_idle());
}

owned hold_both(uvzk::lock &from, uvzk::lock &to)
{
    auto both = co_await uvzk::all_of(from.acquire(), to.acquire());
    co_await std::get<0>(*both).verify();
    co_await std::suspend_always();
}

owned hold_any(uvzk::lock &from, uvzk::lock &to)
{
    std::vector<uvzk::future<uvzk::hold>> parts;
    parts.push_back(from.acquire());
    parts.push_back(to.acquire());
    co_await uvzk::any_of(parts);
    co_await std::suspend_always();
}

void test_destroys_the_coroutine()
{
    for (std::uint64_t ms : {0U, 10U, 30U, 50U, 70U, 90U, 120U, 1000U}) {
        three world;
        owned coroutines[] = {hold_both(world.locks[0], world.locks[1]),
                              hold_both(world.locks[0], world.locks[2]),
                              hold_any(world.locks[1], world.locks[2])};

        run(ms);
        for (owned &coroutine : coroutines) {
            coroutine.handle.destroy();
        }
        run(1000);
        CHECK(world.is_idle());
    }
}
#endif

/* ------------------------------------------------------------------------ memory */

bool combine_without_memory()
{
    uvzk::result<uvzk::client> client = uvzk::client::open(nullptr, "simulated:1");
    if (!client) {
        return client.code() == UV_ENOMEM;
    }
    uvzk::result<uvzk::lock> a = client->semaphore("/a", 2),
                             b = client->semaphore("/b", 2);
    if (!a || !b) {
        return (a ? b.code() : a.code()) == UV_ENOMEM;
    }
    std::array<uvzk::future<uvzk::hold>, 2> parts = {a->acquire(), b->acquire()};
    uvzk::future<void> any = uvzk::any_of(parts);
    auto all = uvzk::all_of(a->acquire(), b->acquire());
    run(15000);
    return (all.state() || all.state() == status(UV_ENOMEM)) &&
           (any.state() || any.state() == status(UV_ENOMEM));
}

} // namespace

int main()
{
    test_takes_ranges();
    test_refuses_ranges();
    test_fails_with_a_range();
    test_destroys_a_combination_of_a_range();
    test_destroys_the_parts_of_a_range();
    test_takes_the_results_together();
    test_calls_back_with_the_results();
    test_fails_with_one_of_them();
    test_refuses_what_cannot_be_combined();
    test_destroys_it_while_it_is_pending();
    test_destroys_it_with_results_that_nobody_took();
    test_shares_what_is_kept();
    test_loses_a_hold_before_the_results_are_taken();
    test_any_of_several_types();
    test_ends_with_the_client();
#ifdef UVZK_COROUTINES
    test_awaits();
    test_destroys_the_coroutine();
#endif
    CHECK(fail_each_allocation(combine_without_memory) > 10);
    std::puts("all of the combinations' tests");
}
