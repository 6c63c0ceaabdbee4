/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_node: what it tells, and its ends in any order. */
#include "kit.hpp"
#include "memory.hpp"

#include <string>
#include <utility>
#include <vector>

using uvzk::status;

namespace {

struct told {
    std::vector<int> statuses;

    bool is(int last) const
    {
        return !statuses.empty() && statuses.back() == last;
    }
};

uvzk::persistent_node
make_node(uvzk::client &client, told &told,
          uvzk_persistent_node_mode_t mode = UVZK_PERSISTENT_NODE_EPHEMERAL)
{
    uvzk::result<uvzk::persistent_node> made =
        client.persistent_node("/workers/17", mode, "here",
                               [&](status how) { told.statuses.push_back(how.code()); });
    CHECK(bool(made));
    return std::move(*made);
}

std::string data_of(uvzk::client &client)
{
    uvzk::result<uvzk::znode> read = await(client.read("/workers/17"));
    return read ? std::string(read->view()) : std::string("none");
}

void test_keeps_a_znode()
{
    world world;
    uvzk::client client = open_client();
    told told;
    uvzk::persistent_node node = make_node(client, told);

    CHECK(comes([&] { return told.is(0); }));
    CHECK(data_of(client) == "here");
    CHECK(bool(node.set_data("there")));
    CHECK(comes([&] { return told.statuses.size() == 2; }) && told.is(0));
    CHECK(data_of(client) == "there");
    CHECK(await(node.close()).code() == 0 && !node);
    CHECK(data_of(client) == "none");
    CHECK(node.set_data("late").code() == UVZK_ECLOSED);
    CHECK(await(node.close()).code() == UVZK_ECLOSED);
}

void test_waits_for_anothers()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    told ours, theirs;
    uvzk::persistent_node node = make_node(client, ours);

    CHECK(comes([&] { return ours.is(0); }));
    uvzk::persistent_node waits = make_node(other, theirs);
    CHECK(comes([&] { return theirs.is(UVZK_ENODEEXISTS); }));
    node = {}; /* its destructor closes it */
    CHECK(comes([&] { return theirs.is(0); }));
}

void test_refuses()
{
    world world;
    uvzk::client client = open_client();

    CHECK(client.persistent_node("workers", UVZK_PERSISTENT_NODE_EPHEMERAL, "").code() ==
          UVZK_EPATH);
    CHECK(
        uvzk::client().persistent_node("/w", UVZK_PERSISTENT_NODE_EPHEMERAL, "").code() ==
        UV_EINVAL);
}

void test_ends_in_any_order()
{
    world world;
    uvzk::client client = open_client();
    told told;
    uvzk::persistent_node node = make_node(client, told), moved;

    moved = std::move(node);
    CHECK(bool(moved) && !node);
    CHECK(comes([&] { return told.is(0); }));
    uvzk::future<void> closed = moved.close();
    CHECK(!moved && await(std::move(closed)).code() == 0);
    moved = make_node(client, told);
    CHECK(await(client.close()).code() == 0);
    CHECK(moved.set_data("late").code() == UVZK_ECLOSED);
    CHECK(await(moved.close()).code() == 0);
}

/* ------------------------------------------------------------------------ memory */

bool keep_without_memory()
{
    uvzk::result<uvzk::client> client = uvzk::client::open(nullptr, "simulated:1");
    if (!client) {
        return client.code() == UV_ENOMEM;
    }
    bool told = false;
    uvzk::result<uvzk::persistent_node> node =
        client->persistent_node("/workers/17", UVZK_PERSISTENT_NODE_EPHEMERAL, "here",
                                [&](status) { told = true; });
    if (!node) {
        return node.code() == UV_ENOMEM;
    }
    run(15000);
    uvzk::future<void> closed = node->close();
    run(1000);
    return told && (closed.state() || closed.state() == status(UV_ENOMEM));
}

} // namespace

int main()
{
    test_keeps_a_znode();
    test_waits_for_anothers();
    test_refuses();
    test_ends_in_any_order();
    CHECK(fail_each_allocation(keep_without_memory) >= 3);
    std::puts("all of the persistent nodes' tests");
}
