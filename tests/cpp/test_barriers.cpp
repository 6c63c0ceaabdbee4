/* SPDX-License-Identifier: Apache-2.0 */
/* barrier and double_barrier, and their ends, in any order. */
#include "kit.hpp"
#include "memory.hpp"

#include <array>
#include <optional>

using namespace std::chrono_literals;
using uvzk::status;

namespace {

uvzk::double_barrier make_member(uvzk::client &client, std::uint32_t quantity = 2)
{
    uvzk::result<uvzk::double_barrier> made = client.double_barrier("/round", quantity);
    CHECK(bool(made));
    return std::move(*made);
}

void test_holds_back_until_it_is_removed()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::barrier gate = std::move(*client.barrier("/gate"));
    uvzk::barrier theirs = std::move(*other.barrier("/gate"));

    CHECK(await(gate.wait()).code() == 0);
    CHECK(await(theirs.set()).code() == 0);
    CHECK(await(gate.wait(300ms)).code() == UV_ETIMEDOUT);
    uvzk::future<void> passes = gate.wait();
    run(1000);
    CHECK(!passes.done());
    theirs.remove(); /* nobody waits for it */
    CHECK(await(std::move(passes)).code() == 0);
}

void test_a_wait_is_cancelled_with_its_future()
{
    world world;
    uvzk::client client = open_client();
    uvzk::barrier gate = std::move(*client.barrier("/gate"));

    CHECK(await(gate.set()).code() == 0);
    {
        uvzk::future<void> passes = gate.wait();
        run(100);
    }
    uvzk::future<void> passes = gate.wait();
    run(100);
    CHECK(passes.cancel().code() == 0 && passes.state().code() == UV_ECANCELED);
    CHECK(await(gate.remove()).code() == 0);
}

void test_members_enter_and_leave_together()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::double_barrier one = make_member(client), two = make_member(other);

    for (int round = 0; round < 3; round++) {
        uvzk::future<void> first = one.enter(30s);
        run(1000);
        CHECK(!first.done());
        CHECK(await(two.enter()).code() == 0 && await(std::move(first)).code() == 0);
        uvzk::future<void> leaves = two.leave();
        run(1000);
        CHECK(!leaves.done());
        CHECK(await(one.leave()).code() == 0 && await(std::move(leaves)).code() == 0);
    }
}

/* Whoever destroys the future of an enter is outside. */
void test_an_enter_is_given_up_with_its_future()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::double_barrier one = make_member(client), two = make_member(other);

    {
        uvzk::future<void> enters = one.enter();
        run(1000);
    }
    CHECK(await(two.enter(2s)).code() == UV_ETIMEDOUT); /* it is alone */
    CHECK(await(one.leave()).code() == UVZK_ESTATE);
    uvzk::future<void> enters = one.enter();
    CHECK(await(two.enter()).code() == 0 && await(std::move(enters)).code() == 0);
}

/* A member that is destroyed inside does not keep the others. */
void test_destroys_a_member_inside()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    std::optional<uvzk::double_barrier> one = make_member(client);
    uvzk::double_barrier two = make_member(other);

    uvzk::future<void> enters = one->enter();
    CHECK(await(two.enter()).code() == 0 && await(std::move(enters)).code() == 0);
    one.reset();
    CHECK(await(two.leave()).code() == 0);
}

void test_tells_of_a_loss()
{
    world world;
    uvzk::client client = open_client();
    int losses = 0, why = 0;
    uvzk::double_barrier member =
        std::move(*client.double_barrier("/round", 1, [&](status reason) {
            losses++;
            why = reason.code();
        }));

    CHECK(await(member.enter()).code() == 0);
    CHECK(uvzk_sim_expire(&client.native()) == 0);
    CHECK(comes([&] { return losses == 1; }));
    CHECK(why == UVZK_EEXPIRED);
    CHECK(await(member.leave()).code() == UVZK_EEXPIRED);
    CHECK(await(member.enter()).code() == 0);
}

void test_refuses()
{
    world world;
    uvzk::client client = open_client();
    uvzk::barrier none;
    uvzk::double_barrier nobody;

    CHECK(!none && await(none.set()).code() == UVZK_ECLOSED);
    CHECK(await(nobody.enter()).code() == UVZK_ECLOSED);
    CHECK(client.barrier("gate").code() == UVZK_EPATH);
    CHECK(client.double_barrier("/round", 0).code() == UV_EINVAL);
    uvzk::barrier gate = std::move(*client.barrier("/gate"));
    CHECK(await(gate.wait(0ms)).code() == UV_EINVAL);
    CHECK(await(gate.close()).code() == 0 && !gate);
    CHECK(await(gate.close()).code() == UVZK_ECLOSED);
}

void test_outlives_its_client()
{
    world world;
    uvzk::client client = open_client();
    uvzk::barrier gate = std::move(*client.barrier("/gate"));
    uvzk::double_barrier member = make_member(client);
    uvzk::future<void> enters = member.enter();

    run(1000);
    CHECK(await(client.close()).code() == 0);
    CHECK(enters.done() && enters.take().code() == UVZK_ECLOSED);
    CHECK(await(gate.set()).code() == UVZK_ECLOSED);
    CHECK(await(member.enter()).code() == UVZK_ECLOSED);
}

#ifdef UVZK_COROUTINES
uvzk::task<> cross(uvzk::double_barrier &member, int &crossed)
{
    CHECK((co_await member.enter(30s)).code() == 0);
    crossed++;
    CHECK((co_await member.leave()).code() == 0);
    crossed++;
}

void test_awaits()
{
    world world;
    uvzk::client client = open_client();
    std::array<uvzk::double_barrier, 2> members = {make_member(client),
                                                   make_member(client)};
    int crossed = 0;

    CHECK(bool(cross(members[0], crossed)) && bool(cross(members[1], crossed)));
    CHECK(comes([&] { return crossed == 4; }));
}
#endif

bool cross_without_memory()
{
    uvzk::result<uvzk::client> client = uvzk::client::open(nullptr, "simulated:1");
    if (!client) {
        return client.code() == UV_ENOMEM;
    }
    uvzk::result<uvzk::double_barrier> member =
        client->double_barrier("/round", 1, [](status) {});
    uvzk::result<uvzk::barrier> gate = client->barrier("/gate");
    if (!member || !gate) {
        return member.code() == UV_ENOMEM || gate.code() == UV_ENOMEM;
    }
    uvzk::future<void> enters = member->enter(), sets = gate->set(), waits = gate->wait();
    uvzk::future<void> closed;
    run(15000);
    closed = member->close();
    run(1000);
    bool as_said = true;
    for (uvzk::future<void> *future : {&enters, &sets, &closed}) {
        as_said = as_said && (future->state() || future->state() == status(UV_ENOMEM));
    }
    return as_said;
}

} // namespace

int main()
{
    test_holds_back_until_it_is_removed();
    test_a_wait_is_cancelled_with_its_future();
    test_members_enter_and_leave_together();
    test_an_enter_is_given_up_with_its_future();
    test_destroys_a_member_inside();
    test_tells_of_a_loss();
    test_refuses();
    test_outlives_its_client();
#ifdef UVZK_COROUTINES
    test_awaits();
#endif
    CHECK(fail_each_allocation(cross_without_memory) >= 5);
    std::puts("all of the barriers' tests");
}
