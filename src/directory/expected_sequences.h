/* Which numbers would be next: of a directory in which one of ours was given a number,
 * the one behind it. Who is given such a number is the only one that goes there, as far
 * as it shows, and it is worth while to know more of that directory (watermark.h).
 *
 * Two sets of hashes, each a bit; when the newer one has its fill it becomes the
 * older. So it takes the same memory for any number of directories; what is remembered
 * wrongly, about one in five, costs a request. */
#ifndef UVZK_EXPECTED_SEQUENCES_H
#define UVZK_EXPECTED_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>

/* So many at least are remembered, and twice as many at most. */
#define UVZK__EXPECTED_SEQUENCES_MIN 16384U

/* Of a client. */
struct uvzk__expected_sequences {
    uint32_t *newer, *older; /* NULL: none yet, or no memory for them */
    uint32_t count;          /* in the newer one */
};

/* directory: its hash. Out of memory nothing is remembered. */
void uvzk__expected_sequences_add(struct uvzk__expected_sequences *, uint32_t directory,
                                  int32_t number);
bool uvzk__expected_sequences_has(const struct uvzk__expected_sequences *,
                                  uint32_t directory, int32_t number);

/* Nothing any more, and no memory for it. */
void uvzk__expected_sequences_free(struct uvzk__expected_sequences *);

#endif
