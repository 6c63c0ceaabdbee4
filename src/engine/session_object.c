/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the objects of a session what happens to it (session_object.h). The room `client`
 * calls it. */
#include "engine/session_object.h"

#include "base/path.h"
#include "engine/session.h"

static struct uvzk__session_object *object_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__session_object, link);
}

void uvzk__session_object_begin(struct uvzk__session *session,
                                struct uvzk__session_object *object,
                                const struct uvzk__session_object_kind *kind,
                                const char *directory)
{
    object->kind = kind;
    object->directory = directory;
    uvzk__list_append(&session->objects, &object->link);
}

void uvzk__session_object_end(struct uvzk__session_object *object)
{
    uvzk__list_remove(&object->link);
}

/* tell may free its object, and no other one. */
static void for_each(struct uvzk__session *session,
                     void (*tell)(struct uvzk__session_object *, int), int code)
{
    struct uvzk__link *next;

    for (struct uvzk__link *link = session->objects.next; link != &session->objects;
         link = next) {
        next = link->next;
        tell(object_at(link), code);
    }
}

static void session_object_resume(struct uvzk__session_object *object, int code)
{
    (void)code;
    if (object->kind->resume != NULL) {
        object->kind->resume(object);
    }
}

static void end_session(struct uvzk__session_object *object, int code)
{
    if (object->kind->session_ended != NULL) {
        object->kind->session_ended(object, code);
    }
}

static void give_up(struct uvzk__session_object *object, int code)
{
    if (object->kind->unreachable != NULL) {
        object->kind->unreachable(object, code);
    }
}

static void free_one(struct uvzk__session_object *object, int code)
{
    (void)code;
    object->kind->client_ended(object);
}

void uvzk__objects_resume(struct uvzk__session *session)
{
    for_each(session, session_object_resume, 0);
}

void uvzk__objects_session_ended(struct uvzk__session *session, int code)
{
    for_each(session, end_session, code);
}

void uvzk__objects_unreachable(struct uvzk__session *session, int code)
{
    for_each(session, give_up, code);
}

void uvzk__objects_free(struct uvzk__session *session)
{
    for_each(session, free_one, 0);
}

bool uvzk__objects_need_below(const struct uvzk__session *session, const char *path)
{
    const struct uvzk__link *objects = &session->objects;

    for (struct uvzk__link *link = objects->next; link != objects; link = link->next) {
        const char *directory = object_at(link)->directory;
        if (directory != NULL && uvzk__path_is_below(directory, path, true)) {
            return true;
        }
    }
    return false;
}
