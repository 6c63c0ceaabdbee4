/* SPDX-License-Identifier: Apache-2.0 */
/* A request is as long as it is counted before it is written (request_size.h). */
#include "frames.h"

#include "engine/request_size.h"
#include "engine/session.h"
#include "native/rpc_message.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const uvzk_acl_t entries[] = {{UVZK_PERM_ALL, "world", "anyone"},
                                     {UVZK_PERM_READ, "digest", "me:secret"}};
static const struct uvzk__acl two = {entries, 2}, none = {NULL, 0};

static void assert_counted(const struct uvzk__rpc *rpc, const char *prefix)
{
    struct uvzk__port port = {.chroot_length = strlen(prefix)};
    struct uvzk__session session = {.port = &port};
    struct uvzk__jute_writer writer;
    struct uvzk__chroot chroot;
    int32_t opcode;

    uvzk__chroot_init(&chroot, prefix);
    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__rpc_message_write(&writer, &chroot, 1, rpc, true, &opcode), 0);
    assert_int_equal(uvzk__request_size(&session, rpc), contents(&writer).length);
    uvzk__jute_writer_end(&writer);
    uvzk__chroot_end(&chroot);
}

static void every_kind_of_request(void **state)
{
    static const char *const chroots[] = {"", "/a/chroot"};
    (void)state;

    for (size_t i = 0; i < LENGTH(chroots); i++) {
        for (uint8_t kind = 0; kind < UVZK__RPC_KINDS; kind++) {
            struct uvzk__rpc rpc = {.kind = kind, .path = "/a/path", .version = 3};
            if (kind == UVZK__RPC_CREATE || kind == UVZK__RPC_SET) {
                rpc.data = "some data";
                rpc.data_length = 9;
                rpc.acl = &two;
            }
            assert_counted(&rpc, chroots[i]);
        }
    }
}

static void every_kind_of_op(void **state)
{
    const struct uvzk__op ops[] = {
        {UVZK__OP_CREATE, UVZK__EPHEMERAL, 0, "/a", "data", 4, &two},
        {UVZK__OP_CREATE, UVZK__PERSISTENT, 0, "/a/b", NULL, 0, &none},
        {UVZK__OP_SET, 0, 7, "/c", "data", 4, NULL},
        {UVZK__OP_DELETE, 0, -1, "/d/e", NULL, 0, NULL},
        {UVZK__OP_CHECK, 0, 0, "/f", NULL, 0, NULL}};
    (void)state;

    for (size_t count = 0; count <= LENGTH(ops); count++) {
        const struct uvzk__rpc rpc = {
            .kind = UVZK__RPC_MULTI, .ops = ops, .op_count = count};
        assert_counted(&rpc, "");
        assert_counted(&rpc, "/a/chroot");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind_of_request),
                                       cmocka_unit_test(every_kind_of_op)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
