/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_long: its calls, and its ends in any order. */
#include "kit.hpp"
#include "memory.hpp"

#include <limits>
#include <utility>

namespace {

uvzk::atomic_long make_number(uvzk::client &client, std::string_view path = "/orders",
                              uvzk::atomic_long_options options = {})
{
    uvzk::result<uvzk::atomic_long> made = client.atomic_long(path, options);
    CHECK(bool(made));
    return std::move(*made);
}

void test_counts()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::atomic_long number = make_number(client), theirs = make_number(other);

    CHECK(await(number.get())->after() == 0);
    CHECK(await(number.add(5))->after() == 5);
    uvzk::result<uvzk::atomic_value> added = await(theirs.add(-7));
    CHECK(bool(added) && added->before() == 5 && added->after() == -2);
    CHECK(added->c.optimistic_tries == 1 && added->c.promoted_tries == 0);
    CHECK(await(number.compare_and_set(1, 9)).code() == UVZK_EBADVERSION);
    CHECK(await(number.compare_and_set(-2, 9))->before() == -2);
    CHECK(await(number.create(3)).code() == UVZK_ENODEEXISTS);
    CHECK(await(number.try_set(std::numeric_limits<std::int64_t>::max()))->before() == 9);
    CHECK(await(number.add(1)).code() == UV_ERANGE);
    CHECK(await(number.force_set(4)).code() == 0);
    number.add(1); /* nobody waits for it */
    CHECK(await(number.add(0))->after() == 5);
}

void test_is_promoted()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::atomic_long_options options;
    options.mutex_path = "/orders_mutex";
    options.c.retry.kind = UVZK_RETRY_N_TIMES;
    options.c.retry.base_ms = 0;
    options.c.retry.max_retries = 0;
    uvzk::atomic_long number = make_number(client, "/orders", options),
                      theirs = make_number(other, "/orders", options);
    std::uint32_t promoted = 0;

    CHECK(await(number.add(0)).code() == 0);
    for (int i = 0; i < 10; i++) {
        uvzk::future<uvzk::atomic_value> one = number.add(1), two = theirs.add(1);
        promoted += await(std::move(one))->c.promoted_tries;
        promoted += await(std::move(two))->c.promoted_tries;
    }
    CHECK(promoted > 0);
    CHECK(await(number.get())->after() == 20);
}

void test_refuses()
{
    world world;
    uvzk::client client = open_client();
    uvzk::atomic_long_options options;
    uvzk::atomic_long none;

    CHECK(client.atomic_long("orders").code() == UVZK_EPATH);
    options.mutex_path = "/orders";
    CHECK(client.atomic_long("/orders", options).code() == UV_EINVAL);
    CHECK(!none && await(none.add(1)).code() == UVZK_ECLOSED);
    CHECK(await(none.close()).code() == UVZK_ECLOSED);
    CHECK(uvzk::client().atomic_long("/orders").code() == UV_EINVAL);
}

void test_ends_in_any_order()
{
    world world;
    uvzk::client client = open_client();
    uvzk::atomic_long number = make_number(client), moved;

    moved = std::move(number);
    CHECK(bool(moved) && !number);
    uvzk::future<uvzk::atomic_value> pending = moved.add(1);
    uvzk::future<void> closed = moved.close();
    CHECK(!moved && await(std::move(pending)).code() == UVZK_ECLOSED);
    CHECK(await(std::move(closed)).code() == 0);
    moved = make_number(client);
    pending = moved.add(1);
    CHECK(await(client.close()).code() == 0);
    CHECK(await(std::move(pending)).code() == UVZK_ECLOSED);
    CHECK(await(moved.add(1)).code() == UVZK_ECLOSED);
}

/* ------------------------------------------------------------------------ memory */

bool count_without_memory()
{
    uvzk::result<uvzk::client> client = uvzk::client::open(nullptr, "simulated:1");
    if (!client) {
        return client.code() == UV_ENOMEM;
    }
    uvzk::result<uvzk::atomic_long> number = client->atomic_long("/orders");
    if (!number) {
        return number.code() == UV_ENOMEM;
    }
    uvzk::future<uvzk::atomic_value> added = number->add(1), read = number->get();
    uvzk::future<void> closed;
    run(15000);
    closed = number->close();
    run(1000);
    bool as_said = closed.state() || closed.state() == uvzk::status(UV_ENOMEM);
    for (uvzk::future<uvzk::atomic_value> *future : {&added, &read}) {
        as_said =
            as_said && (future->state() || future->state() == uvzk::status(UV_ENOMEM));
    }
    return as_said;
}

} // namespace

int main()
{
    test_counts();
    test_is_promoted();
    test_refuses();
    test_ends_in_any_order();
    CHECK(fail_each_allocation(count_without_memory) >= 4);
    std::puts("all of the atomic longs' tests");
}
