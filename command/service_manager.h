/* SPDX-License-Identifier: Apache-2.0 */
/* What `uvzk lock` and `uvzk elect` tell the service manager that has started them:
 * systemd, or another program that speaks its protocol (sd_notify: datagrams to the socket
 * $NOTIFY_SOCKET).
 *
 *   STATUS=...                          what the job waits for, or what it holds
 *   READY=1                             lock: CMD has been started under the lock;
 *                                       elect: this host stands for election
 *   WATCHDOG=1 and WATCHDOG_USEC=...    the hold is proved, or CMD does not run; in a unit
 *                                       with WatchdogSec=
 *   STOPPING=1                          CMD has ended, and the job ends
 *
 * The watchdog: while CMD runs, each keepalive restarts the watchdog's time, so that it
 * ends SLACK before the end of the hold's validity. If this process is stopped, or its
 * proofs fail, the service manager therefore kills the unit before the servers can grant
 * the lock to another client. The slack is for the service manager: systemd's timers may
 * be late by 250 ms, and it counts from the moment at which it has read the keepalive.
 * Its clock does not run while the machine is suspended, so after that the supervisor
 * (supervisor.h) is the one that ends CMD in time. */
#ifndef SERVICE_MANAGER_H
#define SERVICE_MANAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct service_manager {
    struct sockaddr_un address;
    socklen_t address_length; /* 0: there is no service manager to notify */
    uint64_t watchdog_ms;     /* WatchdogSec= of the unit; 0: it has none */
    bool ready;               /* READY=1 was sent */
};

/* Reads the environment, and removes the variables that are meant for this process alone,
 * so CMD does not inherit them. Call it before any other process is forked. */
void service_manager_init(struct service_manager *);

/* STATUS="what path". STOPPING=1 with such a line. */
void service_manager_tell(const struct service_manager *, const char *what,
                          const char *path);
void service_manager_stopping(const struct service_manager *, const char *text);

/* CMD runs under a hold that is valid until `valid_until` (CLOCK_BOOTTIME, ms), in a
 * session with this timeout: sends a keepalive if the unit has a watchdog, and READY=1 with
 * the first one. UINT64_MAX: no validity matters, for example because CMD does not run. Does
 * nothing if the validity is about to end. */
void service_manager_keep_alive(struct service_manager *, uint64_t valid_until,
                                uint64_t session_ms);

/* How often service_manager_keep_alive must be called at least, in ms: at most `ms`, and at
 * most half of the unit's WatchdogSec. */
uint64_t service_manager_every(const struct service_manager *, uint64_t ms);

/* Returns the length of the watchdog, in ms, for a keepalive that is sent at `now`: it
 * ends before valid_until, and is at most unit_ms. 0: no keepalive may be sent. Pure. */
uint64_t service_manager_watchdog(uint64_t unit_ms, uint64_t now, uint64_t valid_until,
                                  uint64_t session_ms);

#endif
