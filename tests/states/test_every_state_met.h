/* SPDX-License-Identifier: Apache-2.0 */
/* Which states of the machines inside have met which ending: counted, printed, checked. */
#ifndef UVZK_TEST_EVERY_STATE_MET_H
#define UVZK_TEST_EVERY_STATE_MET_H

#include "test_every_state.h"

#define ENDINGS 10

extern const struct ending endings[ENDINGS];

/* The scenes that follow are this recipe's. */
void met_begin(const struct recipe *);

/* The ending is just about to be applied. */
void met_count(const struct scene *, size_t ending);

void met_print_recipe(void);
void met_print(void); /* of all recipes together */

/* Fails if something that can be met was not. */
void met_check(void);

#endif
