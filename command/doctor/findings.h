/* SPDX-License-Identifier: Apache-2.0 */
/* What `uvzk doctor` has found: one line for each check, or one line of JSON for all. They
 * are printed as they are added. */
#ifndef FINDINGS_H
#define FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Also the exit status of uvzk doctor: that of the worst finding. */
enum grade { GRADE_OK, GRADE_WARNING, GRADE_WRONG };

/* A number of a finding, for JSON. A name that is NULL ends a list of them. */
struct figure {
    const char *name;
    double value;
};
#define FIGURES(...)        \
    (const struct figure[]) \
    {                       \
        __VA_ARGS__,        \
        {                   \
            .name = NULL    \
        }                   \
    }
#define NO_FIGURES ((const struct figure[]){{.name = NULL}})

/* Zero it, and set json. */
struct findings {
    bool json;
    enum grade worst;
    size_t count;
};

/* check: its name. server: the server that it is about; NULL: none. The sentence has no full
 * stop. It may have any bytes. */
void findings_add(struct findings *, enum grade, const char *check, const char *server,
                  const struct figure *, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* The last finding has been added. Returns the exit status. */
int findings_end(struct findings *);

#endif
