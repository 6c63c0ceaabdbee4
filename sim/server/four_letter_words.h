/* SPDX-License-Identifier: Apache-2.0 */
/* What ZooKeeper servers answer to words of four letters on their client port, as far as
 * health checks and tests ask: ruok, srvr, wchs, mntr. */
#ifndef UVZK_FOUR_LETTER_WORDS_H
#define UVZK_FOUR_LETTER_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct tcp_server;

#define FOUR_LETTERS 4U

/* Returns true if these bytes, at least FOUR_LETTERS of them, are a word and no frame: as
 * the length of a frame, letters would be too great. */
bool four_letter_word(const unsigned char *bytes);
/* Writes the answer of this server, from 0. To an unknown word there is none. */
void four_letter_answer(const struct tcp_server *server, size_t number,
                        const unsigned char *word, FILE *answer);

#endif
