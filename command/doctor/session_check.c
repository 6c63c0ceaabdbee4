/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a session, times some reads, and closes it (session_check.h). */
#include "doctor/session_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static int compare_times(const void *left, const void *right)
{
    double one = *(const double *)left, other = *(const double *)right;

    return (one > other) - (one < other);
}

/* The client's own reason tells more than the status. */
static void keep_reason(struct session_check *check, int status)
{
    uvzk_client_error_t why;

    uvzk_client_error_init(&why);
    if (uvzk_client_last_error(&check->connection.client, &why) < 0 || why.code == 0) {
        why.text = status == UV_ETIMEDOUT ? "no answer" : uvzk_strerror(status);
    }
    snprintf(check->reason, sizeof(check->reason), "%s", why.text);
}

static void end(struct session_check *check, int status)
{
    if (check->closing) {
        return;
    }
    check->closing = true;
    check->status = status;
    if (status < 0) {
        keep_reason(check, status);
    }
    qsort(check->read_ms, check->reads, sizeof(check->read_ms[0]), compare_times);
    connection_close(&check->connection, NULL);
}

static double since(uint64_t begun)
{
    return (double)(uv_hrtime() - begun) / 1e6;
}

static void read_again(struct session_check *check);

/* An answer that refuses (no such znode, no permission) is an answer. */
static bool is_answer(int status)
{
    return status == 0 || status == UVZK_ENONODE || status == UVZK_ENOAUTH;
}

static void on_read(uvzk_req_t *read, int status)
{
    struct session_check *check = read->data;

    if (check->closing) {
        return;
    }
    if (!is_answer(status)) {
        end(check, status);
        return;
    }
    check->root_status = check->reads == 0 ? status : check->root_status;
    check->read_ms[check->reads++] = since(check->begun);
    read_again(check);
}

static void read_again(struct session_check *check)
{
    if (check->reads == check->reads_wanted) {
        end(check, 0);
        return;
    }
    check->begun = uv_hrtime();
    int status = uvzk_client_read(&check->connection.client, &check->read, "/", on_read);
    if (status < 0) {
        end(check, status);
    }
}

static void on_connected(struct connection *connection, int status)
{
    struct session_check *check = connection->data;

    if (status < 0) {
        end(check, status);
        return;
    }
    check->connect_ms = since(check->begun);
    check->given_ms = uvzk_client_session_timeout(&connection->client);
    read_again(check);
}

void session_check_begin(struct session_check *check, uv_loop_t *loop,
                         const struct connection_options *options,
                         const struct session_question *question)
{
    check->options = *options;
    snprintf(check->hosts, sizeof(check->hosts), "%s%s", question->address,
             question->chroot);
    check->options.hosts = check->hosts;
    check->options.tls_host = question->name;
    check->options.session_ms = question->session_ms;
    check->options.sessions = 1;
    check->options.connect_timeout_ms = 0; /* session_check_give_up instead */
    check->options.quiet = true;           /* a finding says why */
    check->reads_wanted = question->reads;
    check->read.data = check;
    check->connection.data = check;
    check->begun = uv_hrtime();
    if (connection_open(&check->connection, loop, &check->options, NULL, on_connected) !=
        EX_OK) {
        end(check, UV_EINVAL); /* connection.c has printed why */
    }
}

void session_check_give_up(struct session_check *check)
{
    end(check, UV_ETIMEDOUT);
}
