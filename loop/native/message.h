/* SPDX-License-Identifier: Apache-2.0 */
/* What requests and replies have in common. A form says which fields the body of a
 * message has; there is a table of forms for each direction.
 *
 * Only the body of a multi is not a record of jute. It has entries, operations or their
 * results: a header with the entry's opcode stands before each, and a header that says
 * "done" ends them. An entry has the same fields as a message of its opcode. */
#ifndef UVZK_MESSAGE_H
#define UVZK_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "native/jute.h"

/* Where a form may be used. */
enum uvzk__message_place {
    UVZK__ALONE = 1,
    UVZK__IN_MULTI = 2,
    UVZK__IN_MULTI_READ = 4,
    UVZK__IN_BOTH_MULTIS = 6
};

struct uvzk__message_form {
    int32_t opcode;
    unsigned places;
    const struct uvzk__jute_field *record; /* NULL: the end of the table */
};

/* NULL: such a message does not exist. */
const struct uvzk__jute_field *
uvzk__message_record(const struct uvzk__message_form *forms, int32_t opcode,
                     unsigned place);

/* The body of a message that stands alone. Of a multi it is the entries, of which all are
 * checked. The error code in an entry's header is not looked at: of an operation it means
 * nothing, and of a result it is repeated in the entry. */
void uvzk__message_read(struct uvzk__jute_reader *reader,
                        const struct uvzk__message_form *forms, int32_t opcode,
                        void *message, struct uvzk__jute_list *entries);
void uvzk__message_write(struct uvzk__jute_writer *writer,
                         const struct uvzk__message_form *forms, int32_t opcode,
                         const void *message, const struct uvzk__jute_list *entries);

/* As uvzk__jute_list_next, of the entries of a message with the opcode `multi`. */
bool uvzk__message_next_entry(struct uvzk__jute_list *left,
                              const struct uvzk__message_form *forms, int32_t multi,
                              int32_t *opcode, void *entry);
/* Writes one entry into a writer that has only entries. The writer fails with UV_EINVAL
 * if a multi cannot have such an entry. */
void uvzk__message_add_entry(struct uvzk__jute_writer *writer,
                             const struct uvzk__message_form *forms, int32_t multi,
                             int32_t opcode, int32_t err, const void *entry);

#endif
