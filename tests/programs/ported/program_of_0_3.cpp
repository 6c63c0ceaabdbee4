/* SPDX-License-Identifier: Apache-2.0 */
/* As program_of_0_3.c, for uvzk.hpp. */
#include <cstdio>
#include <uvzk.hpp>

static void show(uvzk::client &client, uvzk::atomic_long &atomic)
{
    atomic.initialize(3).then([](uvzk::result<uvzk::atomic_value> value) {
        std::printf("%d\n", value ? 0 : value.code());
    });
    uvzk::result<uvzk::lock> mutex = client.mutex("/a");
    mutex->acquire().then([](uvzk::result<uvzk::hold> hold) {
        std::printf("%d\n", hold ? static_cast<int>(hold->lease_count()) : hold.code());
    });
}

static uvzk::task wait(uvzk::lock &mutex)
{
    uvzk::result<uvzk::hold> hold = co_await mutex.acquire();
    std::printf("%d\n", hold ? static_cast<int>(hold->lease_count()) : hold.code());
}

int main()
{
    uvzk::client_options options;

    options.hosts = "localhost:1";
    uvzk::result<uvzk::client> client =
        uvzk::client::open(uv_default_loop(), std::move(options));
    if (!client) {
        return 1;
    }
    uvzk::result<uvzk::atomic_long> atomic = client->atomic_long("/n");
    uvzk::result<uvzk::lock> mutex = client->mutex("/b");
    show(*client, *atomic);
    if (!wait(*mutex)) {
        return 1;
    }
    client = uvzk::result<uvzk::client>(UV_EAGAIN);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
