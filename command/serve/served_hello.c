/* Tells a program the version of the protocol and the daemon's features (served_hello.h).
 * served_operations.c calls it. */
#include "serve/served_hello.h"

#include <uvzk.h>

#include "serve/served_answer.h"
#include "serve/served_connection.h"

void served_hello_answer(struct served_connection *connection,
                         const struct served_request *request)
{
    const char *features[SERVED_OPERATIONS];
    json_t *answer = served_answer_ok(request->id);

    for (size_t i = 0; i < SERVED_OPERATIONS; i++) {
        features[i] = served_operation_name((enum served_operation)i);
    }
    served_answer_add_number(answer, "version",
                             request->protocol_version < SERVED_PROTOCOL_VERSION
                                 ? request->protocol_version
                                 : SERVED_PROTOCOL_VERSION);
    served_answer_add_text(answer, "uvzk", uvzk_version());
    served_answer_add_texts(answer, "features", features, SERVED_OPERATIONS);
    served_connection_send(connection, answer);
}
