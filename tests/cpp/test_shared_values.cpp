/* SPDX-License-Identifier: Apache-2.0 */
/* shared_value, shared_count and what waits for their changes; and their ends, in any
 * order. */
#include "kit.hpp"
#include "memory.hpp"

#include <algorithm>
#include <array>
#include <string>

using namespace std::chrono_literals;
using uvzk::status;

namespace {

uvzk::shared_count make_count(uvzk::client &client, std::string_view path = "/workers",
                              std::int32_t seed = 4)
{
    uvzk::result<uvzk::shared_count> made = client.shared_count(path, seed);
    CHECK(bool(made));
    return std::move(*made);
}

/* Until it has been read. */
uvzk::shared_count make_known_count(uvzk::client &client)
{
    uvzk::shared_count count = make_count(client);
    CHECK(comes([&] { return bool(count.get()); }));
    run(1000); /* any change is told */
    return count;
}

/* ------------------------------------------------------------------ get and set */

void test_shares_a_value()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::shared_value value = std::move(*client.shared_value("/config", "blue"));
    std::string seen;
    uvzk::result<uvzk::shared_value> theirs =
        other.shared_value("/config", "their seed", [&](status how) {
            CHECK(bool(how));
            seen = theirs->get()->value;
        });

    CHECK(bool(theirs) && value.get().code() == UVZK_ENONODE);
    CHECK(comes([&] { return !seen.empty() && value.get(); }));
    CHECK(seen == value.get()->value && value.get()->version.mzxid > 0);
    CHECK(await(value.set("green")).code() == 0 && value.get()->value == "green");
    CHECK(comes([&] { return seen == "green"; }));
    value.set("red"); /* nobody waits for it */
    CHECK(comes([&] { return seen == "red"; }));
    CHECK(await(value.set("")).code() == 0 && value.get()->value.empty());
}

void test_sets_only_what_it_has_seen()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::shared_count count = make_known_count(client), theirs = make_known_count(other);
    uvzk::versioned_value<std::int32_t> before = *count.get();

    CHECK(before.value == 4);
    CHECK(await(count.try_set(before.version, before.value + 1)).code() == 0);
    CHECK(count.get()->value == 5);
    CHECK(await(theirs.try_set(before.version, 7)).code() == UVZK_EBADVERSION);
    CHECK(comes([&] { return theirs.get()->value == 5; }));
    CHECK(await(theirs.set(-3)).code() == 0);
    CHECK(comes([&] { return count.get()->value == -3; }));
    uvzk::shared_value value = std::move(*client.shared_value("/workers", ""));
    CHECK(comes([&] { return bool(value.get()); }));
    uvzk::value_version version = value.get()->version;
    CHECK(await(value.try_set(version, "five!")).code() == 0);
    CHECK(await(value.try_set(version, "six")).code() == UVZK_EBADVERSION);
}

void test_tells_that_it_is_no_count()
{
    world world;
    uvzk::client client = open_client();
    int how = 0;
    std::int32_t last = 0;
    uvzk::shared_value value = std::move(*client.shared_value("/workers", "abc"));

    CHECK(comes([&] { return bool(value.get()); }));
    auto changed = [&](status now, std::int32_t count) {
        how = now.code();
        last = count;
    };
    uvzk::shared_count count = std::move(*client.shared_count("/workers", 4, changed));
    CHECK(comes([&] { return how == UVZK_EDATA; }));
    CHECK(count.get().code() == UVZK_EDATA && last == 0);
    CHECK(await(count.set(6)).code() == 0);
    CHECK(comes([&] { return how == 0 && last == 6; }));
}

void test_counts_the_leases_of_a_semaphore()
{
    world world;
    uvzk::client client = open_client();
    uvzk::shared_count count = make_count(client, "/licences", 1);
    uvzk::lock semaphore = std::move(*client.semaphore("/semaphore", count));
    uvzk::hold first = take(semaphore);
    uvzk::future<uvzk::hold> second = semaphore.acquire();

    run(1000);
    CHECK(!second.done());
    CHECK(await(count.set(2)).code() == 0);
    CHECK(bool(await(std::move(second))));
    count = uvzk::shared_count();
    CHECK(await(semaphore.acquire()).code() == UVZK_ECLOSED);
    CHECK(client.semaphore("/semaphore", uvzk::shared_count()).code() == UV_EINVAL);
}

void test_refuses()
{
    using namespace std::string_view_literals;
    world world;
    uvzk::client client = open_client();
    uvzk::shared_value empty;
    uvzk::shared_value value = std::move(*client.shared_value("/config", ""));
    std::string too_long(1000001, 'x');

    CHECK(client.shared_value("/with\0nul"sv, "").code() == UVZK_EPATH);
    CHECK(client.shared_count("no slash", 0).code() == UVZK_EPATH);
    CHECK(client.shared_value("/long", too_long).code() == UV_EINVAL);
    CHECK(uvzk::client().shared_count("/a", 0).code() == UV_EINVAL);
    CHECK(value.set(too_long).state() == status(UV_EINVAL));
    CHECK(value.try_set({1, -1}, "").state() == status(UV_EINVAL));
    CHECK(!empty && empty.get().code() == UVZK_ECLOSED);
    CHECK(empty.set("").state() == status(UVZK_ECLOSED));
    CHECK(empty.try_set({1, 0}, "").state() == status(UVZK_ECLOSED));
    CHECK(empty.next_change().state() == status(UVZK_ECLOSED));
    CHECK(empty.close().state() == status(UVZK_ECLOSED));
}

/* --------------------------------------------------------------------- changes */

void test_waits_for_changes()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::shared_count count = make_count(client);

    CHECK(await(count.next_change()).code() == 0); /* the first value */
    CHECK(count.get()->value == 4);
    uvzk::shared_count theirs = make_known_count(other);
    uvzk::future<void> change = count.next_change();
    CHECK(count.next_change().state() == status(UV_EBUSY));
    CHECK(change.cancel() == status(UVZK_ESTATE));
    run(1000);
    CHECK(!change.done());
    theirs.set(9);
    CHECK(await(std::move(change)).code() == 0 && count.get()->value == 9);
    change = count.next_change();
    CHECK(uvzk_sim_delete("/workers") == 0);
    CHECK(await(std::move(change)).code() == UVZK_ENONODE);
    CHECK(count.get()->value == 9); /* the last one that is known */
    uvzk::client creates = open_client();
    uvzk::shared_count again = make_count(creates);
    CHECK(await(count.next_change()).code() == 0 && count.get()->value == 4);
}

/* The one that was destroyed is not in the way of another. */
void test_destroys_the_future_of_a_change()
{
    world world;
    uvzk::client client = open_client();
    uvzk::shared_count count = make_known_count(client);
    int called = 0;
    {
        uvzk::future<void> change = count.next_change();
        CHECK(bool(change.then([&](status) { called++; })));
    }
    CHECK(bool(count.next_change().then([&](status how) {
        CHECK(bool(how));
        called += 10;
    })));
    count.set(5);
    run(1000);
    CHECK(called == 10);
}

void test_asks_for_the_next_change_in_the_callback()
{
    world world;
    uvzk::client client = open_client();
    uvzk::future<void> first, second;
    uvzk::shared_count count;
    auto changed = [&](status, std::int32_t value) {
        if (value == 4) {
            second = count.next_change();
        }
    };

    count = std::move(*client.shared_count("/workers", 4, changed));
    first = count.next_change();
    CHECK(await(std::move(first)).code() == 0);
    run(1000);
    CHECK(second.state() == status(UV_EAGAIN));
    count.set(5);
    CHECK(await(std::move(second)).code() == 0);
}

/* ------------------------------------------------------------------------- ends */

void test_ends_a_value()
{
    for (std::uint64_t ms : {0U, 1U, 20U, 40U, 80U, 1000U}) { /* at any stage of it */
        world world;
        uvzk::client client = open_client();
        int changes = 0, how = 1, change = 1;
        {
            auto changed = [&](status, std::int32_t) { changes++; };
            uvzk::shared_count count =
                std::move(*client.shared_count("/workers", 4, changed));
            run(ms);
            count.set(5).then([&](status now) { how = now.code(); });
            count.next_change().then([&](status now) { change = now.code(); });
            changes = 0;
        }
        CHECK(how == 1 && change == 1); /* never inside a call */
        run(1000);
        CHECK(how == UVZK_ECLOSED && change == UVZK_ECLOSED && changes == 0);
    }
}

void test_ends_in_its_own_callback()
{
    world world;
    uvzk::client client = open_client();
    uvzk::shared_count count;
    int called = 0, change = 1;

    count = std::move(*client.shared_count("/workers", 4, [&](status, std::int32_t) {
        called++;
        count = uvzk::shared_count();
    }));
    count.next_change().then([&](status how) { change = how.code(); });
    run(5000);
    CHECK(called == 1 && change == UVZK_ECLOSED && !count);
}

void test_closes_a_value()
{
    world world;
    uvzk::client client = open_client();
    uvzk::shared_count count = make_known_count(client);
    uvzk::shared_count moved = std::move(count);

    CHECK(!count && moved.get()->value == 4);
    CHECK(await(moved.close()).code() == 0 && !moved);
    CHECK(moved.get().code() == UVZK_ECLOSED);
}

/* Client, value, the future of a set and of a change end in every order. */
/* The callback of the change comes first; it destroys the future of the close. */
void test_ends_the_future_of_a_close_in_a_callback()
{
    for (bool ends_client : {false, true}) {
        world world;
        uvzk::client client = open_client();
        uvzk::shared_count count = make_known_count(client);
        uvzk::future<void> change = count.next_change(), closed;
        int changes = 0, called = 0;

        CHECK(bool(change.then([&](status how) {
            CHECK(how == status(UVZK_ECLOSED));
            changes++;
            closed = uvzk::future<void>();
        })));
        closed = ends_client ? client.close() : count.close();
        CHECK(bool(closed.then([&](status) { called++; })));
        run(5000);
        CHECK(changes == 1 && called == 0);
    }
}

void test_ends_in_any_order()
{
    for (std::uint64_t ms : {0U, 1U, 15U, 3000U}) {
        std::array<int, 4> order = {0, 1, 2, 3};
        do {
            world world;
            uvzk::client client = open_client();
            uvzk::shared_count count = make_count(client), other = make_count(client);
            uvzk::shared_value value = std::move(*client.shared_value("/config", "a"));
            uvzk::future<void> set = count.set(5), change = count.next_change();
            uvzk::future<void> kept = value.next_change();
            int told = 0;

            CHECK(bool(other.next_change().then([&](status) {
                told++;
                value = uvzk::shared_value(); /* which its client tells too */
            })));
            for (int which : order) {
                switch (which) {
                case 0:
                    client = uvzk::client();
                    break;
                case 1:
                    count = uvzk::shared_count();
                    break;
                case 2:
                    set = uvzk::future<void>();
                    break;
                default:
                    change = uvzk::future<void>();
                    break;
                }
                run(ms);
            }
            run(5000);
            CHECK(told == 1 && kept.done() && other.get().code() == UVZK_ECLOSED);
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

void test_outlives_its_client()
{
    world world;
    uvzk::client client = open_client();
    uvzk::shared_count count = make_known_count(client),
                       closes = make_known_count(client);
    uvzk::future<void> change = count.next_change();

    CHECK(await(client.close()).code() == 0);
    CHECK(await(std::move(change)).code() == UVZK_ECLOSED);
    CHECK(count.get().code() == UVZK_ECLOSED);
    CHECK(count.set(5).state() == status(UVZK_ECLOSED));
    CHECK(count.next_change().state() == status(UVZK_ECLOSED));
    CHECK(closes.close().state() == status(0)); /* closed with its client */
}

/* --------------------------------------------------------------------- co_await */

#ifdef UVZK_COROUTINES
uvzk::task<> follow(uvzk::shared_count &count, std::int32_t &last, status &how)
{
    for (;;) {
        how = co_await count.next_change();
        if (how == status(UVZK_ECLOSED)) {
            co_return;
        }
        if (auto now = count.get()) {
            last = now->value;
        }
    }
}

uvzk::task<> increment(uvzk::shared_count &count, int &done)
{
    for (;;) {
        auto now = count.get();
        status how = now.code();
        if (now) {
            how = co_await count.try_set(now->version, now->value + 1);
        } else if (how == status(UVZK_ENONODE)) {
            how = co_await count.next_change();
            continue;
        }
        if (how != status(UVZK_EBADVERSION)) {
            done += bool(how);
            co_return;
        }
    }
}

void test_awaits()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::shared_count count = make_count(client), theirs = make_count(other);
    uvzk::shared_count followed = make_count(client);
    std::int32_t last = 0;
    int done = 0;
    status how = 1;

    CHECK(bool(follow(followed, last, how)));
    CHECK(bool(increment(count, done)) && bool(increment(theirs, done)));
    CHECK(comes([&] { return done == 2 && last == 6; }));
    client = uvzk::client();
    CHECK(comes([&] { return how == status(UVZK_ECLOSED); }));
}

owned wait_for_a_change(uvzk::shared_count &count)
{
    co_await count.set(5);
    co_await count.next_change();
    co_await count.next_change();
}

owned have_a_count(uvzk::client &client)
{
    uvzk::shared_count count = make_count(client);
    for (;;) {
        co_await count.next_change();
    }
}

void test_destroys_the_coroutine()
{
    for (std::uint64_t ms : {0U, 10U, 30U, 50U, 70U, 90U, 120U, 1000U}) {
        world world;
        uvzk::client client = open_client();
        uvzk::shared_count count = make_count(client);
        owned first = wait_for_a_change(count), second = have_a_count(client);

        run(ms);
        first.handle.destroy();
        second.handle.destroy();
        CHECK(await(count.set(6)).code() == 0);
        CHECK(count.next_change().state() == status(UV_EAGAIN));
    }
}
#endif

/* ------------------------------------------------------------------------ memory */

bool share_without_memory()
{
    uvzk::result<uvzk::client> client = uvzk::client::open(nullptr, "simulated:1");
    if (!client) {
        return client.code() == UV_ENOMEM;
    }
    int told = 0;
    uvzk::result<uvzk::shared_count> count =
        client->shared_count("/workers", 4, [&](status, std::int32_t) { told++; });
    if (!count) {
        return count.code() == UV_ENOMEM;
    }
    uvzk::future<void> change = count->next_change(), set = count->set(5);
    uvzk::future<void> closed;
    run(15000);
    closed = count->close();
    run(1000);
    bool as_said = true;
    for (uvzk::future<void> *future : {&change, &set, &closed}) {
        as_said = as_said && (future->state() || future->state() == status(UV_ENOMEM));
    }
    return as_said && told > 0;
}

} // namespace

int main()
{
    test_shares_a_value();
    test_sets_only_what_it_has_seen();
    test_tells_that_it_is_no_count();
    test_counts_the_leases_of_a_semaphore();
    test_refuses();
    test_waits_for_changes();
    test_destroys_the_future_of_a_change();
    test_asks_for_the_next_change_in_the_callback();
    test_ends_a_value();
    test_ends_in_its_own_callback();
    test_closes_a_value();
    test_ends_the_future_of_a_close_in_a_callback();
    test_ends_in_any_order();
    test_outlives_its_client();
#ifdef UVZK_COROUTINES
    test_awaits();
    test_destroys_the_coroutine();
#endif
    CHECK(fail_each_allocation(share_without_memory) >= 5);
    std::puts("all of the shared values' tests");
}
