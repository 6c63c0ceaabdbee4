/* SPDX-License-Identifier: Apache-2.0 */
/* A program of 0.2 whose callbacks begin on the line of their head. */
// clang-format off
#include <stdio.h>

#include <uvzk.h>

static void on_log(uvzk_client_t *c, int level, const char *line) { (void)c; fprintf(stderr, "%d %s\n", level, line); }
static void no_log(uvzk_client_t *c, int level, const char *line) {(void)c; (void)level; (void)line;}
static void a_log(uvzk_client_t *c, int level, const char *line)
{ (void)c; (void)level; (void)line; }
static void log_below(uvzk_client_t *c, int level, const char *line) {
    (void)c; (void)level; (void)line; }
static void log_ahead(uvzk_client_t *c, int level, const char *line);
static void log_ahead(uvzk_client_t *c, int level, const char *line) { /* nothing */
    (void)c; (void)level; (void)line; }
static void on_look(uvzk_read_t *r, int st, const void *data, size_t length) { (void)r; (void)st; (void)data; (void)length; }
static void look_below(uvzk_read_t *r, int st, const void *data, size_t length) {
    (void)r; (void)st; (void)data; (void)length; }

int main(void)
{
    uvzk_client_options_t options;
    static uvzk_client_t client;
    static uvzk_read_t one, other;

    uvzk_client_options_init(&options);
    options.log_cb = on_log;
    options.log_cb = no_log;
    options.log_cb = a_log;
    options.log_cb = log_below;
    options.log_cb = log_ahead;
    return uvzk_client_look(&client, &one, "/x", on_look) + uvzk_client_look(&client, &other, "/x", look_below);
}
