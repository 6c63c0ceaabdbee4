/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to /metrics: this instance's counters in Prometheus' text format. */
#ifndef STOCK_METRICS_H
#define STOCK_METRICS_H

#include "stock.h"
#include "text.h"

#define METRICS_TYPE "text/plain; version=0.0.4"

void metrics_write(struct text *text, struct stock *stock);

#endif
