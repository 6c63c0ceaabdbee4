/* SPDX-License-Identifier: Apache-2.0 */
/* Translates the codes of ZooKeeper and c-ares to those of uvzk and libuv. On Linux some
 * of ZooKeeper's codes equal libuv's (ZNODEEXISTS equals UV_ETIMEDOUT), so no raw code
 * may leave loop/. */
#ifndef UVZK_ERROR_MAP_H
#define UVZK_ERROR_MAP_H

/* Translates the code of a reply, whether it is from the server or from the C client.
 * Every input has a result: 0 for ZOK, a negative code for every other code, known or
 * unknown. */
int uvzk__error_of_reply(int zookeeper_code);

/* Translates the code of a request that the C client refused to submit. Such a request was
 * certainly not executed. Every input has a result. */
int uvzk__error_of_submit(int zookeeper_code);

/* Translates an ARES_* code of c-ares to libuv's UV_EAI_* codes or UV_ENOMEM; 0 for
 * ARES_SUCCESS. */
int uvzk__error_of_resolver(int ares_status);

#endif
