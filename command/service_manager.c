/* SPDX-License-Identifier: Apache-2.0 */
/* systemd's protocol for services that report their state (service_manager.h). Written
 * without libsystemd: the protocol is a few lines of text in a datagram, and systemd
 * promises to keep it. lock_job.c and elect_job.c call these functions on their loops.
 *
 * A datagram never blocks the loop. If the service manager's queue is full, the text is
 * dropped: the next keepalive comes soon, and carries READY=1 if that was dropped. */
#include "service_manager.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uvzk.h>

/* The watchdog ends before the validity by this part of the session timeout, at most by
 * SLACK_MOST_MS. A hold that is proved on schedule has at least a third of its session
 * timeout left. */
#define SLACK_PARTS 16U
#define SLACK_MOST_MS 1000U
#define SLACK_LEAST_MS 50U
#define LEAST_MS 10U
#define TEXT_MAX 512

static const char *const variables[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};

/* Returns true if a variable with a process id names another process than this one. */
static bool names_another(const char *variable)
{
    const char *pid = getenv(variable);

    return pid != NULL && strtol(pid, NULL, 10) != (long)getpid();
}

/* An address begins with '/', or with '@' if it is abstract. Others, such as those for
 * virtual machines, are not for a process of this machine. */
static bool read_address(struct service_manager *manager, const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);

    if (length < 2 || length >= sizeof(manager->address.sun_path) ||
        (text[0] != '/' && text[0] != '@')) {
        return false;
    }
    manager->address.sun_family = AF_UNIX;
    memcpy(manager->address.sun_path, text, length);
    /* An abstract address has no NUL at its end, and one at its beginning. */
    if (text[0] == '@') {
        manager->address.sun_path[0] = '\0';
    }
    manager->address_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                          length + (text[0] == '@' ? 0 : 1));
    return true;
}

/* WATCHDOG_PID is the process whose keepalives count. */
static uint64_t read_watchdog(void)
{
    const char *text = getenv("WATCHDOG_USEC");

    return text == NULL || names_another("WATCHDOG_PID")
               ? 0
               : (uint64_t)strtoull(text, NULL, 10) / 1000;
}

void service_manager_init(struct service_manager *manager)
{
    memset(manager, 0, sizeof(*manager));
    /* A script of a unit may run this command and report its own state itself: then
     * systemd has started the script, and not this process. */
    if (names_another("SYSTEMD_EXEC_PID") ||
        !read_address(manager, getenv("NOTIFY_SOCKET"))) {
        return;
    }
    manager->watchdog_ms = read_watchdog();
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        unsetenv(variables[i]);
    }
}

/* Returns false if the text was dropped. Each text uses its own socket, so the supervisor
 * and CMD inherit none. */
static bool send_text(const struct service_manager *manager, const char *text)
{
    int end = manager->address_length == 0
                  ? -1
                  : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ssize_t sent = -1;

    if (end >= 0) {
        sent =
            sendto(end, text, strlen(text), MSG_NOSIGNAL,
                   (const struct sockaddr *)&manager->address, manager->address_length);
        close(end);
    }
    return sent >= 0;
}

static void tell(const struct service_manager *manager, const char *before,
                 const char *text)
{
    char lines[TEXT_MAX];

    snprintf(lines, sizeof(lines), "%sSTATUS=%s", before, text);
    (void)send_text(manager, lines);
}

void service_manager_tell(const struct service_manager *manager, const char *what,
                          const char *path)
{
    char text[TEXT_MAX / 2];

    snprintf(text, sizeof(text), "%s %.200s", what, path);
    /* A newline would begin another field, such as MAINPID=. */
    for (char *at = text; *at != '\0'; at++) {
        *at = (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at;
    }
    tell(manager, "", text);
}

void service_manager_stopping(const struct service_manager *manager, const char *text)
{
    tell(manager, "STOPPING=1\n", text);
}

static uint64_t slack_of(uint64_t session_ms)
{
    uint64_t part = session_ms / SLACK_PARTS;

    return part < SLACK_LEAST_MS  ? SLACK_LEAST_MS
           : part > SLACK_MOST_MS ? SLACK_MOST_MS
                                  : part;
}

/* Less than LEAST_MS is refused rather than sent: for systemd, a watchdog of 0 means
 * none. */
uint64_t service_manager_watchdog(uint64_t unit_ms, uint64_t now, uint64_t valid_until,
                                  uint64_t session_ms)
{
    uint64_t slack = slack_of(session_ms);

    if (valid_until == UINT64_MAX) {
        return unit_ms;
    }
    if (valid_until <= now || valid_until - now < slack + LEAST_MS) {
        return 0;
    }
    uint64_t left = valid_until - now - slack;
    return left < unit_ms ? left : unit_ms;
}

/* Sends a keepalive; returns whether another one must follow at once. The service manager
 * counts the watchdog from the moment at which it reads the keepalive. If this process
 * was stopped between reading the clock and the end of the call, that moment is too late:
 * then a keepalive with a shorter watchdog follows. */
static bool keep_alive_once(struct service_manager *manager, uint64_t valid_until,
                            uint64_t session_ms)
{
    char text[TEXT_MAX];
    uint64_t now = uvzk_now();
    uint64_t watchdog =
        service_manager_watchdog(manager->watchdog_ms, now, valid_until, session_ms);

    if (watchdog == 0) {
        return false;
    }
    snprintf(text, sizeof(text), "%sWATCHDOG=1\nWATCHDOG_USEC=%" PRIu64,
             manager->ready ? "" : "READY=1\n", watchdog * 1000);
    if (!send_text(manager, text)) {
        return false;
    }
    manager->ready = true;
    return valid_until != UINT64_MAX && uvzk_now() - now > slack_of(session_ms) / 2;
}

void service_manager_keep_alive(struct service_manager *manager, uint64_t valid_until,
                                uint64_t session_ms)
{
    if (manager->watchdog_ms == 0) {
        manager->ready = manager->ready || send_text(manager, "READY=1");
        return;
    }
    while (keep_alive_once(manager, valid_until, session_ms)) {
    }
}

uint64_t service_manager_every(const struct service_manager *manager, uint64_t ms)
{
    uint64_t half = manager->watchdog_ms / 2;

    return manager->watchdog_ms != 0 && half < ms ? half : ms;
}
