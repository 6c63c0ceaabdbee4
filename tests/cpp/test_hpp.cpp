/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk.hpp: what its objects do, and above all what their ends do, in any order. Run with
 * AddressSanitizer, whatever a state is used after its end, and whatever is left, fails. */
#include "kit.hpp"
#include "memory.hpp"

#include <algorithm>
#include <array>
#include <string>

using namespace std::chrono_literals;
using uvzk::status;

namespace {

/* Counts what it is told. */
struct told {
    int count = 0;
    int code = 1;

    auto here()
    {
        return [this](status how) {
            count++;
            code = how.code();
        };
    }
};

/* ---------------------------------------------------------------- what is asked for */

void test_calls_back_with_the_hold()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    uvzk::hold kept;

    CHECK(bool(lock.acquire(10s).then([&](uvzk::result<uvzk::hold> got) {
        CHECK(bool(got));
        kept = std::move(*got);
    })));
    CHECK(!kept);
    CHECK(comes([&] { return bool(kept); }));
    CHECK(kept.is_valid() && kept.token() > 0 && lock.is_held());
    CHECK(kept.path().substr(0, 9) == "/locks/a/" && kept.node_count() == 1);
    CHECK(kept.valid_until() > uvzk::clock::now() && bool(kept.lost()));
    CHECK(await(kept.release()).code() == 0);
    CHECK(!kept && !lock.is_held() && kept.token() == 0 && kept.path().empty());
    CHECK(uvzk_sim_children("/locks/a") == 0);
}

void test_moves_while_it_is_pending()
{
    world world;
    uvzk::client client = open_client();
    uvzk::client moved_client = std::move(client);
    uvzk::lock lock = make_mutex(moved_client);
    uvzk::hold first = take(lock);
    std::array<uvzk::future<uvzk::hold>, 2> futures{lock.acquire(), {}};

    run(1000);
    futures[1] = std::move(futures[0]);
    uvzk::lock moved_lock = std::move(lock);
    uvzk::hold moved_hold = std::move(first);
    CHECK(!first && bool(moved_hold) && !lock && !client);
    CHECK(await(moved_hold.release()).code() == 0);
    uvzk::result<uvzk::hold> got = await(std::move(futures[1]));
    CHECK(bool(got) && bool(*got) && moved_lock.is_held());
    CHECK(futures[0].state() == status(UVZK_ESTATE));
}

void test_tells_queues_and_revocations()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::lock lock = make_mutex(client), others = make_mutex(other);
    uvzk::acquire_options options;
    std::uint64_t ahead = 0;
    uvzk::hold first;
    bool asked = false;

    options.revoke = [&] {
        asked = true;
        first = uvzk::hold(); /* in its own callback */
    };
    CHECK(bool(lock.acquire(std::move(options)).then([&](uvzk::result<uvzk::hold> got) {
        first = std::move(*got);
    })));
    CHECK(comes([&] { return bool(first); }));
    options = uvzk::acquire_options();
    options.queued = [&](std::uint64_t before) { ahead = before; };
    uvzk::future<uvzk::hold> second = others.acquire(std::move(options));
    CHECK(comes([&] { return ahead == 1; }));
    CHECK(await(other.revoke(first.path())).code() == 0);
    CHECK(comes([&] { return asked; }));
    CHECK(bool(await(std::move(second))));
}

void test_asks_about_a_hold()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    uvzk::hold hold = take(lock);

    CHECK(await(hold.verify()).code() == 0);
    uvzk::result<uvzk::participants> roll = await(lock.participants());
    CHECK(bool(roll) && roll->size() == 1 && roll->holding() == 1);
    CHECK((*roll)[0] == hold.path());
    const uvzk_write_op_t write = {UVZK_WRITE_CREATE, -1, "/stock", "seven", 5};
    CHECK(await(hold.write(&write, 1)).code() == 0);
    uvzk::future<void> again = hold.write(&write, 1);
    CHECK(comes([&] { return again.done(); }));
    CHECK(again.state() == status(UVZK_ENODEEXISTS) && again.refused_operation() == 0);
    uvzk::result<uvzk::znode> data = await(client.read("/stock"));
    CHECK(bool(data) && data->view() == "seven");
    CHECK(await(client.read("/nothing")).code() == UVZK_ENONODE);
    uvzk::result<uvzk::znode> seen = await(client.read("/stock"));
    CHECK(seen && seen->view() == data->view() && seen->stat().session_id == 0);
    CHECK(seen->stat().czxid > 0);
    CHECK(await(client.read("/nothing")).code() == UVZK_ENONODE);
    CHECK(uvzk_sim_delete("/stock") == 0);
}

void test_puts_a_traceparent_into_the_znode()
{
    constexpr std::string_view one =
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    uvzk::acquire_options options;

    options.data = "ann";
    options.traceparent = one;
    uvzk::result<uvzk::hold> hold = await(lock.acquire(std::move(options)));
    CHECK(bool(hold));
    uvzk::result<uvzk::znode> data = await(client.read(hold->path()));
    CHECK(bool(data) && uvzk::traceparent_of(data->view()) == one);
    CHECK(uvzk::traceparent_of("ann").empty());
    uvzk::acquire_options wrong;
    wrong.traceparent = one.substr(1);
    CHECK(await(lock.acquire(std::move(wrong))).code() == UV_EINVAL);
    CHECK(await(hold->release()).code() == 0);
}

void test_makes_every_recipe()
{
    world world;
    uvzk::client client = open_client();
    uvzk::result<uvzk::rwlock> prices = client.rwlock("/prices");
    uvzk::result<uvzk::lock> printers = client.semaphore("/printers", 3);
    uvzk::result<uvzk::lock> single = client.semaphore_mutex("/single");
    uvzk::lock from = make_mutex(client, "/from"), to = make_mutex(client, "/to");
    uvzk::lock *both[] = {&from, &to};
    uvzk::result<uvzk::lock> transfer = client.multilock(both, 2);
    uvzk_lock_driver_t driver;
    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    uvzk::result<uvzk::lock> driven = client.with_driver("/driven", driver);
    uvzk::acquire_options three;

    CHECK(bool(prices) && bool(printers) && bool(single) && bool(transfer) &&
          bool(driven));
    uvzk::hold reads = take(prices->read), reads_too = take(prices->read);
    uvzk::future<uvzk::hold> writes = prices->write.acquire();
    run(1000);
    CHECK(!writes.done());
    reads = uvzk::hold();
    CHECK(await(reads_too.release()).code() == 0);
    CHECK(bool(await(std::move(writes))));
    three.leases = 3;
    uvzk::result<uvzk::hold> leases = await(printers->acquire(std::move(three)));
    CHECK(bool(leases) && leases->node_count() == 3);
    CHECK(bool(leases->return_leases(2)) && leases->node_count() == 1);
    CHECK(bool(take(*single)) && bool(take(*driven)));
    uvzk::hold moved = take(*transfer);
    CHECK(transfer->is_held() && moved.node_count() == 2);
}

void test_of_several()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::lock locks[3] = {make_mutex(client, "/a"), make_mutex(client, "/b"),
                           make_mutex(client, "/c")};
    uvzk::lock taken = make_mutex(other, "/b");
    uvzk::hold in_the_way = take(taken);
    uvzk::future<uvzk::hold> parts[3];

    for (int i = 0; i < 3; i++) {
        parts[i] = locks[i].acquire();
    }
    CHECK(await(uvzk::n_of(parts, 3, 2)).code() == 0); /* ended, it lets its parts be */
    uvzk::result<uvzk::hold> a = parts[0].take(), c = parts[2].take();
    CHECK(bool(a) && bool(c) && parts[1].take().code() == UV_ECANCELED);
    CHECK(parts[0].take().code() == UVZK_ESTATE); /* once */
    a->release();
    c->release();
    for (int i = 0; i < 2; i++) {
        parts[i] = locks[i].acquire();
    }
    uvzk::future<void> any = uvzk::any_of(parts, 2);
    int given_up = 0; /* as the other part is when the combination is told */
    any.then([&](uvzk::status) { given_up = parts[1].state().code(); });
    CHECK(comes([&] { return given_up != 0; }));
    CHECK(given_up == UV_ECANCELED);
    CHECK(any.winner() == 0 && any.winner(1) == SIZE_MAX);
    uvzk::future<uvzk::hold> bad[2] = {locks[2].acquire(), uvzk::lock().acquire()};
    CHECK(uvzk::all_of(bad, 2).state() == status(UVZK_ECLOSED));
}

/* --------------------------------------------------------------------- refused */

void test_refuses()
{
    using namespace std::string_view_literals;
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client), empty;
    bool called = false;
    auto call = [&](uvzk::result<uvzk::hold>) { called = true; };

    CHECK(client.mutex("/with\0nul"sv).code() == UVZK_EPATH);
    CHECK(client.mutex("no slash").code() == UVZK_EPATH);
    CHECK(client.rwlock("/with\0nul"sv).code() == UVZK_EPATH);
    CHECK(client.semaphore("/none", 0).code() == UV_EINVAL);
    CHECK(uvzk::client().mutex("/a").code() == UV_EINVAL);
    CHECK(uvzk::client::open(nullptr, "with\0nul:1"sv).code() == UV_EINVAL);
    CHECK(uvzk::client::open(nullptr, "").code() == UV_EINVAL);
    CHECK(client.read("/with\0nul"sv).state() == status(UVZK_EPATH));
    CHECK(empty.acquire().then(call) == status(UVZK_ECLOSED));
    CHECK(lock.acquire(-7ms).then(call) == status(UV_EINVAL));
    CHECK(uvzk::future<uvzk::hold>().take().code() == UVZK_ESTATE);
    CHECK(uvzk::hold().release().state() == status(UVZK_ENOTHELD));
    CHECK(uvzk::hold().on_lost([](status) {}) == status(UVZK_ENOTHELD));
    CHECK(empty.close().state() == status(UVZK_ECLOSED));
    uvzk::future<uvzk::hold> twice = lock.acquire();
    CHECK(twice.take().code() == UV_EAGAIN && twice.deadline(-1ms) == status(UV_EINVAL));
    CHECK(bool(twice.then([](uvzk::result<uvzk::hold>) {})));
    CHECK(twice.then(call) == status(UV_EBUSY));
    CHECK(comes([&] { return twice.done(); }));
    CHECK(twice.then(call) == status(UVZK_ESTATE) && !called);
    CHECK(std::string(status(UVZK_ELOST).name()) == "UVZK_ELOST");
}

/* --------------------------------------------------------------- ends of futures */

void test_ends_a_pending_future()
{
    for (std::uint64_t ms : {0U, 1U, 20U, 40U, 80U, 1000U}) { /* at any stage of it */
        world world;
        uvzk::client client = open_client();
        uvzk::lock lock = make_mutex(client);
        uvzk::hold first = take(lock);
        bool called = false;
        uvzk::future<uvzk::hold> waits = lock.acquire();

        CHECK(bool(waits.then([&](uvzk::result<uvzk::hold>) { called = true; })));
        run(ms);
        waits = uvzk::future<uvzk::hold>();
        first.release();
        run(1000);
        CHECK(!called && !lock.is_held() && uvzk_sim_children("/locks/a") == 0);
    }
}

void test_ends_a_done_future()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    {
        uvzk::future<uvzk::hold> nobody_takes_it = lock.acquire();
        CHECK(comes([&] { return nobody_takes_it.done(); }));
        CHECK(lock.is_held());
    }
    CHECK(is_free());
    {
        uvzk::future<uvzk::hold> future = lock.acquire();
        CHECK(comes([&] { return future.done(); }));
        uvzk::hold taken = std::move(*future.take());
        future = uvzk::future<uvzk::hold>(); /* the hold is not its any more */
        CHECK(bool(taken) && lock.is_held());
        future = lock.acquire();
        run(1000);
        CHECK(!future.done());
    }
    CHECK(is_free());
}

void test_ends_in_its_own_callback()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    uvzk::future<uvzk::hold> future = lock.acquire();
    int called = 0;

    CHECK(bool(future.then([&](uvzk::result<uvzk::hold> got) {
        called++;
        future = lock.acquire(); /* the old one ends */
        CHECK(bool(got) && bool(*got));
    })));
    CHECK(comes([&] { return called == 1; }));
    CHECK(bool(await(std::move(future))));
}

void test_gives_up()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    uvzk::hold first = take(lock);
    uvzk::future<uvzk::hold> cancelled = lock.acquire(), late = lock.acquire();

    run(100);
    CHECK(bool(cancelled.cancel()) && bool(late.deadline(300ms)));
    CHECK(await(std::move(cancelled)).code() == UV_ECANCELED);
    CHECK(await(std::move(late)).code() == UV_ETIMEDOUT);
    CHECK(await(lock.acquire(300ms)).code() == UV_ETIMEDOUT);
    CHECK(await(lock.acquire(uvzk::once)).code() == UV_ETIMEDOUT);
}

void test_calls_back_what_was_given_away()
{
    world world;
    told told;
    {
        uvzk::client client = open_client();
        uvzk::lock lock = make_mutex(client);
        uvzk::hold first = take(lock);
        CHECK(bool(lock.acquire().then(told.here())));
        run(100);
        CHECK(told.count == 0);
    }
    run(5000);
    CHECK(told.count == 1 && told.code == UVZK_ECLOSED);
}

/* ----------------------------------------------------------------- ends of holds */

void test_ends_a_hold()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    told told;
    {
        uvzk::hold hold = take(lock);
        CHECK(bool(hold.on_lost(told.here())));
    }
    CHECK(is_free() && told.count == 0);
    uvzk::hold hold = take(lock);
    hold = take(lock = make_mutex(client, "/locks/b")); /* the other lock is closed */
    CHECK(is_free("/locks/a") && !is_free("/locks/b"));
}

void test_loses_a_hold()
{
    for (bool ends : {false, true}) {
        world world;
        uvzk::client client = open_client();
        uvzk::lock lock = make_mutex(client);
        uvzk::hold hold = take(lock);
        told told;

        CHECK(bool(hold.on_lost([&](status why) {
            told.here()(why);
            CHECK(!hold);
            if (ends) {
                hold = uvzk::hold();
            }
        })));
        CHECK(uvzk_sim_expire(&client.native()) == 0);
        CHECK(comes([&] { return told.count == 1; }));
        CHECK(told.code == UVZK_EEXPIRED);
        if (!ends) {
            CHECK(hold.lost() == status(UVZK_EEXPIRED));
            CHECK(hold.on_lost(told.here()) == status(UVZK_EEXPIRED));
            CHECK(hold.verify().state() == status(UVZK_EEXPIRED));
            CHECK(hold.release().state() == status(UVZK_EEXPIRED));
        }
        run(5000);
        CHECK(told.count == 1);
    }
}

void test_gives_back_at_its_limit()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client), other = make_mutex(client);
    uvzk::acquire_options options;
    std::uint64_t ends_at = 0;
    told told;

    options.max_hold = 3s;
    options.max_hold_warning = 1s;
    options.max_hold_ends = [&](std::uint64_t at) { ends_at = at; };
    options.lost = told.here();
    uvzk::result<uvzk::hold> first = await(lock.acquire(std::move(options)));
    CHECK(bool(first));
    uvzk::future<uvzk::hold> second = other.acquire();
    CHECK(comes([&] { return ends_at != 0; }));
    CHECK(told.count == 0 && first->is_valid());
    CHECK(comes([&] { return told.count == 1; }));
    CHECK(told.code == UVZK_EMAXHOLD && first->lost() == status(UVZK_EMAXHOLD));
    uvzk::result<uvzk::hold> next = await(std::move(second));
    CHECK(bool(next));
    CHECK(await(next->release()).code() == 0);
    CHECK(lock.set_max_hold(3s).code() == 0);
    options = uvzk::acquire_options();
    options.max_hold = uvzk::unlimited;
    uvzk::result<uvzk::hold> kept = await(lock.acquire(std::move(options)));
    run(6000);
    CHECK(bool(kept) && kept->is_valid());
    CHECK(uvzk::lock().set_max_hold(3s) == status(UV_EINVAL));
    CHECK(lock.set_max_hold(-1s) == status(UV_EINVAL));
}

void test_loses_what_nobody_has_taken()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    told told;
    uvzk::acquire_options options;

    options.lost = told.here();
    uvzk::future<uvzk::hold> future = lock.acquire(std::move(options));
    CHECK(comes([&] { return future.done(); }));
    CHECK(uvzk_sim_expire(&client.native()) == 0);
    CHECK(comes([&] { return told.count == 1; }));
    CHECK(future.take().code() == UVZK_EEXPIRED);
}

void test_releases_once()
{
    for (bool waits : {false, true}) {
        world world;
        uvzk::client client = open_client();
        uvzk::lock lock = make_mutex(client);
        told told, lost;
        uvzk::hold hold = take(lock);

        CHECK(bool(hold.on_lost(lost.here())));
        uvzk::future<void> released = hold.release();
        CHECK(hold.release().state() == status(UVZK_ENOTHELD));
        if (waits) {
            CHECK(bool(std::move(released).then(told.here())));
        } else {
            released = uvzk::future<void>();
        }
        CHECK(is_free());
        CHECK(told.count == waits && told.code == !waits && lost.count == 0);
    }
}

/* ------------------------------------------------------------ ends of locks, clients */

void test_ends_a_lock()
{
    world world;
    uvzk::client client = open_client();
    told lost, pending, closed;
    uvzk::hold hold;
    uvzk::future<uvzk::hold> waits;
    {
        uvzk::lock lock = make_mutex(client);
        hold = take(lock);
        CHECK(bool(hold.on_lost(lost.here())));
        waits = lock.acquire();
        CHECK(bool(waits.then(pending.here())));
        run(100);
    }
    CHECK(comes([&] { return lost.count == 1 && pending.count == 1; }));
    CHECK(lost.code == UVZK_ECLOSED && pending.code == UVZK_ECLOSED && !hold);
    uvzk::lock lock = make_mutex(client);
    hold = take(lock);
    CHECK(bool(lock.close().then(closed.here())));
    CHECK(!lock && comes([&] { return closed.count == 1; }));
    CHECK(closed.code == 0 && is_free());
    lock = make_mutex(client);
    lock.close(); /* nobody waits */
}

/* As any other callback of a future that was kept. */
void test_ends_the_future_of_a_close()
{
    world world;
    told told;
    uvzk::client client = open_client();
    uvzk::rwlock both = std::move(*client.rwlock("/rw"));
    {
        uvzk::future<void> read = both.read.close(), write = both.write.close();
        CHECK(bool(read.then(told.here())) && bool(write.then(told.here())));
    }
    {
        uvzk::future<void> closed = client.close();
        CHECK(bool(closed.then(told.here())));
    }
    run(5000);
    CHECK(told.count == 0);
}

void test_closes_a_client()
{
    world world;
    told closed;
    int states = 0;
    uvzk::client_options options;

    options.hosts = "simulated:1";
    options.ns = "app";
    options.state = [&](uvzk::client_state) { states++; };
    options.log = [](int, std::string_view, std::string_view) {};
    uvzk::result<uvzk::client> client = uvzk::client::open(nullptr, std::move(options));
    uvzk::lock lock = make_mutex(*client);
    uvzk::hold hold = take(lock);
    CHECK(states == 1 && uvzk_sim_children("/app/locks/a") == 1);
    CHECK(client->session_id() != 0 && client->state() == UVZK_STATE_CONNECTED);
    CHECK(bool(client->close().then(closed.here())));
    CHECK(!*client && client->close().state() == status(UVZK_ECLOSED));
    CHECK(comes([&] { return closed.count == 1; }));
    CHECK(!hold && lock.acquire().state() == status(UVZK_ECLOSED));
    CHECK(lock.close().state() == status(0)); /* closed with its client */
}

void test_sets_options_by_name()
{
    world world;
    uvzk::client_options options;

    options.session_timeout = uvzk::milliseconds(7000);
    options.ns = "other";
    CHECK(options.set("tick", "20").code() == UV_ENOENT);
    CHECK(options.set("tick_ms", "2").code() == UV_EINVAL);
    CHECK(options.set(std::string_view("\0", 1), "").code() == UV_EINVAL);
    CHECK(bool(options.set("tick_ms", "200")));
    CHECK(options.c.tick_ms == 200 && options.c.copies == nullptr);
    CHECK(options.ns == "other" && options.session_timeout.count() == 7000);
    {
        std::string text = "simulated:1?namespace=app&auth_scheme=digest&auth=a%26b";
        CHECK(bool(options.parse(text)));
        CHECK(options.parse(text + "&").code() == UV_EINVAL);
    }
    CHECK(options.hosts == "simulated:1" && options.ns == "app");
    CHECK(options.auth_scheme == "digest" && options.auth == "a&b");
    CHECK(bool(options.set("session_timeout_ms", "10000")));
    CHECK(options.session_timeout.count() == 10000);

    uvzk::client_options moved = std::move(options);
    moved.auth_scheme = {};
    moved.auth = {};
    uvzk::result<uvzk::client> client = uvzk::client::open(nullptr, std::move(moved));
    CHECK(bool(client));
    uvzk::lock lock = make_mutex(*client);
    uvzk::hold hold = take(lock);
    CHECK(uvzk_sim_children("/app/locks/a") == 1);
}

void test_ends_a_client_in_its_own_callback()
{
    world world;
    uvzk::client client;
    int states = 0;
    uvzk::client_options options;

    options.hosts = "simulated:1";
    options.state = [&](uvzk::client_state) {
        states++;
        client = uvzk::client();
    };
    client = std::move(*uvzk::client::open(nullptr, std::move(options)));
    run(5000);
    CHECK(states == 1 && uvzk_sim_sessions() == 0);
}

void test_tells_nothing_after_its_end()
{
    for (bool ends : {false, true}) {
        world world;
        int lines = 0;
        uvzk::client_options options;

        options.hosts = "simulated:1";
        options.log = [&](int, std::string_view, std::string_view) { lines++; };
        uvzk::client client = std::move(*uvzk::client::open(nullptr, std::move(options)));
        uvzk::lock lock = make_mutex(client);
        uvzk::hold hold = take(lock);
        CHECK(lines == 0);
        CHECK(uvzk_sim_disconnect(&client.native(), UVZK_SIM_RESET, 500) == 0);
        if (ends) {
            client = uvzk::client(); /* which does not know of its cut, yet */
        } else {
            client.close();
        }
        run(5000);
        CHECK((lines > 0) == !ends);
    }
}

/* Client, lock, hold and a pending future end in every order, with so much time between. */
void test_ends_in_any_order()
{
    for (std::uint64_t ms : {0U, 1U, 15U, 3000U}) {
        std::array<int, 5> order = {0, 1, 2, 3, 4};
        do {
            world world;
            uvzk::client client = open_client();
            uvzk::lock lock = make_mutex(client);
            uvzk::rwlock both = std::move(*client.rwlock("/rw"));
            uvzk::hold hold = take(lock), reads = take(both.read);
            uvzk::future<uvzk::hold> waits = lock.acquire();
            uvzk::future<void> verified = hold.verify();
            told told;

            CHECK(bool(waits.then(told.here())));
            run(30);
            for (int which : order) {
                switch (which) {
                case 0:
                    client = uvzk::client();
                    break;
                case 1:
                    lock = uvzk::lock();
                    both.write = uvzk::lock();
                    break;
                case 2:
                    hold = uvzk::hold();
                    break;
                case 3:
                    waits = uvzk::future<uvzk::hold>();
                    break;
                default:
                    both.read = uvzk::lock();
                    break;
                }
                run(ms);
            }
            CHECK(told.count <= 1);
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

void test_ends_members_of_a_multilock()
{
    for (int ends = 0; ends < 3;
         ends++) { /* a member first; while it is held; the multi */
        world world;
        uvzk::client client = open_client();
        uvzk::lock from = make_mutex(client, "/from"), to = make_mutex(client, "/to");
        uvzk::lock *both[] = {&from, &to};
        uvzk::lock multi = std::move(*client.multilock(both, 2));
        uvzk::hold hold;

        if (ends > 0) {
            hold = take(multi);
        }
        if (ends < 2) {
            from = uvzk::lock();
            run(1000);
            CHECK(await(multi.acquire()).code() == UVZK_ECLOSED);
        } else {
            multi = uvzk::lock();
            from = uvzk::lock();
            run(1000);
            CHECK(!hold);
        }
    }
}

/* ------------------------------------------------------------------------ memory */

/* What a story says that fails somewhere for want of memory. */
bool tell_story()
{
    uvzk::result<uvzk::client> client = uvzk::client::open(nullptr, "simulated:1");
    if (!client) {
        return client.code() == UV_ENOMEM;
    }
    uvzk::result<uvzk::rwlock> both = client->rwlock("/rw");
    uvzk::result<uvzk::lock> lock = client->mutex("/locks/a");
    if (!lock || !both) {
        return (lock ? both.code() : lock.code()) == UV_ENOMEM;
    }
    uvzk::acquire_options options;
    int code = 1;
    options.lost = [&](status why) { code = why.code(); };
    status refused =
        lock->acquire(std::move(options)).then([&](uvzk::result<uvzk::hold> got) {
            code = got.code();
            if (got) {
                code = got->release().state().code();
            }
        });
    if (!refused) {
        return refused == status(UV_ENOMEM);
    }
    run(15000);
    return code == UV_EAGAIN || code == UV_ENOMEM || code == 1;
}

void test_survives_want_of_memory()
{
    CHECK(fail_each_allocation(tell_story) > 10);
}

} // namespace

int main()
{
    test_calls_back_with_the_hold();
    test_moves_while_it_is_pending();
    test_tells_queues_and_revocations();
    test_asks_about_a_hold();
    test_puts_a_traceparent_into_the_znode();
    test_makes_every_recipe();
    test_of_several();
    test_refuses();
    test_ends_a_pending_future();
    test_ends_a_done_future();
    test_ends_in_its_own_callback();
    test_gives_up();
    test_calls_back_what_was_given_away();
    test_ends_a_hold();
    test_loses_a_hold();
    test_gives_back_at_its_limit();
    test_loses_what_nobody_has_taken();
    test_releases_once();
    test_ends_a_lock();
    test_ends_the_future_of_a_close();
    test_closes_a_client();
    test_sets_options_by_name();
    test_ends_a_client_in_its_own_callback();
    test_tells_nothing_after_its_end();
    test_ends_in_any_order();
    test_ends_members_of_a_multilock();
    test_survives_want_of_memory();
    std::puts("all of uvzk.hpp's tests");
}
