/* Initialises and frees what the room keeps of a session (claims.h). */
#include "claim/claims.h"

#include "base/memory.h"
#include "engine/session.h"

void uvzk__claims_init(struct uvzk__claims *claims)
{
    uvzk__list_init(&claims->locks);
    uvzk__list_init(&claims->try_once);
    uvzk__list_init(&claims->to_withdraw);
}

void uvzk__claims_free(struct uvzk__claims *claims)
{
    uvzk__free(claims->user_text);
}

char *uvzk__claims_user_text(struct uvzk__session *session, size_t size)
{
    struct uvzk__claims *claims = session->claims;

    if (claims->user_text == NULL || size > claims->user_text_size) {
        /* One byte more, so that a size of 0 yields a buffer too. */
        char *larger = uvzk__realloc(claims->user_text, size + 1);
        if (larger == NULL) {
            return NULL;
        }
        claims->user_text = larger;
        claims->user_text_size = size;
    }
    return claims->user_text;
}
