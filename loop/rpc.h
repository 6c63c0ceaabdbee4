#ifndef UVZK_RPC_H
#define UVZK_RPC_H

struct uvzk__request;

/* Of what it asks; "/": of none. */
const char *uvzk__rpc_path(const struct uvzk__request *request);
/* Hands it to the C client, with this path. What zoo_a* says. The client may still look at
 * the path when the request has been answered, to log it. */
int uvzk__rpc_send(struct uvzk__request *request, const char *path);

#endif
