/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk::task<T>: its value, its exception, and who ends it. */
#include "kit.hpp"
#include "memory.hpp"

#include <memory>
#include <sys/wait.h>
#include <unistd.h>

using uvzk::status;

namespace {

/* ------------------------------------------------------------------ values */

uvzk::task<std::int64_t> token_of(uvzk::lock &lock)
{
    uvzk::result<uvzk::hold> got = co_await lock.acquire();
    co_return got->token();
}

uvzk::task<uvzk::result<uvzk::hold>> taken(uvzk::lock &lock)
{
    std::int64_t before = co_await token_of(lock);
    uvzk::result<uvzk::hold> got = co_await lock.acquire();
    if (!got || got->token() <= before) {
        co_return UV_EAGAIN;
    }
    co_return got;
}

uvzk::task<std::unique_ptr<int>> made_at_once(int value)
{
    co_return std::make_unique<int>(value);
}

uvzk::task<> take_from_tasks(uvzk::lock &lock, int &steps)
{
    uvzk::result<uvzk::hold> got = co_await taken(lock);
    CHECK(bool(got) && lock.is_held());
    CHECK(*co_await made_at_once(7) == 7);
    steps++;
}

void test_a_value_reaches_who_awaits()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    int steps = 0;

    CHECK(bool(take_from_tasks(lock, steps)));
    CHECK(steps == 0);
    CHECK(comes([&] { return steps == 1; }));
    CHECK(comes([&] { return !lock.is_held(); }));
}

/* The task may be done before it is awaited, or not. */
uvzk::task<> await_kept(uvzk::task<std::int64_t> kept, std::int64_t &token)
{
    token = co_await std::move(kept);
    CHECK(!kept);
}

void test_a_kept_task_is_awaited_later()
{
    for (std::uint64_t ms : {0U, 60000U}) {
        world world;
        uvzk::client client = open_client();
        uvzk::lock lock = make_mutex(client);
        std::int64_t token = -1;

        uvzk::task<std::int64_t> kept = token_of(lock);
        run(ms);
        CHECK(bool(await_kept(std::move(kept), token)));
        CHECK((token >= 0) == (ms > 0));
        CHECK(comes([&] { return token >= 0; }));
    }
}

/* -------------------------------------------------------------------- ends */

struct counted {
    explicit counted(int &alive) : alive_(alive)
    {
        alive_++;
    }
    counted(const counted &) = delete;
    counted &operator=(const counted &) = delete;
    ~counted()
    {
        alive_--;
    }
    int &alive_;
};

uvzk::task<status> hold_for_ever(uvzk::lock &lock, int &alive)
{
    counted one(alive);
    uvzk::result<uvzk::hold> got = co_await lock.acquire();
    co_await got->verify();
    co_await std::suspend_always();
    co_return got;
}

owned await_for_ever(uvzk::lock &lock, int &alive)
{
    counted one(alive);
    (void)co_await hold_for_ever(lock, alive);
}

void test_is_destroyed_with_who_awaits_it()
{
    for (std::uint64_t ms : {0U, 10U, 30U, 50U, 70U, 90U, 120U, 1000U}) {
        world world;
        uvzk::client client = open_client();
        uvzk::lock lock = make_mutex(client);
        int alive = 0;

        owned waits = await_for_ever(lock, alive);
        CHECK(alive == 2);
        run(ms);
        waits.handle.destroy();
        CHECK(alive == 0);
        CHECK(is_free());
    }
}

uvzk::task<> count_steps(uvzk::lock &lock, int &alive, int &steps)
{
    counted one(alive);
    uvzk::result<uvzk::hold> got = co_await lock.acquire();
    steps++;
}

void test_goes_on_when_the_task_is_destroyed()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    int alive = 0, steps = 0;

    {
        uvzk::task<> kept = count_steps(lock, alive, steps);
        CHECK(bool(kept));
        run(10);
        CHECK(alive == 1);
    }
    CHECK(comes([&] { return steps == 1 && alive == 0; }));
}

/* ------------------------------------------------------------------ memory */

/* Out of line, where no compiler saves its allocation. */
OUT_OF_LINE uvzk::task<status> nothing()
{
    co_return 0;
}

uvzk::task<> await_nothing(status &how)
{
    how = co_await nothing();
}

/* The coroutine that awaits, or the one that is awaited, has no memory. */
void test_without_memory()
{
    for (int n : {1, 2}) {
        status how = 1;
        allocations_left = n;
        bool begun(await_nothing(how));
        allocations_left = -1;
        CHECK(begun == (n == 2));
        CHECK(how == status(n == 2 ? UV_ENOMEM : 1));
    }
}

/* -------------------------------------------------------------- exceptions */

#ifdef __cpp_exceptions
uvzk::task<int> throws_at_once()
{
    throw 42;
    co_return 0;
}

uvzk::task<int> throws_later(uvzk::lock &lock)
{
    uvzk::result<uvzk::hold> got = co_await lock.acquire();
    throw got->is_valid() ? 43 : 0;
}

uvzk::task<int> passes_on(uvzk::lock &lock)
{
    uvzk::result<uvzk::hold> got = co_await lock.acquire();
    (void)co_await got->release();
    co_return co_await throws_later(lock);
}

uvzk::task<> catches(uvzk::lock &lock, int &steps)
{
    int caught = 0;
    try {
        (void)co_await throws_at_once();
    } catch (int what) {
        caught = what;
    }
    CHECK(caught == 42);
    try {
        (void)co_await passes_on(lock);
    } catch (int what) {
        caught = what;
    }
    CHECK(caught == 43);
    CHECK(!lock.is_held()); /* the holds ended on the exception's way */
    steps++;
}

void test_an_exception_reaches_who_awaits()
{
    world world;
    uvzk::client client = open_client();
    uvzk::lock lock = make_mutex(client);
    int steps = 0;

    CHECK(bool(catches(lock, steps)));
    CHECK(comes([&] { return steps == 1; }));
    CHECK(is_free());
}

OUT_OF_LINE uvzk::task<> no_value()
{
    co_return;
}

uvzk::task<> await_no_value(bool &refused)
{
    try {
        co_await no_value();
    } catch (const std::bad_alloc &) {
        refused = true;
    }
}

void test_void_without_memory_throws()
{
    bool refused = false;
    allocations_left = 2;
    CHECK(bool(await_no_value(refused)));
    allocations_left = -1;
    CHECK(refused);
}

/* Whether the story ends its process by std::terminate. */
template <class Story> bool terminates(Story story)
{
    constexpr int terminated = 9;
    std::fflush(nullptr);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        std::set_terminate([] { _exit(terminated); });
        story();
        _exit(0);
    }
    int how = 0;
    CHECK(waitpid(child, &how, 0) == child);
    return WIFEXITED(how) && WEXITSTATUS(how) == terminated;
}

void test_an_exception_that_nobody_awaits_ends_the_program()
{
    CHECK(terminates([] { (void)throws_at_once(); }));
    for (bool kept : {false, true}) {
        CHECK(terminates([kept] {
            world world;
            uvzk::client client = open_client();
            uvzk::lock lock = make_mutex(client);
            uvzk::task<int> task = throws_later(lock);
            if (!kept) {
                task = uvzk::task<int>();
            }
            run(patience_ms);
            CHECK(kept); /* it was ended before, or is when the task is destroyed */
        }));
    }
}
#endif

} // namespace

int main()
{
    test_a_value_reaches_who_awaits();
    test_a_kept_task_is_awaited_later();
    test_is_destroyed_with_who_awaits_it();
    test_goes_on_when_the_task_is_destroyed();
    test_without_memory();
#ifdef __cpp_exceptions
    test_an_exception_reaches_who_awaits();
    test_void_without_memory_throws();
    test_an_exception_that_nobody_awaits_ends_the_program();
#endif
    std::puts("all of the tasks' tests");
}
