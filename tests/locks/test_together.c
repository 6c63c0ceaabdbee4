/* SPDX-License-Identifier: Apache-2.0 */
/* All recipes of one client on one path, or on a path and the one below it: each recipe
 * beside each recipe, in two clients. Each of the four goes on, or its callback says why
 * it cannot. The results are the tables of docs/recipes/together.md, which is the argument;
 * without it they are printed. */
#include "cmocka_test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "together_users.h"
#include "together_world.h"

#define PATH "/together/p"
#define BELOW PATH "/" TOGETHER_NAME
#define BEGIN_MS 5000 /* in which the first recipe begins, or, with one seed, goes on */
#define LONGEST_MS 40000 /* then each has gone on, or has said why it cannot */
#define ROUNDS 6         /* that each of them does */
#define RECIPES_MAX 20

enum { USERS = 4 };

/* What becomes of two recipes of a client. */
struct outcome {
    const char *who, *what; /* NULL: both go on */
    bool at_call; /* it was refused before it has sent anything, and all others go on */
};

/* Cells of which something is told by a server, or stands still. There is to be none. */
static int told_late;

/* Where the two are. The first one begins first. */
static const struct {
    const char *title, *one, *other;
} places[] = {{"Both at one path", PATH, PATH},
              {"The second one level below the first", PATH, BELOW},
              {"The second one level above the first", BELOW, PATH}};

#define PLACES (sizeof(places) / sizeof(places[0]))

static uint64_t random_state;

/* -------------------------------------------------------------------------- the cells */

static bool is_done(const struct user *user, int rounds)
{
    return user->stays || user->status < 0 || user->rounds >= rounds;
}

/* Returns true if a user does the next thing now, or later. */
static bool draw(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return random_state >> 63 != 0;
}

/* Until the users have done so many rounds, or ms are over. */
static void run(struct user *users, int count, int rounds, unsigned ms)
{
    bool done = false;

    for (unsigned at = 0; at < ms && !done; at += TOGETHER_PAUSE_MS) {
        together_world_run(TOGETHER_PAUSE_MS);
        done = true;
        for (int i = 0; i < count; i++) {
            if (draw()) {
                together_go_on(&users[i]);
            }
            done = done && is_done(&users[i], rounds);
        }
    }
}

/* The first one that a server tells why it cannot go on, or that stands still; or else the
 * first one that was refused. */
static struct outcome find_outcome(const struct user *users)
{
    struct outcome outcome = {NULL, NULL, false};

    for (int i = USERS - 1; i >= 0; i--) {
        const struct user *user = &users[i];
        bool refused = user->status < 0 && user->at_call;
        bool late = !refused && (user->status < 0 || !is_done(user, ROUNDS));
        if (late || (refused && (outcome.what == NULL || outcome.at_call))) {
            outcome.who = i < USERS / 2 ? "first" : "second";
            outcome.what =
                user->status < 0 ? uvzk_err_name(user->status) : "stands still";
            outcome.at_call = refused;
        }
    }
    return outcome;
}

static struct outcome run_cell(uint64_t seed, const struct recipe *one,
                               const struct recipe *other, size_t place)
{
    struct user users[USERS];

    memset(users, 0, sizeof(users));
    random_state = seed;
    together_world_begin(seed);
    for (int i = 0; i < USERS; i++) {
        bool first = i < USERS / 2;
        together_begin(&users[i], first ? one : other, together_world_client(i % 2),
                       i % 2 == 0 ? "a" : "b",
                       first ? places[place].one : places[place].other);
        together_world_run(TOGETHER_PAUSE_MS / 2);
        if (i + 1 == USERS / 2) {
            run(users, USERS / 2, seed == 1 ? INT_MAX : 1, BEGIN_MS);
        }
    }
    for (int i = 0; i < USERS; i++) {
        users[i].rounds = 0;
    }
    run(users, USERS, ROUNDS, LONGEST_MS);
    struct outcome outcome = find_outcome(users);
    told_late += outcome.what != NULL && !outcome.at_call;
    together_world_end();
    return outcome;
}

/* -------------------------------------------------------------------------- the tables */

static bool same(struct outcome a, struct outcome b)
{
    return a.what == NULL || b.what == NULL
               ? a.what == b.what
               : a.who == b.who && a.at_call == b.at_call && strcmp(a.what, b.what) == 0;
}

static bool same_row(const struct outcome *a, const struct outcome *b)
{
    for (size_t i = 0; i < together_recipe_count; i++) {
        if (!same(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static void write_names(FILE *out, const bool *names)
{
    bool begun = false, all = true;

    for (size_t i = 0; i < together_recipe_count; i++) {
        all = all && names[i];
    }
    if (all) {
        fputs("each", out);
        return;
    }
    for (size_t i = 0; i < together_recipe_count; i++) {
        if (names[i]) {
            fprintf(out, "%s%s", begun ? ", " : "", together_recipes[i].name);
            begun = true;
        }
    }
}

/* The recipes that have the same row as the first of them. */
static void write_firsts(FILE *out, struct outcome (*rows)[RECIPES_MAX], size_t first)
{
    bool names[RECIPES_MAX];

    for (size_t i = 0; i < together_recipe_count; i++) {
        names[i] = same_row(rows[first], rows[i]);
    }
    write_names(out, names);
}

/* The recipes of a row that have the outcome of the one at `at`. */
static void write_seconds(FILE *out, const struct outcome *row, size_t at)
{
    bool names[RECIPES_MAX];

    for (size_t i = 0; i < together_recipe_count; i++) {
        names[i] = same(row[i], row[at]);
    }
    write_names(out, names);
}

static void write_outcome(FILE *out, const struct outcome *outcome)
{
    bool code = strchr(outcome->what, ' ') == NULL;

    fprintf(out, " | the %s%s%s%s%s |\n", outcome->who,
            outcome->at_call ? " is refused" : "", code ? ": `" : " ", outcome->what,
            code ? "`" : "");
}

/* Lines for the recipes that have the same row as the first of them, which is `first`. */
static void write_rows(FILE *out, struct outcome (*rows)[RECIPES_MAX], size_t first)
{
    for (size_t at = 0; at < together_recipe_count; at++) {
        bool seen = rows[first][at].what == NULL;
        for (size_t i = 0; i < at; i++) {
            seen = seen || same(rows[first][i], rows[first][at]);
        }
        if (seen) {
            continue;
        }
        fputs("| ", out);
        write_firsts(out, rows, first);
        fputs(" | ", out);
        write_seconds(out, rows[first], at);
        write_outcome(out, &rows[first][at]);
    }
}

static void write_table(FILE *out, struct outcome (*rows)[RECIPES_MAX], size_t place)
{
    fprintf(out, "### %s\n\n| first | second | outcome |\n| --- | --- | --- |\n",
            places[place].title);
    for (size_t i = 0; i < together_recipe_count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++) {
            seen = seen || same_row(rows[i], rows[j]);
        }
        if (!seen) {
            write_rows(out, rows, i);
        }
    }
}

/* The first outcome that is not that both go on. */
static struct outcome run_seeds(size_t one, size_t other, size_t place)
{
    struct outcome outcome = {NULL, NULL, false};

    for (uint64_t seed = 1; seed <= together_seeds && outcome.what == NULL; seed++) {
        outcome = run_cell(seed, &together_recipes[one], &together_recipes[other], place);
    }
    return outcome;
}

static void write_tables(FILE *out)
{
    for (size_t place = 0; place < PLACES; place++) {
        struct outcome rows[RECIPES_MAX][RECIPES_MAX];
        for (size_t i = 0; i < together_recipe_count; i++) {
            for (size_t j = 0; j < together_recipe_count; j++) {
                rows[i][j] = run_seeds(i, j, place);
            }
        }
        write_table(out, rows, place);
        fputs(place + 1 < PLACES ? "\n" : "", out);
    }
}

/* Compares the page with the tables, which are printed if they differ, or if there is none. */
static int check_page(const char *page)
{
    char *tables;
    size_t length;
    FILE *out = open_memstream(&tables, &length);

    write_tables(out);
    (void)fclose(out);
    bool differs = page == NULL || strstr(page, tables) == NULL;
    if (differs) {
        fputs(tables, stdout);
        fprintf(stderr, "these are the tables of docs/recipes/together.md\n");
    }
    free(tables);
    if (told_late > 0) {
        fprintf(stderr, "%d pairs are not refused at a call, and do not work\n",
                told_late);
    }
    return told_late > 0 || (page != NULL && differs);
}

/* ------------------------------------------------- beside the page of another world */

/* Returns true if a cell "| a, b, c |" has this name; "each" is every name. *line: where
 * the cell begins; then where it ends. */
static bool cell_has(const char **line, const char *name)
{
    bool found = false;
    size_t length = strlen(name);
    const char *at = *line + 1;

    while (*at == ' ' || *at == ',') {
        at += strspn(at, " ,");
        size_t word = strcspn(at, ",|\n");
        size_t trimmed = word > 0 && at[word - 1] == ' ' ? word - 1 : word;
        found = found || (trimmed == length && memcmp(at, name, length) == 0) ||
                (trimmed == 4 && memcmp(at, "each", 4) == 0);
        at += word;
    }
    *line = at;
    return found;
}

/* Returns true if the page says of the two that something does not work. */
static bool page_excepts(const char *page, const char *one, const char *other,
                         size_t place)
{
    const char *line = strstr(page, places[place].title);

    assert_non_null(line);
    const char *end = place + 1 < PLACES ? strstr(line, places[place + 1].title) : NULL;
    while ((line = strstr(line, "\n|")) != NULL && (end == NULL || line < end)) {
        line++;
        bool first = cell_has(&line, one);
        if (cell_has(&line, other) && first) {
            return true;
        }
    }
    return false;
}

static int check_works(const char *page)
{
    int failures = 0;

    for (size_t place = 0; place < PLACES; place++) {
        for (size_t i = 0; i < together_recipe_count; i++) {
            for (size_t j = 0; j < together_recipe_count; j++) {
                const char *one = together_recipes[i].name,
                           *other = together_recipes[j].name;
                /* At one path the delays decide who is the first. */
                if (page_excepts(page, one, other, place) ||
                    (place == 0 && page_excepts(page, other, one, place))) {
                    continue;
                }
                struct outcome outcome = run_seeds(i, j, place);
                if (outcome.what != NULL) {
                    fprintf(stderr, "%s, %s, %s: the %s: %s\n", places[place].title, one,
                            other, outcome.who, outcome.what);
                    failures++;
                }
            }
        }
    }
    return failures > 0;
}

static const char *read_page(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[length] = '\0';
    return text;
}

int main(int argc, char **argv)
{
    const char *page = argc > 1 ? read_page(argv[1]) : NULL;

    return together_writes_the_page || page == NULL ? check_page(page)
                                                    : check_works(page);
}
