/* SPDX-License-Identifier: Apache-2.0 */
/* What the live page shows, as one line of JSON. */
#ifndef STOCK_SNAPSHOT_H
#define STOCK_SNAPSHOT_H

#include "stock.h"
#include "text.h"

/* `figures` are the store's, one for each product. `store_answers` tells whether they are
 * new. */
void snapshot_write(struct text *text, const struct stock *stock,
                    const struct store_figures *figures, bool store_answers);

#endif
