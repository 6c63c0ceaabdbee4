/* SPDX-License-Identifier: Apache-2.0 */
/* glib [HOSTS]: uvzk in a program with a GLib main loop, for example a GTK program.
 *
 *   $ ./glib 127.0.0.1:2181
 *
 * A GSource runs libuv's loop. The program has a timeout of GLib, every 10 ms: the first
 * one acquires a lock, and the third one while the lock is held releases it. */
#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

static uv_loop_t loop;
static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_hold_t hold;
static GMainLoop *main_loop;
static int ticks_held;
static bool acquiring, held;

/* --------------------------------------------------------------- libuv as a GSource */

struct uv_source {
    GSource source;
    uv_loop_t *loop;
    gpointer descriptor; /* of uv_backend_fd */
};

/* GLib calls it before each sleep. TRUE: dispatch at once. */
static gboolean prepare(GSource *source, gint *timeout)
{
    uv_loop_t *of = ((struct uv_source *)source)->loop;

    *timeout = -1;
    if (uv_loop_alive(of)) { /* otherwise uv_backend_timeout would return 0 */
        uv_update_time(of);
        *timeout = uv_backend_timeout(of);
    }
    return *timeout == 0;
}

/* GLib calls it after each sleep: a descriptor of libuv is ready, or a timer is due. */
static gboolean check(GSource *source)
{
    struct uv_source *uv = (struct uv_source *)source;
    gint timeout;

    return g_source_query_unix_fd(source, uv->descriptor) != 0 ||
           prepare(source, &timeout);
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)callback;
    (void)data;
    uv_run(((struct uv_source *)source)->loop, UV_RUN_NOWAIT);
    return G_SOURCE_CONTINUE;
}

/* The caller destroys it with g_source_destroy, and calls g_source_unref. */
static GSource *uv_source_new(uv_loop_t *of)
{
    static GSourceFuncs functions = {
        .prepare = prepare, .check = check, .dispatch = dispatch};
    GSource *source = g_source_new(&functions, sizeof(struct uv_source));
    struct uv_source *uv = (struct uv_source *)source;

    uv->loop = of;
    uv->descriptor = g_source_add_unix_fd(source, uv_backend_fd(of), G_IO_IN);
    g_source_attach(source, NULL);
    return source;
}

/* ------------------------------------------------------------------------- with uvzk */

static void on_closed(uvzk_client_t *closed)
{
    (void)closed;
    g_main_loop_quit(main_loop);
}

static void finish(const char *what, int status)
{
    printf("%s: %s\n", what, status == 0 ? "yes" : uvzk_strerror(status));
    uvzk_client_close(&client, on_closed);
}

static void on_released(uvzk_hold_t *released, int status)
{
    (void)released;
    finish("released", status);
}

static void on_lost(uvzk_hold_t *lost, int reason)
{
    (void)lost;
    held = false;
    finish("still held", reason);
}

static void on_acquired(uvzk_hold_t *acquired, int status)
{
    if (status < 0) {
        finish("granted", status);
        return;
    }
    printf("granted, token %" PRId64 "\n", uvzk_hold_token(acquired));
    held = true;
}

static gboolean on_tick(gpointer data)
{
    (void)data;
    if (!acquiring) {
        acquiring = true;
        int status = uvzk_lock_acquire(&mutex, &hold, NULL, on_acquired, on_lost);
        if (status < 0) {
            finish("acquiring", status);
        }
    } else if (held && ++ticks_held == 3) {
        printf("%d ticks while the lock was held\n", ticks_held);
        held = false;
        uvzk_hold_release(&hold, on_released);
    }
    return G_SOURCE_CONTINUE;
}

static int start(const char *hosts)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    int status = uvzk_client_init(&loop, &client, &options);
    if (status == 0) {
        status = uvzk_mutex_init(&client, &mutex, "/examples/glib");
        if (status < 0 || (status = uvzk_client_start(&client)) < 0) {
            uvzk_client_close(&client, on_closed);
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    uv_loop_init(&loop);
    int status = start(argc > 1 ? argv[1] : "127.0.0.1:2181");
    if (status < 0) {
        fprintf(stderr, "cannot start: %s\n", uvzk_refusal(status));
        return 1;
    }
    main_loop = g_main_loop_new(NULL, FALSE);
    GSource *source = uv_source_new(&loop);
    guint timer = g_timeout_add(10, on_tick, NULL);
    g_main_loop_run(main_loop);

    g_source_remove(timer);
    uv_run(&loop, UV_RUN_DEFAULT); /* the last handles are closed: this does not wait */
    g_source_destroy(source);
    g_source_unref(source);
    g_main_loop_unref(main_loop);
    printf("libuv's loop is closed: %s\n", uv_loop_close(&loop) == 0 ? "yes" : "no");
    return 0;
}
