#ifndef UVZK_RPC_H
#define UVZK_RPC_H

struct uvzk__request;

/* Returns the path of the request; "/" for a multi and for the check of the
 * credentials. */
const char *uvzk__rpc_path(const struct uvzk__request *request);
/* Submits the request to the C client with this path, and returns the code of the zoo_a*
 * call; ZAUTHFAILED if the servers have refused the session's credentials. The C client
 * may read the path, in order to log it, even after the request has been answered. */
int uvzk__rpc_send(struct uvzk__request *request, const char *path);

#endif
