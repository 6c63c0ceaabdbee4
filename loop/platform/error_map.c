/* Tables from foreign error codes to those of uvzk and libuv (error_map.h). An unknown
 * code never becomes a success. */
#include "platform/error_map.h"

#include <ares.h>
#include <stddef.h>

#include <zookeeper/zookeeper.h>

#include "uvzk.h"

/* Codes of newer servers that have no name in the C client's header. */
#define REQUEST_TIMEOUT (-122)
#define QUOTA_EXCEEDED (-125)
#define THROTTLED (-127)

/* A code that is not listed becomes UVZK_EZOOKEEPER. A code becomes UVZK_ECONNLOSS
 * wherever the request may have been executed and the outcome is unknown. */
static const struct {
    int zookeeper;
    int uvzk;
} replies[] = {
    {ZOK, 0},
    {ZSYSTEMERROR, UVZK_ECONNLOSS},
    {ZRUNTIMEINCONSISTENCY, UVZK_ECONNLOSS},
    {ZCONNECTIONLOSS, UVZK_ECONNLOSS},
    {ZMARSHALLINGERROR, UVZK_ECONNLOSS},
    {ZUNIMPLEMENTED, UVZK_EUNIMPLEMENTED},
    {ZOPERATIONTIMEOUT, UVZK_ECONNLOSS},
    {ZBADARGUMENTS, UVZK_EREJECTED},
    {ZINVALIDSTATE, UVZK_ECONNLOSS},
    {ZSSLCONNECTIONERROR, UVZK_ECONNLOSS},
    {ZNONODE, UVZK_ENONODE},
    {ZNOAUTH, UVZK_ENOAUTH},
    {ZBADVERSION, UVZK_EBADVERSION},
    {ZNOCHILDRENFOREPHEMERALS, UVZK_ENOCHILDREN},
    {ZNODEEXISTS, UVZK_ENODEEXISTS},
    {ZNOTEMPTY, UVZK_ENOTEMPTY},
    {ZSESSIONEXPIRED, UVZK_EEXPIRED},
    {ZINVALIDACL, UVZK_EINVALIDACL},
    {ZAUTHFAILED, UVZK_EAUTH},
    {ZCLOSING, UVZK_ECLOSED},
    {ZSESSIONMOVED, UVZK_ECONNLOSS},
    {ZNOTREADONLY, UVZK_EREJECTED},
    {ZEPHEMERALONLOCALSESSION, UVZK_EREJECTED},
    {REQUEST_TIMEOUT, UVZK_ECONNLOSS},
    {ZSESSIONCLOSEDREQUIRESASLAUTH, UVZK_EAUTH},
    {QUOTA_EXCEEDED, UVZK_EREJECTED},
    {THROTTLED, UVZK_ETHROTTLED},
};

int uvzk__error_of_reply(int zookeeper_code)
{
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        if (replies[i].zookeeper == zookeeper_code) {
            return replies[i].uvzk;
        }
    }
    return UVZK_EZOOKEEPER;
}

/* ZINVALIDSTATE: the C client already knows that the session has ended. The event that
 * reports the end is on its way to the loop. ZMARSHALLINGERROR and ZSYSTEMERROR mean here
 * that the C client had no memory. */
int uvzk__error_of_submit(int zookeeper_code)
{
    if (zookeeper_code == ZMARSHALLINGERROR || zookeeper_code == ZSYSTEMERROR) {
        return UV_ENOMEM;
    }
    if (zookeeper_code == ZINVALIDSTATE) {
        return UVZK_ENOTSENT;
    }
    return uvzk__error_of_reply(zookeeper_code);
}

int uvzk__error_of_resolver(int ares_status)
{
    switch (ares_status) {
    case ARES_SUCCESS:
        return 0;
    case ARES_ENODATA:
        return UV_EAI_NODATA;
    case ARES_ENOTFOUND:
    case ARES_ENONAME:
    case ARES_EBADNAME:
        return UV_EAI_NONAME;
    case ARES_ESERVFAIL:
    case ARES_EREFUSED:
    case ARES_ECONNREFUSED:
    case ARES_ETIMEOUT:
        return UV_EAI_AGAIN;
    case ARES_ENOMEM:
        return UV_ENOMEM;
    default:
        return UV_EAI_FAIL;
    }
}
