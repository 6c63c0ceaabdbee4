/* Sends the questions of the dialect through the send window, and passes the answers on
 * (asking.h). Everything runs on the loop's thread.
 *
 * The C client refuses to remove a watch that it does not have. So the question whether
 * the server removes watches is two requests: an exists with a watch, and when that has
 * been answered, the removal. */
#include "session/asking.h"

#include "session/handle.h"
#include "session/zk_port.h"

static struct uvzk__dialect *dialect_of(struct uvzk__handle *handle)
{
    return &handle->port->base.dialect;
}

static enum uvzk__own_request first_request(enum uvzk__feature feature)
{
    return feature == UVZK__FEATURE_CREATE2      ? UVZK__OWN_ASK_CREATE2
           : feature == UVZK__FEATURE_CONTAINERS ? UVZK__OWN_ASK_CONTAINERS
                                                 : UVZK__OWN_ASK_WATCH;
}

static enum uvzk__feature feature_of(enum uvzk__own_request question)
{
    return question == UVZK__OWN_ASK_CREATE2      ? UVZK__FEATURE_CREATE2
           : question == UVZK__OWN_ASK_CONTAINERS ? UVZK__FEATURE_CONTAINERS
                                                  : UVZK__FEATURE_REMOVAL;
}

/* Returns the code of the C client. */
static int send_questions(struct uvzk__handle *handle)
{
    enum uvzk__feature feature;
    int code = ZOK;

    while (code == ZOK && uvzk__dialect_next(dialect_of(handle), &feature)) {
        code = uvzk__send_window_send_own(&handle->window, first_request(feature));
    }
    return code;
}

static void go_on(struct uvzk__handle *handle)
{
    const struct uvzk__handle_user *user = handle->port->handle_user;

    if (uvzk__dialect_is_settled(dialect_of(handle))) {
        user->asked(handle);
    } else if (send_questions(handle) != ZOK) {
        user->asked_in_vain(handle);
    }
}

void uvzk__asking_begin(struct uvzk__handle *handle)
{
    uvzk__dialect_begin(dialect_of(handle));
    go_on(handle);
}

void uvzk__asking_told(struct uvzk__handle *handle, enum uvzk__own_request question,
                       int code)
{
    if (question == UVZK__OWN_ASK_WATCH) {
        question = UVZK__OWN_ASK_REMOVAL;
        code = uvzk__send_window_send_own(&handle->window, question);
        if (code == ZOK) {
            return;
        }
    }
    if (uvzk__dialect_answered(dialect_of(handle), feature_of(question), code)) {
        go_on(handle);
    } else {
        handle->port->handle_user->asked_in_vain(handle);
    }
}
