/* SPDX-License-Identifier: Apache-2.0 */
/* group_member: what it tells and lists, and its ends in any order. */
#include "kit.hpp"
#include "memory.hpp"

#include <string>
#include <utility>

using uvzk::status;

namespace {

struct told {
    int joined = 1, lists = 0; /* joined: the last status; 1: none yet */
};

uvzk::group_member make_member(uvzk::client &client, told &told, const char *id,
                               const char *data)
{
    uvzk::result<uvzk::group_member> made = client.group_member(
        "/workers", id, data, [&](status how) { told.joined = how.code(); },
        [&](status how) { told.lists += how.code() == 0; });
    CHECK(bool(made));
    return std::move(*made);
}

std::string list_of(const uvzk::group_member &member)
{
    uvzk::group_members members = member.members();
    std::string text;
    for (std::size_t i = 0; i < members.size(); i++) {
        text += std::string(members[i].id) + "=" + std::string(members[i].data) + " ";
    }
    return text;
}

bool comes_to_list(const uvzk::group_member &member, const char *text)
{
    return comes([&] { return list_of(member) == text; });
}

void test_members_see_each_other()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    told ours, theirs;
    uvzk::group_member member = make_member(client, ours, "a", "one");

    CHECK(list_of(member) == "a=one ");
    CHECK(comes([&] { return ours.joined == 0 && ours.lists == 1; }));
    uvzk::group_member second = make_member(other, theirs, "b", "two");
    CHECK(comes_to_list(member, "a=one b=two ") && comes_to_list(second, "a=one b=two "));
    CHECK(member.members()[0].mzxid == 0 && member.members()[1].mzxid != 0);
    CHECK(bool(second.set_data("three")));
    CHECK(comes_to_list(member, "a=one b=three "));
    CHECK(await(second.close()).code() == 0 && !second);
    CHECK(comes_to_list(member, "a=one "));
    CHECK(second.set_data("late").code() == UVZK_ECLOSED);
    CHECK(second.members().status().code() == UVZK_ECLOSED);
    CHECK(await(second.close()).code() == UVZK_ECLOSED);
}

void test_waits_for_anothers()
{
    world world;
    uvzk::client client = open_client(), other = open_client();
    told ours, theirs;
    uvzk::group_member member = make_member(client, ours, "a", "one");

    CHECK(comes([&] { return ours.joined == 0; }));
    uvzk::group_member waits = make_member(other, theirs, "a", "two");
    CHECK(comes([&] { return theirs.joined == UVZK_ENODEEXISTS; }));
    member = {}; /* its destructor closes it */
    CHECK(comes([&] { return theirs.joined == 0; }));
}

void test_refuses()
{
    world world;
    uvzk::client client = open_client();

    CHECK(client.group_member("workers", "a", "").code() == UVZK_EPATH);
    CHECK(client.group_member("/workers", "a/b", "").code() == UVZK_EPATH);
    CHECK(client.group_member("/workers", std::string_view("a\0b", 3), "").code() ==
          UVZK_EPATH);
    CHECK(uvzk::client().group_member("/workers", "a", "").code() == UV_EINVAL);
}

void test_ends_in_any_order()
{
    world world;
    uvzk::client client = open_client();
    told told;
    uvzk::group_member member = make_member(client, told, "a", "one"), moved;

    moved = std::move(member);
    CHECK(bool(moved) && !member);
    CHECK(comes([&] { return told.joined == 0; }));
    uvzk::future<void> closed = moved.close();
    CHECK(!moved && await(std::move(closed)).code() == 0);
    moved = make_member(client, told, "a", "one");
    CHECK(await(client.close()).code() == 0);
    CHECK(moved.set_data("late").code() == UVZK_ECLOSED);
    CHECK(moved.members().size() == 0);
    CHECK(await(moved.close()).code() == 0);
}

/* ------------------------------------------------------------------------ memory */

bool join_without_memory()
{
    uvzk::result<uvzk::client> client = uvzk::client::open(nullptr, "simulated:1");
    if (!client) {
        return client.code() == UV_ENOMEM;
    }
    told told;
    uvzk::result<uvzk::group_member> member = client->group_member(
        "/workers", "a", "one", [&](status how) { told.joined = how.code(); },
        [&](status how) { told.lists += how.code() == 0; });
    if (!member) {
        return member.code() == UV_ENOMEM;
    }
    run(15000);
    uvzk::future<void> closed = member->close();
    run(1000);
    return told.joined == 0 && told.lists == 1 &&
           (closed.state() || closed.state() == status(UV_ENOMEM));
}

} // namespace

int main()
{
    test_members_see_each_other();
    test_waits_for_anothers();
    test_refuses();
    test_ends_in_any_order();
    CHECK(fail_each_allocation(join_without_memory) >= 3);
    std::puts("all of the group members' tests");
}
