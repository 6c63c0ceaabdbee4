/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a program the version of the protocol and the daemon's features (served_hello.h).
 * served_operations.c calls it. */
#include "serve/served_hello.h"

#include <uvzk.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_connection.h"

void served_hello_answer(struct served_connection *connection,
                         const struct served_request *request)
{
    const struct validity_file *validity = &connection->daemon->validity;
    const char *features[SERVED_OPERATIONS + 1];
    size_t count = 0;
    json_t *answer = served_answer_ok(request->id);

    for (; count < SERVED_OPERATIONS; count++) {
        features[count] = served_operation_name((enum served_operation)count);
    }
    served_answer_add_number(answer, "version",
                             request->protocol_version < SERVED_PROTOCOL_VERSION
                                 ? request->protocol_version
                                 : SERVED_PROTOCOL_VERSION);
    served_answer_add_text(answer, "uvzk", uvzk_version());
    if (validity->open) {
        served_answer_add_text(answer, "validity_file", validity->path);
        features[count++] = "validity_file";
    }
    served_answer_add_texts(answer, "features", features, count);
    served_connection_send(connection, answer);
}
