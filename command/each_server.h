/* uvzk status --each-server: the lock through each server by itself, and whether all show
 * the same. */
#ifndef EACH_SERVER_H
#define EACH_SERVER_H

#include "query.h"

/* Runs it to its end, and returns the exit status: 0, all show the same; 1, they do not. */
int each_server_run(const struct query_options *);

#endif
