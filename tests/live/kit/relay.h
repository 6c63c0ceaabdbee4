/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP forwarder whose bytes can be held back in either direction, while both ends stay
 * connected. It does not interpret the bytes. It runs in a thread of its own, also while
 * the test blocks. It is for connections between servers; proxy.h is for those of
 * clients, and knows their protocol. */
#ifndef RELAY_H
#define RELAY_H

#include <stdbool.h>
#include <stdint.h>

struct relay;

/* Listens on a free port of a numeric loopback address, and forwards to target_port of
 * the same address. Returns NULL, with a message on stderr, on an error. */
struct relay *relay_open(const char *host, uint16_t target_port);
/* Ends the thread, closes every connection, and frees the relay. relay may be NULL. */
void relay_close(struct relay *relay);

/* The port that the relay listens on. */
uint16_t relay_port(const struct relay *relay);

/* Sets which bytes are held back from now on: those to the target, and those from it.
 * They stay in order, and are passed on when they are no longer held. New connections
 * wait while to_target is set. The change is in effect when the function returns. The
 * close of a connection is held back too, as when a cable is pulled. */
void relay_hold(struct relay *relay, bool to_target, bool from_target);

/* Closes the connecting ends of all connections, as if the target were gone, and closes
 * new connections as soon as they are made. The target notices this only when nothing is
 * held any more; that also ends the hang-up. May be called only while both directions are
 * held. */
void relay_hang_up(struct relay *relay);

#endif
