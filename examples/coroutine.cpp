/* SPDX-License-Identifier: Apache-2.0 */
/* coroutine [HOSTS]: uvzk.hpp with co_await; C++20.
 *
 * One after the other, as if it waited: acquire, work, write what came of it, release. The
 * write is one that ZooKeeper refuses if the lock is no longer held. Nothing blocks; at
 * each co_await the loop goes on with whatever else there is. */
#include <cstdio>
#include <uvzk.hpp>

using namespace std::chrono_literals;

namespace {

bool all_done = false;

bool failed(const char *step, uvzk::status status)
{
    std::printf("%s: %s\n", step, status.message());
    return !status;
}

/* Whatever goes wrong, what it has is given back where it ends. */
uvzk::task<> work(uv_loop_t *loop, uvzk::client client)
{
    uvzk::result<uvzk::lock> lock = client.mutex("/examples/coroutine");
    if (failed("mutex", lock)) {
        co_return;
    }
    uvzk::result<uvzk::hold> hold = co_await lock->acquire(15s);
    if (failed("acquired", hold)) {
        co_return;
    }
    hold->on_lost([](uvzk::status why) { std::printf("lost: %s\n", why.message()); });

    if (failed("worked", co_await uvzk::sleep_for(loop, 20ms))) {
        co_return;
    }
    const uvzk_write_op_t create = {UVZK_WRITE_CREATE, -1, "/examples/sum", "42", 2};
    if (failed("written", co_await hold->write(&create, 1))) {
        co_return;
    }
    uvzk::result<uvzk::znode> sum = co_await client.read("/examples/sum");
    if (failed("read", sum)) {
        co_return;
    }
    std::printf("it is %.*s\n", static_cast<int>(sum->view().size()), sum->view().data());

    const uvzk_write_op_t remove = {UVZK_WRITE_DELETE, -1, "/examples/sum", nullptr, 0};
    if (failed("deleted", co_await hold->write(&remove, 1)) ||
        failed("released", co_await hold->release())) {
        co_return;
    }
    all_done = !failed("closed", co_await client.close());
}

} // namespace

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk::result<uvzk::client> client =
        uvzk::client::open(loop, argc > 1 ? argv[1] : "127.0.0.1:2181");

    if (!client || !work(loop, std::move(*client))) {
        std::fprintf(stderr, "to begin: %s\n", client.message());
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && all_done ? 0 : 1;
}
