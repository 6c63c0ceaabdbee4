/* SPDX-License-Identifier: Apache-2.0 */
/* group_member [HOSTS]: two workers that know of each other.
 *
 * Each worker is a client of its own, as in two programs, and a member of one group. Ann
 * sees Ben come, take up work and leave. A Java program with a GroupMember at the same path
 * is listed too. */
#include <stdio.h>
#include <string.h>
#include <uv.h>
#include <uvzk.h>

#define WORKERS "/examples_workers"

struct worker {
    uvzk_client_t client;
    uvzk_group_member_t member;
};

static struct worker ann, ben;
static int result = 1;

static void finish(void)
{
    uvzk_client_close(&ann.client, NULL);
    uvzk_client_close(&ben.client, NULL);
}

static void on_ann_left(uvzk_group_member_t *member, int status)
{
    (void)member;
    printf("ann left: %s\n", status == 0 ? "yes" : uvzk_strerror(status));
    result = status == 0 ? 0 : 1;
    finish();
}

static int join(struct worker *worker, const char *name,
                uvzk_group_member_change_cb joined, uvzk_group_member_change_cb changed)
{
    return uvzk_group_member_init(&worker->client, &worker->member, WORKERS, name, "idle",
                                  4, joined, changed);
}

/* Ben's data are "busy" when Ann sees them so; then he leaves. */
static void on_change(uvzk_group_member_t *member, int status)
{
    static int lists;
    const uvzk_group_entry_t *workers;
    size_t count = 0;

    if (status < 0 || uvzk_group_member_list(member, &workers, &count) < 0) {
        finish();
        return;
    }
    printf("workers:");
    for (size_t i = 0; i < count; i++) {
        printf(" %s is %.*s%s", workers[i].id, (int)workers[i].length,
               (const char *)workers[i].data, i + 1 < count ? "," : "\n");
    }
    switch (++lists) {
    case 1:
        if (join(&ben, "ben", NULL, NULL) < 0) {
            finish();
        }
        break;
    case 2:
        uvzk_group_member_set_data(&ben.member, "busy", 4);
        break;
    case 3:
        uvzk_group_member_close(&ben.member, NULL);
        break;
    default:
        uvzk_group_member_close(member, on_ann_left);
        break;
    }
}

/* Her list does not wait for this: she lists herself from the beginning. */
static void on_joined(uvzk_group_member_t *member, int status)
{
    (void)member;
    if (status < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(status)); /* uvzk goes on trying */
    }
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    struct worker *workers[] = {&ann, &ben};
    uvzk_client_options_t options;
    int rc = 0;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        rc = uvzk_client_init(loop, &workers[i]->client, &options);
        if (rc == 0) {
            rc = uvzk_client_start(&workers[i]->client);
        }
    }
    if (rc == 0) {
        rc = join(&ann, "ann", on_joined, on_change);
    }
    if (rc < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        finish();
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 ? result : 1;
}
