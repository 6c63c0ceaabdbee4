/* SPDX-License-Identifier: Apache-2.0 */
/* election: who leads, what waits for it, and its ends, in any order. */
#include "kit.hpp"
#include "memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

using namespace std::chrono_literals;
using uvzk::status;

namespace {

/* What the callbacks have told. */
struct told {
    int leads = 0, deposed = 0, refused = 0;
    int reason = 1;
    std::int64_t token = 0;
    std::string leader;

    uvzk::election_options options(std::string_view id)
    {
        uvzk::election_options how;
        how.id = id;
        how.leads = [this](std::int64_t with, uvzk::clock::time_point until) {
            CHECK(with > token && until > uvzk::clock::now());
            token = with;
            leads++;
        };
        how.deposed = [this](status why) {
            reason = why.code();
            deposed++;
        };
        how.changed = [this](const uvzk::election_participant *now) {
            leader = now == nullptr ? "" : now->id;
        };
        how.refused = [this](status why) {
            reason = why.code();
            refused++;
        };
        return how;
    }
};

uvzk::election stand(uvzk::client &client, uvzk::election_options options = {})
{
    uvzk::result<uvzk::election> made = client.election("/leader", std::move(options));
    CHECK(bool(made));
    return std::move(*made);
}

/* ---------------------------------------------------------------------- who leads */

void test_one_leads_and_the_other_follows()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    told ours, theirs;
    uvzk::election first = stand(client, ours.options("one"));

    CHECK(await(first.lead()).code() == 0 && first.is_leader());
    CHECK(ours.leads == 1 && ours.token == first.token());
    CHECK(first.valid_until() > uvzk::clock::now() && first.native_hold() != nullptr);
    CHECK(first.path().substr(0, 8) == "/leader/");
    uvzk::election second = stand(other, theirs.options("two"));
    CHECK(comes([&] { return theirs.leader == "one"; }));
    CHECK(!second.is_leader() && second.token() == 0 && second.path().empty());
    CHECK(second.valid_until() == uvzk::clock::at(0));
    CHECK(second.resign() == status(UVZK_ENOTHELD));

    uvzk::future<void> waiting = second.lead();
    CHECK(bool(first.resign()) && first.is_leader()); /* until `deposed` is called */
    CHECK(await(std::move(waiting)).code() == 0 && second.is_leader());
    CHECK(ours.deposed == 1 && ours.reason == 0 && !first.is_leader());
    CHECK(theirs.token > ours.token);
    CHECK(comes([&] { return ours.leader == "two"; }));
    CHECK(await(second.close()).code() == 0 && theirs.deposed == 0 && !second);
    CHECK(comes([&] { return first.is_leader() && ours.leads == 2; }));
}

void test_lists_the_participants()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::election_options how;
    how.id = "two";
    uvzk::election first = stand(client);

    CHECK(await(first.lead()).code() == 0);
    uvzk::election second = stand(other, std::move(how));
    run(1000);
    uvzk::result<uvzk::election_participants> all = await(second.participants());
    CHECK(bool(all) && all->size() == 2);
    CHECK((*all)[0].is_leader && (*all)[0].id.empty() && !(*all)[1].is_leader);
    CHECK((*all)[0].token == first.token() && (*all)[0].path == first.path());
    CHECK((*all)[1].id == "two" && (*all)[1].session_id == other.session_id());
}

void test_is_one_of_a_selector()
{
    world world;
    uvzk::client client = open_client();
    uvzk::election_options how;
    how.kind = UVZK_ELECTION_SELECTOR;
    how.max_reign = 5s;
    how.manual_requeue = true;
    int reason = 1;
    how.deposed = [&](status why) { reason = why.code(); };
    uvzk::election election = stand(client, std::move(how));

    CHECK(await(election.lead()).code() == 0);
    CHECK(election.path().find("-lock-") != election.path().npos);
    CHECK(!is_free("/leader"));
    CHECK(comes([&] { return reason == UV_ETIMEDOUT; }));
    CHECK(election.lead().state() == status(UVZK_ESTATE));
    CHECK(is_free("/leader"));
    CHECK(bool(election.requeue()) && election.requeue() == status(UVZK_ESTATE));
    CHECK(await(election.lead()).code() == 0);
}

void test_writes_while_it_leads()
{
    world world;
    uvzk::client client = open_client();
    uvzk::election election = stand(client);
    uvzk_write_op_t op;
    std::memset(&op, 0, sizeof(op));
    op.kind = UVZK_WRITE_CREATE;
    op.path = "/written";

    CHECK(election.verify().state() == status(UVZK_ENOTHELD));
    CHECK(await(election.lead()).code() == 0);
    CHECK(await(election.verify()).code() == 0);
    CHECK(await(election.write(&op, 1)).code() == 0);
    uvzk::future<void> late = election.write(&op, 1);
    CHECK(await(std::move(late)).code() == UVZK_ENODEEXISTS);
    CHECK(uvzk_sim_delete("/written") == 0);
}

void test_leads_again_after_a_loss()
{
    world world;
    uvzk::client client = open_client();
    told ours;
    uvzk::election election = stand(client, ours.options("one"));

    CHECK(await(election.lead()).code() == 0);
    std::string path(election.path());
    CHECK(uvzk_sim_delete(path.c_str()) == 0);
    CHECK(comes([&] { return ours.deposed == 1; }));
    CHECK(ours.reason == UVZK_EDELETED);
    CHECK(comes([&] { return ours.leads == 2 && election.is_leader(); }));
    CHECK(election.path() != path);
}

void test_refuses()
{
    using namespace std::string_view_literals;
    world world;
    uvzk::client client = open_client();
    uvzk::election empty;
    uvzk::election_options late, none;
    late.max_reign = -1ms;
    none.id = std::string_view("leader").substr(6); /* nothing behind it is read */

    CHECK(client.election("/with\0nul"sv).code() == UVZK_EPATH);
    CHECK(client.election("no slash").code() == UVZK_EPATH);
    CHECK(client.election("/a", std::move(late)).code() == UV_EINVAL);
    CHECK(uvzk::client().election("/a").code() == UV_EINVAL);
    uvzk::election nameless = stand(client, std::move(none));
    CHECK(await(nameless.lead()).code() == 0);
    CHECK((*await(nameless.participants()))[0].id.empty());
    CHECK(!empty && !empty.is_leader() && empty.token() == 0);
    CHECK(empty.native_hold() == nullptr && empty.path().empty());
    for (status how : {empty.resign(), empty.requeue(), empty.lead().state(),
                       empty.participants().state(), empty.close().state()}) {
        CHECK(how == status(UVZK_ECLOSED));
    }
    CHECK(empty.verify().state() == status(UVZK_ENOTHELD));
}

/* ------------------------------------------------------------------------- ends */

void test_ends_an_election()
{
    for (std::uint64_t ms : {0U, 1U, 20U, 40U, 80U, 1000U}) { /* at any stage of it */
        world world;
        uvzk::client client = open_client();
        told ours;
        int how = 1;
        {
            uvzk::election election = stand(client, ours.options("one"));
            run(ms);
            (void)election.resign();
            (void)election.lead().then([&](status now) { how = now.code(); });
            ours = told();
        }
        run(1000);
        CHECK(ours.leads == 0 && ours.deposed == 0 && ours.refused == 0);
        CHECK(how == UVZK_ECLOSED);
        CHECK(uvzk_sim_children("/leader") == 0);
    }
}

void test_tells_a_leader_that_it_is_closed()
{
    world world;
    uvzk::client client = open_client();
    told ours;
    uvzk::election election = stand(client, ours.options("one"));
    uvzk::election moved = std::move(election);

    CHECK(await(moved.lead()).code() == 0 && !election);
    CHECK(await(moved.close(UVZK_ELECTION_NOTIFY)).code() == 0 && !moved);
    CHECK(ours.deposed == 1 && ours.reason == UVZK_ECLOSED);
}

void test_ends_in_its_own_callbacks()
{
    for (bool leads : {true, false}) {
        world world;
        uvzk::client client = open_client();
        uvzk::election election;
        int called = 0;
        uvzk::election_options how;
        how.leads = [&](std::int64_t, uvzk::clock::time_point) {
            called++;
            if (leads) {
                election = uvzk::election();
            } else {
                CHECK(bool(election.resign()));
            }
        };
        how.deposed = [&](status) {
            called++;
            election = uvzk::election();
        };
        election = stand(client, std::move(how));
        run(5000);
        CHECK(called == (leads ? 1 : 2) && !election);
        CHECK(uvzk_sim_children("/leader") == 0);
    }
}

/* Client, election, the futures of lead() and participants() end in every order. */
void test_ends_in_any_order()
{
    for (std::uint64_t ms : {0U, 1U, 15U, 3000U}) {
        std::array<int, 4> order = {0, 1, 2, 3};
        do {
            world world;
            uvzk::client client = open_client();
            told ours;
            uvzk::election election = stand(client, ours.options("one"));
            uvzk::election other = stand(client, ours.options("two"));
            uvzk::future<void> lead = election.lead(), kept = other.lead();
            uvzk::future<uvzk::election_participants> all = election.participants();

            for (int which : order) {
                switch (which) {
                case 0:
                    client = uvzk::client();
                    break;
                case 1:
                    election = uvzk::election();
                    break;
                case 2:
                    lead = uvzk::future<void>();
                    break;
                default:
                    all = uvzk::future<uvzk::election_participants>();
                    break;
                }
                run(ms);
            }
            run(5000);
            CHECK(kept.done() && !other.is_leader());
            CHECK(other.resign() == status(UVZK_ECLOSED));
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

void test_outlives_its_client()
{
    world world;
    uvzk::client client = open_client();
    told ours, theirs;
    uvzk::election election = stand(client, ours.options("one"));

    CHECK(await(election.lead()).code() == 0);
    uvzk::election waits = stand(client, theirs.options("two"));
    uvzk::future<void> pending = waits.lead();
    CHECK(await(client.close()).code() == 0);
    CHECK(ours.deposed == 1 && ours.reason == UVZK_ECLOSED);
    CHECK(theirs.refused == 1 && theirs.reason == UVZK_ECLOSED);
    CHECK(await(std::move(pending)).code() == UVZK_ECLOSED);
    CHECK(!election.is_leader() && election.lead().state() == status(UVZK_ECLOSED));
    CHECK(waits.close().state() == status(0)); /* closed with its client */
}

/* --------------------------------------------------------------------- co_await */

#ifdef UVZK_COROUTINES
uvzk::task<> lead_in_turn(uvzk::election &election, int &at_work, int &turns, status &how)
{
    for (;;) {
        how = co_await election.lead();
        if (!how) {
            co_return; /* the election or its client is closed */
        }
        CHECK(election.is_leader() && ++at_work == 1);
        (void)co_await election.verify();
        at_work--;
        turns++;
        CHECK(bool(election.resign()));
        (void)co_await election.participants();
    }
}

void test_awaits()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    uvzk::election first = stand(client), second = stand(other);
    int at_work = 0, turns[2] = {0, 0};
    status how[2] = {1, 1};

    CHECK(bool(lead_in_turn(first, at_work, turns[0], how[0])));
    CHECK(bool(lead_in_turn(second, at_work, turns[1], how[1])));
    CHECK(comes([&] { return turns[0] >= 3 && turns[1] >= 3; }));
    client = uvzk::client();
    second = uvzk::election();
    CHECK(comes([&] {
        return how[0] == status(UVZK_ECLOSED) && how[1] == status(UVZK_ECLOSED);
    }));
}

owned wait_to_lead(uvzk::election &election)
{
    for (;;) {
        (void)co_await election.lead();
        (void)election.resign();
        (void)co_await election.participants();
    }
}

void test_destroys_the_coroutine()
{
    for (std::uint64_t ms : {0U, 10U, 30U, 50U, 70U, 90U, 120U, 1000U}) {
        world world;
        uvzk::client client = open_client();
        uvzk::election election = stand(client);
        owned waits = wait_to_lead(election);

        run(ms);
        waits.handle.destroy();
        CHECK(await(election.lead()).code() == 0);
    }
}
#endif

/* ------------------------------------------------------------------------ memory */

bool stand_without_memory()
{
    uvzk::result<uvzk::client> client = uvzk::client::open(nullptr, "simulated:1");
    if (!client) {
        return client.code() == UV_ENOMEM;
    }
    told ours;
    uvzk::result<uvzk::election> election =
        client->election("/leader", ours.options("one"));
    if (!election) {
        return election.code() == UV_ENOMEM;
    }
    uvzk::future<void> lead = election->lead();
    run(15000);
    uvzk::future<uvzk::election_participants> all = election->participants();
    run(1000);
    uvzk::future<void> closed = election->close();
    run(1000);
    bool as_said = all.state() || all.state() == status(UV_ENOMEM);
    for (uvzk::future<void> *future : {&lead, &closed}) {
        as_said = as_said && (future->state() || future->state() == status(UV_ENOMEM));
    }
    return as_said && ours.leads == 1;
}

/* A close that would have called `deposed`, but was refused. */
void test_tells_nothing_after_a_refused_close()
{
    world world;
    uvzk::client client = open_client();
    told ours;
    uvzk::election election = stand(client, ours.options("one"));

    CHECK(await(election.lead()).code() == 0);
    allocations_left = 1;
    CHECK(election.close(UVZK_ELECTION_NOTIFY).state() == status(UV_ENOMEM));
    allocations_left = -1;
    CHECK(election.is_leader());
    election = uvzk::election();
    run(1000);
    CHECK(ours.deposed == 0);
}

} // namespace

int main()
{
    test_one_leads_and_the_other_follows();
    test_lists_the_participants();
    test_is_one_of_a_selector();
    test_writes_while_it_leads();
    test_leads_again_after_a_loss();
    test_refuses();
    test_ends_an_election();
    test_tells_a_leader_that_it_is_closed();
    test_ends_in_its_own_callbacks();
    test_ends_in_any_order();
    test_outlives_its_client();
#ifdef UVZK_COROUTINES
    test_awaits();
    test_destroys_the_coroutine();
#endif
    test_tells_nothing_after_a_refused_close();
    CHECK(fail_each_allocation(stand_without_memory) >= 8);
    std::puts("all of the elections' tests");
}
