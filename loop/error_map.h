/* ZooKeeper's codes to uvzk's. On Linux some of the former equal libuv's (its
 * ZNODEEXISTS is UV_ETIMEDOUT), so that no raw code may leave loop/. */
#ifndef UVZK_ERROR_MAP_H
#define UVZK_ERROR_MAP_H

/* Of what the C client or the server answered. Total: 0 for ZOK, a negative
 * code for everything else, known or not. */
int uvzk__error_of_reply(int zookeeper_code);

/* Of what a zoo_a* call returned when it refused the request: certainly not
 * executed. Total as well. */
int uvzk__error_of_submit(int zookeeper_code);

/* Of c-ares' ARES_*, to libuv's UV_EAI_*; 0 for ARES_SUCCESS. */
int uvzk__error_of_resolver(int ares_status);

#endif
