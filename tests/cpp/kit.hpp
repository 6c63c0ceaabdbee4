/* SPDX-License-Identifier: Apache-2.0 */
/* What the C++ tests stand on: a simulated world, and checks that print and abort. */
#ifndef UVZK_TESTS_CPP_KIT_HPP
#define UVZK_TESTS_CPP_KIT_HPP

#include <uvzk.hpp>
#include <uvzk_sim.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

inline void check(bool holds, const char *what, const char *file, int line)
{
    if (!holds) {
        uvzk_sim_print(stderr);
        std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
        std::abort();
    }
}

inline constexpr std::uint64_t patience_ms = 60000;

/* Whatever was made in it ends before it does; then nothing is left. */
class world {
  public:
    explicit world(std::uint32_t servers = 1)
    {
        uvzk_sim_options_t options;
        uvzk_sim_options_init(&options);
        options.servers = servers;
        CHECK(uvzk_sim_begin(&options) == 0);
    }
    world(const world &) = delete;
    world &operator=(const world &) = delete;
    ~world()
    {
        uvzk_sim_run_for(patience_ms);
        CHECK(uvzk_sim_sessions() == 0);
        CHECK(uvzk_sim_end() == 0);
    }
};

inline uvzk::client open_client()
{
    uvzk::client_options options;
    options.hosts = "simulated:1";
    options.session_timeout = uvzk::milliseconds(10000);
    uvzk::result<uvzk::client> made = uvzk::client::open(nullptr, std::move(options));
    CHECK(bool(made));
    return std::move(*made);
}

inline uvzk::lock make_mutex(uvzk::client &client, std::string_view path = "/locks/a")
{
    uvzk::result<uvzk::lock> made = client.mutex(path);
    CHECK(bool(made));
    return std::move(*made);
}

inline void run(std::uint64_t ms)
{
    uvzk_sim_run_for(ms);
}

/* Until it is true. */
template <class Condition> bool comes(Condition condition)
{
    return uvzk_sim_await_that(
               [](void *context) -> int {
                   return (*static_cast<Condition *>(context))();
               },
               &condition, patience_ms) == 0;
}

template <class T> uvzk::outcome<T> await(uvzk::future<T> future)
{
    CHECK(comes([&] { return future.done(); }));
    return future.take();
}

inline uvzk::hold take(uvzk::lock &lock)
{
    uvzk::result<uvzk::hold> got = await(lock.acquire());
    CHECK(bool(got));
    return std::move(*got);
}

/* Whether the lock can be had by somebody else. */
inline bool is_free(std::string_view path = "/locks/a")
{
    uvzk::client other = open_client();
    uvzk::lock lock = make_mutex(other, path);
    uvzk::future<uvzk::hold> future = lock.acquire(uvzk::milliseconds(500));
    return bool(await(std::move(future)));
}

#ifdef UVZK_COROUTINES
/* A coroutine that its owner may destroy while it waits. */
struct owned {
    struct promise_type {
        owned get_return_object()
        {
            return owned{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            std::abort();
        }
    };
    std::coroutine_handle<promise_type> handle;
};
#endif

#endif
