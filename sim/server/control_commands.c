/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and carries out the commands (control_commands.h). Each command is a row of the
 * table at the end: its name, how many words follow, and its function. */
#include "control_commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim_internal.h"
#include "tcp_server.h"
#include "wire_codes.h"

#include "native/opcode.h"

#define WORDS_MAX 5

struct command {
    struct tcp_server *server;
    char *words[WORDS_MAX]; /* behind the name */
    int count;
    FILE *answer;
    bool *quit;
};

/* All return NULL, or why the command was not carried out. */
typedef const char *(*command_fn)(struct command *command);

/* ------------------------------------------------------------------------------- numbers */

static bool number(const char *word, uint64_t most, uint64_t *value)
{
    char *end;

    *value = strtoull(word, &end, 10);
    return word[0] >= '0' && word[0] <= '9' && *end == '\0' && *value <= most;
}

static bool milliseconds(const char *word, uint64_t *value)
{
    return number(word, UINT32_MAX, value);
}

static const char no_number[] = "a number is expected";
static const char no_server[] = "there is no such server";
static const char no_session[] = "there is no such session";

/* --------------------------------------------------------------------------- connections */

/* Which connections a command is about: "all", or that of a session. */
struct chosen {
    int64_t session; /* 0: all */
    unsigned count;
    void (*act)(struct tcp_connection *, struct chosen *);
    uint64_t a, b;
    int32_t opcode;
};

static void visit(struct tcp_connection *connection, void *context)
{
    struct chosen *chosen = context;
    const struct outside_client *client = tcp_connection_client(connection);

    if (client != NULL &&
        (chosen->session == 0 || outside_client_session(client) == chosen->session)) {
        chosen->count++;
        chosen->act(connection, chosen);
    }
}

static bool read_session(const char *word, int64_t *session)
{
    char *end;

    *session = (int64_t)strtoull(word, &end, 16);
    return *session != 0 && *end == '\0';
}

static const char *for_chosen(struct command *command, struct chosen *chosen)
{
    if (strcmp(command->words[0], "all") != 0 &&
        !read_session(command->words[0], &chosen->session)) {
        return no_session;
    }
    tcp_server_each(command->server, visit, chosen);
    return chosen->session != 0 && chosen->count == 0 ? no_session : NULL;
}

static void cut_one(struct tcp_connection *connection, struct chosen *chosen)
{
    (void)chosen;
    tcp_connection_cut(connection);
}

/* cut all|SESSION [MS]: with a time, the servers accept no connection for so long. */
static const char *cut(struct command *command)
{
    struct chosen chosen = {.act = cut_one};
    uint64_t ms = 0;

    if (command->count > 1 && !milliseconds(command->words[1], &ms)) {
        return no_number;
    }
    command->server->refuses_until = command->server->sim->now + ms;
    return for_chosen(command, &chosen);
}

static void silence_one(struct tcp_connection *connection, struct chosen *chosen)
{
    outside_client_silence(tcp_connection_client(connection), chosen->a);
}

static const char *silence(struct command *command)
{
    struct chosen chosen = {.act = silence_one};

    return milliseconds(command->words[1], &chosen.a) ? for_chosen(command, &chosen)
                                                      : no_number;
}

static void delay_one(struct tcp_connection *connection, struct chosen *chosen)
{
    outside_client_set_latency(tcp_connection_client(connection), (uint32_t)chosen->a,
                               (uint32_t)chosen->b);
}

static const char *delay(struct command *command)
{
    struct chosen chosen = {.act = delay_one};

    return milliseconds(command->words[1], &chosen.a) &&
                   milliseconds(command->words[2], &chosen.b)
               ? for_chosen(command, &chosen)
               : no_number;
}

static const struct {
    const char *name;
    int32_t opcode;
    int kind; /* enum uvzk__rpc_kind */
} requests[] = {
    {"create", UVZK__OPCODE_CREATE2, UVZK__RPC_CREATE},
    {"old-create", UVZK__OPCODE_CREATE, UVZK__RPC_CREATE},
    {"delete", UVZK__OPCODE_DELETE, UVZK__RPC_DELETE},
    {"set", UVZK__OPCODE_SET_DATA, UVZK__RPC_SET},
    {"get", UVZK__OPCODE_GET_DATA, UVZK__RPC_GET},
    {"exists", UVZK__OPCODE_EXISTS, UVZK__RPC_EXISTS},
    {"children", UVZK__OPCODE_GET_CHILDREN, UVZK__RPC_CHILDREN},
    {"children2", UVZK__OPCODE_GET_CHILDREN2, UVZK__RPC_CHILDREN},
    {"sync", UVZK__OPCODE_SYNC, UVZK__RPC_SYNC},
    {"multi", UVZK__OPCODE_MULTI, UVZK__RPC_MULTI},
};

/* Returns the row; -1: there is no such request. */
static int request_named(const char *name)
{
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        if (strcmp(requests[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void lose_one(struct tcp_connection *connection, struct chosen *chosen)
{
    outside_client_lose_reply(tcp_connection_client(connection), chosen->opcode,
                              (unsigned)chosen->a);
}

/* lose-reply all|SESSION REQUEST [N]: of the n-th such request from now on. */
static const char *lose_reply(struct command *command)
{
    struct chosen chosen = {.act = lose_one};
    uint64_t n = 1;
    int row = request_named(command->words[1]);

    if (row < 0 && strcmp(command->words[1], "any") != 0) {
        return "there is no such request";
    }
    if (command->count > 2 && (!number(command->words[2], UINT32_MAX, &n) || n == 0)) {
        return no_number;
    }
    chosen.opcode = row < 0 ? 0 : requests[row].opcode;
    chosen.a = n - 1;
    return for_chosen(command, &chosen);
}

static void list_one(struct tcp_connection *connection, struct chosen *chosen)
{
    FILE *answer = (FILE *)(uintptr_t)chosen->a;

    (void)fprintf(answer, "%" PRIx64 " %s\n",
                  (uint64_t)outside_client_session(tcp_connection_client(connection)),
                  tcp_connection_name(connection));
}

/* connections: the session and the address of each. */
static const char *connections(struct command *command)
{
    struct chosen chosen = {.act = list_one, .a = (uintptr_t)command->answer};

    tcp_server_each(command->server, visit, &chosen);
    return NULL;
}

/* ------------------------------------------------------------------------------ sessions */

static const char *sessions(struct command *command)
{
    const struct sim__session *session, *next;

    HASH_ITER(hh, command->server->sim->server.sessions, session, next)
    {
        (void)fprintf(command->answer, "%" PRIx64 " %u\n", (uint64_t)session->id,
                      session->timeout_ms);
    }
    return NULL;
}

static const char *expire(struct command *command)
{
    struct sim *sim = command->server->sim;
    int64_t id;
    struct sim__session *session =
        read_session(command->words[0], &id) ? sim__session_find(sim, id) : NULL;

    if (session == NULL) {
        return no_session;
    }
    sim__session_end(sim, session);
    return NULL;
}

/* ------------------------------------------------------------------------------- servers */

static bool server_of(const struct command *command, const char *word, int *server)
{
    uint64_t value;
    bool known = number(word, command->server->servers - 1, &value);

    *server = known ? (int)value : -1;
    return known;
}

static const char *lag(struct command *command)
{
    int server;
    uint64_t ms;

    if (!server_of(command, command->words[0], &server)) {
        return no_server;
    }
    if (!milliseconds(command->words[1], &ms)) {
        return no_number;
    }
    sim_lag(command->server->sim, server, ms);
    return NULL;
}

/* depose FOLLOWERS ELECTION_MS MS */
static const char *depose(struct command *command)
{
    uint64_t followers, election_ms, ms;

    if (!number(command->words[0], TCP_SERVERS_MAX, &followers) ||
        !milliseconds(command->words[1], &election_ms) ||
        !milliseconds(command->words[2], &ms)) {
        return no_number;
    }
    return sim_depose(command->server->sim, (uint32_t)followers, election_ms, ms)
               ? NULL
               : "the other servers are no majority, or an old leader is cut off already";
}

static const char *leader(struct command *command)
{
    (void)fprintf(command->answer, "%d\n", sim_leader(command->server->sim));
    return NULL;
}

static const char *restart(struct command *command)
{
    uint64_t ms;

    if (!milliseconds(command->words[0], &ms)) {
        return no_number;
    }
    sim_restart(command->server->sim, ms);
    return NULL;
}

static const char *throttle(struct command *command)
{
    uint64_t ms;

    if (!milliseconds(command->words[0], &ms)) {
        return no_number;
    }
    command->server->sim->server.throttles_until = command->server->sim->now + ms;
    return NULL;
}

/* refuse REQUEST CODE [TIMES] */
static const char *refuse(struct command *command)
{
    uint64_t times = 1;
    int status, row = request_named(command->words[0]);

    if (row < 0) {
        return "there is no such request";
    }
    if (!wire_status_named(command->words[1], &status)) {
        return "there is no such code";
    }
    if (command->count > 2 && !number(command->words[2], UINT32_MAX, &times)) {
        return no_number;
    }
    sim_refuse(command->server->sim, (enum uvzk__rpc_kind)requests[row].kind, status,
               (uint32_t)times);
    return NULL;
}

/* ------------------------------------------------------------------------------- dialect */

static void set_dialect(struct tcp_server *server, const struct sim_dialect *dialect,
                        bool is_3_9)
{
    struct sim_options *options = &server->sim->options;

    server->settings.dialect = *dialect;
    options->reads_keep_no_session = dialect->forgets_sessions;
    options->event_zxids = options->mixes_watches = is_3_9;
    options->exists_needs_read = options->multis_tell_stats = is_3_9;
}

static const char *dialect(struct command *command)
{
    static const struct {
        const char *name;
        struct sim_dialect dialect;
        bool is_3_9;
    } dialects[] = {
        {"zookeeper", {0}, false},
        {"zookeeper-3.9", {0}, true},
        {"zookeeper-3.4",
         {.no_create2 = true,
          .no_containers = true,
          .no_removal = true,
          .no_persistent = true,
          .answers = true},
         false},
        {"keeper-2024",
         {.no_create2 = true,
          .no_containers = true,
          .no_removal = true,
          .no_persistent = true,
          .forgets_sessions = true},
         false},
        {"keeper-2025",
         {.no_containers = true, .no_persistent = true, .forgets_sessions = true},
         false},
    };

    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
        if (strcmp(dialects[i].name, command->words[0]) == 0) {
            set_dialect(command->server, &dialects[i].dialect, dialects[i].is_3_9);
            return NULL;
        }
    }
    return "there is no such dialect";
}

/* -------------------------------------------------------------------------------- znodes */

static const char *list_znodes(struct command *command)
{
    for (const struct sim__node *node = command->server->sim->server.tree.nodes;
         node != NULL; node = node->hh.next) {
        (void)fprintf(command->answer, "%s %" PRIx64 " %zu\n", node->path,
                      (uint64_t)node->stat.ephemeral_owner, node->data_length);
    }
    return NULL;
}

static const char *delete_znode(struct command *command)
{
    int status = sim_delete_by_hand(command->server->sim, command->words[0]);

    return status == 0 ? NULL : sim__code(status);
}

static const char *quit(struct command *command)
{
    *command->quit = true;
    return NULL;
}

/* ------------------------------------------------------------------------------ the table */

static const struct {
    const char *name;
    int least, most; /* how many words follow */
    command_fn carry_out;
} commands[] = {
    {"connections", 0, 0, connections},
    {"sessions", 0, 0, sessions},
    {"znodes", 0, 0, list_znodes},
    {"leader", 0, 0, leader},
    {"cut", 1, 2, cut},
    {"silence", 2, 2, silence},
    {"delay", 3, 3, delay},
    {"lose-reply", 2, 3, lose_reply},
    {"expire", 1, 1, expire},
    {"delete", 1, 1, delete_znode},
    {"lag", 2, 2, lag},
    {"depose", 3, 3, depose},
    {"restart", 1, 1, restart},
    {"throttle", 1, 1, throttle},
    {"refuse", 2, 3, refuse},
    {"dialect", 1, 1, dialect},
    {"quit", 0, 0, quit},
};

static const char *carry_out(struct command *command, const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return command->count >= commands[i].least &&
                           command->count <= commands[i].most
                       ? commands[i].carry_out(command)
                       : "too few words, or too many";
        }
    }
    return "there is no such command";
}

void control_command(struct tcp_server *server, char *line, FILE *answer, bool *quit)
{
    struct command command = {.server = server, .answer = answer, .quit = quit};
    char *rest, *name = strtok_r(line, " \t\r", &rest), *word;

    while ((word = strtok_r(NULL, " \t\r", &rest)) != NULL && command.count < WORDS_MAX) {
        command.words[command.count++] = word;
    }
    const char *why = name == NULL ? "there is no command" : carry_out(&command, name);
    tcp_server_run(server);
    if (why == NULL) {
        (void)fputs("ok\n", answer);
    } else {
        (void)fprintf(answer, "error %s\n", why);
    }
}
