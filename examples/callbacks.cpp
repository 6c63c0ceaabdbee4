/* SPDX-License-Identifier: Apache-2.0 */
/* callbacks [HOSTS]: uvzk.hpp with callbacks; C++17.
 *
 * A till takes three orders. Each locks the product, deducts from the stock, which takes
 * a while, and gives the lock back. What an order needs is in the order: when that ends,
 * whatever the reason, its hold ends with it, and the next one has the lock. */
#include <cstdio>
#include <memory>
#include <uvzk.hpp>

using namespace std::chrono_literals;

namespace {

struct till {
    uvzk::client client;
    uvzk::lock product;
    int open = 3, sold = 0;

    void settled()
    {
        if (--open == 0) {
            client = uvzk::client(); /* closes it; then the loop has nothing to do */
        }
    }
};

struct order {
    till &of;
    int number;
    uvzk::hold hold;
    uv_timer_t stock{};
};

void end(uv_handle_t *stock)
{
    std::unique_ptr<order> ended(static_cast<order *>(stock->data));
    ended->of.settled();
}

void deducted(uv_timer_t *stock)
{
    order &one = *static_cast<order *>(stock->data);

    if (one.hold.is_valid()) {
        std::printf("order %d: sold\n", one.number);
        one.of.sold++;
    } else {
        std::printf("order %d: lost, %s\n", one.number, one.hold.lost().message());
    }
    uv_close(reinterpret_cast<uv_handle_t *>(stock), end);
}

void deduct(uv_loop_t *loop, std::unique_ptr<order> one)
{
    one->stock.data = one.get();
    uv_timer_init(loop, &one->stock);
    uv_timer_start(&one->stock, deducted, 20, 0);
    one.release(); /* until end() */
}

void take(uv_loop_t *loop, till &of, int number)
{
    uvzk::status refused =
        of.product.acquire(10s).then([=, &of](uvzk::result<uvzk::hold> got) {
            if (got) {
                deduct(loop, std::make_unique<order>(order{of, number, std::move(*got)}));
            } else {
                std::printf("order %d: %s\n", number, got.message());
                of.settled();
            }
        });
    if (!refused) {
        std::printf("order %d: %s\n", number, refused.message());
        of.settled();
    }
}

} // namespace

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    till till;
    uvzk::result<uvzk::client> client =
        uvzk::client::open(loop, argc > 1 ? argv[1] : "127.0.0.1:2181");

    if (!client) {
        std::fprintf(stderr, "%s\n", client.message());
        return 1;
    }
    till.client = std::move(*client);
    uvzk::result<uvzk::lock> product = till.client.mutex("/examples/product17");
    if (product) {
        till.product = std::move(*product);
    }
    for (int number = 1; number <= 3; number++) {
        take(loop, till, number);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && till.sold == 3 ? 0 : 1;
}
