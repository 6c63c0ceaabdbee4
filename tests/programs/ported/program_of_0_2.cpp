/* SPDX-License-Identifier: Apache-2.0 */
/* As program_of_0_2.c, for uvzk.hpp. */
#include <cstdio>
#include <string_view>
#include <uvzk.hpp>

static void show(uvzk::client &client)
{
    client.read("/a").then([](uvzk::result<uvzk::bytes> data) {
        std::printf("%d\n", data ? static_cast<int>(data->view().size()) : data.code());
    });
    client.look("/a").then([](uvzk::result<uvzk::znode> data) {
        std::printf("%d\n", data ? data->stat().czxid > 0 : data.code());
    });
}

int main()
{
    uvzk::client_options options;
    int lines = 0;

    options.hosts = "localhost:1";
    options.log = [&](int level, std::string_view line) {
        lines += level > 0 && !line.empty();
    };
    uvzk::result<uvzk::client> client =
        uvzk::client::open(uv_default_loop(), std::move(options));
    if (!client) {
        return 1;
    }
    show(*client);
    client = uvzk::result<uvzk::client>(UV_EAGAIN);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
