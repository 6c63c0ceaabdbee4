/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the participants of a path as `uvzk status` does (query.c), and looks at their kinds
 * and their owners (path_check.h). */
#include "doctor/path_check.h"

#include "exit_code.h"

struct path_check {
    struct query query;
    struct findings *findings;
};

static void find_presence(struct path_check *check)
{
    const struct participant_list *list = &check->query.participant_list;
    const char *path = check->query.options->path;
    size_t holders = 0;

    for (size_t i = 0; i < list->count; i++) {
        holders += list->participants[i].holds;
    }
    if (check->query.missing) {
        findings_add(check->findings, GRADE_OK, "path", NULL, NO_FIGURES,
                     "there is no znode at %s: nobody uses it now", path);
    } else {
        findings_add(check->findings, GRADE_OK, "path", NULL,
                     FIGURES({"holders", (double)holders},
                             {"waiters", (double)(list->count - holders)}),
                     "%s can be read: %zu %s, %zu %s", path, holders,
                     holders == 1 ? "holds it" : "hold it", list->count - holders,
                     list->count - holders == 1 ? "waits" : "wait");
    }
}

static void find_kinds(struct path_check *check)
{
    const struct participant_list *list = &check->query.participant_list;

    for (size_t i = 1; i < list->count; i++) {
        enum recipe one = list->participants[0].recipe,
                    other = list->participants[i].recipe;
        if (!recipes_exclude(one, other)) {
            findings_add(
                check->findings, GRADE_WRONG, "kinds", NULL, NO_FIGURES,
                "contenders of the kinds %s and %s are at %s: they do not exclude "
                "one another",
                recipe_name(one), recipe_name(other), check->query.options->path);
            return;
        }
    }
    if (list->count > 0) {
        findings_add(check->findings, GRADE_OK, "kinds", NULL, NO_FIGURES,
                     "all contenders exclude one another");
    }
}

/* No end of a session deletes them. */
static void find_leftovers(struct path_check *check)
{
    const struct participant_list *list = &check->query.participant_list;
    size_t persistent = 0;

    for (size_t i = 0; i < list->count; i++) {
        persistent += list->participants[i].session == 0 && !list->participants[i].gone;
    }
    if (persistent > 0) {
        findings_add(check->findings, GRADE_WARNING, "leftovers", NULL,
                     FIGURES({"persistent", (double)persistent}),
                     "contenders of no session at %s: %zu; they block the others until "
                     "somebody deletes them",
                     check->query.options->path, persistent);
    }
}

static enum query_next on_seen(struct query *query)
{
    struct path_check *check = query->data;

    find_presence(check);
    find_kinds(check);
    find_leftovers(check);
    query->exit_code = EX_OK;
    return QUERY_END;
}

void path_check_run(const struct query_options *options, struct findings *findings)
{
    static struct path_check check; /* zeroed */

    check.query.data = &check;
    check.findings = findings;
    /* query.c has printed why it failed. */
    int failed = query_run(&check.query, options, on_seen);
    if (failed == EX_NOPERM) {
        findings_add(findings, GRADE_WRONG, "path", NULL, NO_FIGURES,
                     "the ACL of %s denies this client READ", options->path);
    } else if (failed != EX_OK) {
        findings_add(findings, GRADE_WRONG, "path", NULL, NO_FIGURES,
                     "%s cannot be listed", options->path);
    }
}
