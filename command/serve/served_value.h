/* SPDX-License-Identifier: Apache-2.0 */
/* Shared values and shared counts, for programs of `uvzk serve`. Each change is an event
 * with the new value. */
#ifndef SERVED_VALUE_H
#define SERVED_VALUE_H

struct served_connection;
struct served_object;
struct served_request;

/* Carry out "shared_value" and "shared_count". */
void served_value_open(struct served_connection *, const struct served_request *);
void served_value_open_count(struct served_connection *, const struct served_request *);

/* Carry out "get" and "set" of a value or a count. The fields of the set fit its kind. */
void served_value_get(struct served_object *, const struct served_request *);
void served_value_set(struct served_object *, const struct served_request *);

#endif
