#ifndef UVZK_RPC_H
#define UVZK_RPC_H

struct uvzk__request;

/* Hands it to the C client. What zoo_a* says. */
int uvzk__rpc_send(struct uvzk__request *request);

#endif
