/* A TCP connection's wire that can be held: bytes pass, whatever they mean, or
 * are kept back in either direction while both ends stay connected. Its thread
 * runs also while the test blocks. proxy.h is the one that knows the protocol
 * of ZooKeeper's clients; this one is for what servers tell each other. */
#ifndef RELAY_H
#define RELAY_H

#include <stdbool.h>
#include <stdint.h>

struct relay;

/* Listens on a free port of a numeric loopback address and connects on to a
 * port of the same address. NULL: told on stderr. */
struct relay *relay_open(const char *host, uint16_t target_port);
/* Ends the thread and every connection, frees it. NULL is fine. */
void relay_close(struct relay *relay);

uint16_t relay_port(const struct relay *relay);

/* Which bytes are kept back from now on, and kept in order: those to the target
 * and those from it. New connections wait while `to_target`. When it returns, it
 * is so. An end that closes its connection is not told of either, as when a
 * cable is pulled. */
void relay_hold(struct relay *relay, bool to_target, bool from_target);

/* Closes the connecting ends of all connections, as if the target were gone, and new
 * ones as soon as they are made; the targets hear of it when nothing is held any more,
 * which ends this, too. Only while both directions are held. */
void relay_hang_up(struct relay *relay);

#endif
