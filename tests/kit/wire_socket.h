/* SPDX-License-Identifier: Apache-2.0 */
/* A blocking socket on which a test speaks ZooKeeper's protocol by hand. All functions fail
 * the test if the server does not do its part within 20 s. */
#ifndef WIRE_SOCKET_H
#define WIRE_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native/jute.h"

/* Connects to this port of 127.0.0.1. */
int wire_socket_open(uint16_t port);
/* Sends what was written, and ends the writer. */
void wire_socket_send(int fd, struct uvzk__jute_writer *writer);
/* Receives one frame, which fits into the buffer. Returns false if the server has closed
 * the connection. */
bool wire_socket_receive(int fd, unsigned char *buffer, size_t size,
                         struct uvzk__jute_bytes *frame);

#endif
