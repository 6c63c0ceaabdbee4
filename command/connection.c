/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a subcommand. It starts one uvzk client and reports the first
 * connection, or that there was none in time, once through connection_cb. After that the
 * client reconnects by itself, and this file only prints that with --verbose. */
#include "connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "configuration.h"
#include "exit_code.h"
#include "output.h"
#include "private_file.h"
#include "refusal.h"

#define AUTH_MAX 4096U /* bytes of a scheme, a colon and a credential */

/* If neither the command line nor a file has them. */
#define SESSION_TIMEOUT_MS 15000U
/* --session-timeout is in seconds: who asks for more than an hour means ms. */
#define SESSION_TIMEOUT_MOST_MS 3600000U
#define TICK_MS 2000U

/* What the C client says of a server that closes the connection, as a server without
 * a quorum does. No host is down. */
#define SERVER_HAS_CLOSED "errno=112(Host is down)"
#define SERVER_HAS_CLOSED_MEANS \
    ": the server has closed the connection; it ends, or it has no quorum"

/* What connection_options_complete has found: the options of each client of this process.
 * Its copies live as long as the process. */
static uvzk_client_options_t configured;

#ifdef UVZK_WITHOUT_C_CLIENT
#define TRANSPORTS "native (default); this build has no c-client"
#else
#define TRANSPORTS "c-client (default), or native: without threads"
#endif

const char connection_help[] =
    "  -H, --hosts LIST          host:port,host:port/chroot?name=value&name=value; else\n"
    "                            $ZOOKEEPER_HOSTS\n"
    "      --config FILE         options, instead of ~/.config/uvzk.conf and\n"
    "                            /etc/uvzk.conf: see uvzk.conf(5)\n"
    "      --no-config           do not read these files\n"
    "      --session-timeout S   requested from the servers (15); they free a dead "
    "holder's\n"
    "                            lock after this time\n"
    "      --connect-timeout S   how long to wait for the first connection (10; 0: "
    "forever)\n"
    "      --tick S              the servers' tickTime, or more (2)\n"
    "      --namespace NAME      all paths are below /NAME\n"
    "      --auth-file FILE      its first line is SCHEME:CREDENTIAL, such as "
    "digest:ann:secret\n"
    "      --transport KIND      " TRANSPORTS "\n"
    "      --tls                 TLS, with the native transport; the next four imply it\n"
    "      --tls-ca FILE         PEM file of the servers' CAs; else the system's CAs\n"
    "      --tls-cert FILE       PEM file of the client's certificate\n"
    "      --tls-key FILE        PEM file of its key; else that of the certificate\n"
    "      --tls-name NAME       in the servers' certificates, instead of their hosts\n"
    "      --sasl LIST           who you are, with the native transport: "
    "mechanism=GSSAPI,\n"
    "                            keytab=FILE, ... or mechanism=DIGEST-MD5,user=NAME,\n"
    "                            password-file=FILE\n"
    "  -v, --verbose             report what happens on standard error\n"
    "  -q, --quiet               do not report there that there is no connection\n";

void connection_options_init(struct connection_options *options)
{
    *options = (struct connection_options){.hosts_from = "--hosts",
                                           .ns_from = "namespace",
                                           .session_ms = NOT_GIVEN,
                                           .tick_ms = NOT_GIVEN,
                                           .connect_timeout_ms = 10000};
}

static uint64_t session_timeout(const char *text)
{
    uint64_t ms = argument_milliseconds("--session-timeout", text);

    if (ms == 0 || ms > SESSION_TIMEOUT_MOST_MS) {
        argument_wrong("--session-timeout", text,
                       "seconds, more than 0 and at most 3600");
    }
    return ms;
}

static const char *transport(const char *text)
{
    if (strcmp(text, "native") != 0 && strcmp(text, "c-client") != 0) {
        argument_wrong("--transport", text, "c-client or native");
    }
    return text;
}

/* The value is a part of a list with commas. */
static bool tls_option(struct connection_options *options, const char **value,
                       const char *argument)
{
    if (argument != NULL && strchr(argument, ',') != NULL) {
        argument_wrong("--tls-...", argument, "a name without a comma");
    }
    options->tls = true;
    options->transport = "native";
    if (value != NULL) {
        *value = argument;
    }
    return true;
}

bool connection_option(struct connection_options *options, int option,
                       const char *argument)
{
    switch (option) {
    case 'H':
        options->hosts = argument;
        return true;
    case 'v':
        options->verbose = true;
        return true;
    case 'q':
        options->quiet = true;
        return true;
    case CONNECTION_FIRST_OPTION:
        options->session_ms = session_timeout(argument);
        return true;
    case CONNECTION_FIRST_OPTION + 1:
        options->connect_timeout_ms =
            argument_milliseconds("--connect-timeout", argument);
        return true;
    case CONNECTION_FIRST_OPTION + 2:
        options->tick_ms = argument_milliseconds("--tick", argument);
        return true;
    case CONNECTION_FIRST_OPTION + 3:
        options->ns = argument;
        options->ns_from = "--namespace";
        return true;
    case CONNECTION_FIRST_OPTION + 4:
        options->auth_file = argument;
        return true;
    case CONNECTION_FIRST_OPTION + 5:
        options->transport = transport(argument);
        return true;
    case CONNECTION_FIRST_OPTION + 6:
        return tls_option(options, NULL, NULL);
    case CONNECTION_FIRST_OPTION + 7:
        return tls_option(options, &options->tls_ca, argument);
    case CONNECTION_FIRST_OPTION + 8:
        return tls_option(options, &options->tls_cert, argument);
    case CONNECTION_FIRST_OPTION + 9:
        return tls_option(options, &options->tls_key, argument);
    case CONNECTION_FIRST_OPTION + 10:
        return tls_option(options, &options->tls_name, argument);
    case CONNECTION_FIRST_OPTION + 13:
        options->sasl = argument;
        options->transport = "native";
        return true;
    case CONNECTION_FIRST_OPTION + 11:
        options->config = argument;
        return true;
    case CONNECTION_FIRST_OPTION + 12:
        options->no_config = true;
        return true;
    default:
        return false;
    }
}

/* ------------------------------------------------------------ files and the environment */

static int read_files(struct connection_options *options)
{
    const char *files[CONFIGURATION_FILES] = {options->config};
    bool usual = options->config == NULL;
    size_t count = options->no_config ? 0 : usual ? configuration_files(files) : 1;
    struct configuration configuration = {.client = &configured,
                                          .hosts_from = options->hosts_from};
    int failed = EX_OK;

    for (size_t i = 0; i < count && failed == EX_OK; i++) {
        failed = configuration_read(files[i], usual, &configuration);
    }
    options->auth_from = configuration.auth_from;
    options->hosts_from = configuration.hosts_from;
    options->lock_is_write = configuration.lock_is_write;
    return failed;
}

static int read_strings(struct connection_options *options)
{
    const char *hosts = getenv("ZOOKEEPER_HOSTS");
    const void *auth = configured.auth;
    int failed;

    if (options->hosts != NULL) {
        options->hosts_from = "--hosts";
        return configuration_parse("--hosts", options->hosts, true, &configured);
    }
    if (hosts == NULL || hosts[0] == '\0') {
        return EX_OK;
    }
    options->hosts_from = "ZOOKEEPER_HOSTS";
    failed = configuration_parse("ZOOKEEPER_HOSTS", hosts, false, &configured);
    options->auth_from = configured.auth != auth ? "ZOOKEEPER_HOSTS" : options->auth_from;
    return failed;
}

/* The library's sentence names fields, and does not know which file has set them. */
static int check_auth(const struct connection_options *options)
{
    if (configured.auth == NULL || configured.auth_scheme != NULL ||
        options->auth_file != NULL) {
        return EX_OK;
    }
    output_report("%s: auth without auth_scheme, such as digest", options->auth_from);
    return EX_USAGE;
}

/* Only the native transport has TLS and SASL, so an option for them also selects that
 * transport. */
static void apply_command_line(const struct connection_options *options)
{
    if (options->session_ms != NOT_GIVEN) {
        configured.session_timeout_ms = (uint32_t)options->session_ms;
    }
    if (options->tick_ms != NOT_GIVEN) {
        configured.tick_ms = (uint32_t)options->tick_ms;
    }
    if (options->ns != NULL) {
        configured.ns = options->ns;
    }
    if (options->sasl != NULL) {
        configured.sasl = options->sasl;
    }
    if (options->transport != NULL) {
        configured.transport = strcmp(options->transport, "native") == 0
                                   ? UVZK_TRANSPORT_NATIVE
                                   : UVZK_TRANSPORT_C_CLIENT;
    } else if (configured.tls != NULL || configured.sasl != NULL) {
        configured.transport = UVZK_TRANSPORT_NATIVE;
    }
}

/* With the key of its entry in options.tls. */
static size_t tls_length(const char *key, const char *value)
{
    return value == NULL ? 0 : strlen(",=") + strlen(key) + strlen(value);
}

static int check_tls(const struct connection_options *options)
{
    if (tls_length("ca", options->tls_ca) + tls_length("cert", options->tls_cert) +
            tls_length("key", options->tls_key) + tls_length("name", options->tls_name) <
        TLS_BYTES) {
        return EX_OK;
    }
    fprintf(stderr,
            "uvzk: --tls-ca, --tls-cert, --tls-key and --tls-name have more than %u "
            "bytes together\n",
            TLS_BYTES - 1);
    return EX_USAGE;
}

int connection_options_complete(struct connection_options *options)
{
    uvzk_client_options_init(&configured);
    configured.session_timeout_ms = SESSION_TIMEOUT_MS;
    configured.tick_ms = TICK_MS;
    configured.mixed_kinds = UVZK_MIXED_KINDS_REFUSE;
    int failed = check_tls(options);
    if (failed == EX_OK) {
        failed = read_files(options);
    }
    if (failed == EX_OK) {
        failed = read_strings(options);
    }
    if (failed == EX_OK) {
        failed = check_auth(options);
    }
    apply_command_line(options);
    options->hosts = configured.hosts;
    options->ns = configured.ns;
    options->session_ms = configured.session_timeout_ms;
    options->tick_ms = configured.tick_ms;
    options->has_tls = options->tls || configured.tls != NULL;
    return failed;
}

/* ------------------------------------------------------------------ credentials and TLS */

/* Reads the first line into `line`, which has room for AUTH_MAX bytes and two more, and
 * ends it with a NUL. Returns NULL, or what is wrong. */
static const char *read_line(const char *name, char *line, size_t *length)
{
    FILE *file = fopen(name, "re");

    if (file == NULL) {
        return "cannot be read";
    }
    if (private_file_is_readable_by_others(file)) {
        fclose(file);
        return "its group or others can read it: chmod 600";
    }
    *length = fread(line, 1, AUTH_MAX + 1, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed || *length == 0) {
        return failed ? "cannot be read" : "is empty";
    }
    const char *newline = memchr(line, '\n', *length);
    if (newline == NULL && *length > AUTH_MAX) {
        return "the first line is too long";
    }
    *length = newline == NULL ? *length : (size_t)(newline - line);
    line[*length] = '\0';
    if (*length > 0 && strchr(" \t\r", line[*length - 1]) != NULL) {
        return "its first line ends with a blank or a carriage return, which would be a "
               "part of "
               "the credential";
    }
    return strchr(line, ':') == NULL ? "no SCHEME:CREDENTIAL" : NULL;
}

/* Reads "SCHEME:CREDENTIAL" from the first line of the file. There is no option for the
 * credential itself, because every user of the machine can read command lines. Returns
 * EX_OK, or an exit code. client->auth points into *owned. */
static int read_auth(const char *name, char **owned, uvzk_client_options_t *client)
{
    char *line = calloc(1, AUTH_MAX + 2);
    size_t length = 0;
    const char *trouble = line == NULL ? "out of memory" : read_line(name, line, &length);

    *owned = line;
    if (trouble != NULL) {
        output_report("%s: %s", name, trouble);
        return EX_NOINPUT;
    }
    char *colon = strchr(line, ':');
    *colon = '\0';
    client->auth_scheme = line;
    client->auth = colon + 1;
    client->auth_length = length - (size_t)(colon + 1 - line);
    return EX_OK;
}

int connection_credentials_read(const struct connection_options *options,
                                struct connection_credentials *credentials)
{
    uvzk_client_options_t client = configured;
    char *owned = NULL;
    int failed = options->auth_file == NULL
                     ? EX_OK
                     : read_auth(options->auth_file, &owned, &client);

    *credentials = (struct connection_credentials){.scheme = client.auth_scheme,
                                                   .auth = client.auth,
                                                   .length = client.auth_length,
                                                   .owned = owned};
    return failed;
}

static void add_tls(char *text, size_t size, const char *key, const char *value)
{
    size_t length = strlen(text);

    if (value != NULL) {
        snprintf(text + length, size - length, "%s%s=%s", length == 0 ? "" : ",", key,
                 value);
    }
}

#define TLS_NAME "name="

/* Returns the name in "KEY=VALUE,KEY=VALUE", and what is behind it; NULL: there is none. */
static const char *tls_name_in(const char *tls)
{
    while (tls != NULL && strncmp(tls, TLS_NAME, strlen(TLS_NAME)) != 0) {
        tls = strchr(tls, ',');
        tls = tls == NULL ? NULL : tls + 1;
    }
    return tls == NULL ? NULL : tls + strlen(TLS_NAME);
}

const char *connection_tls_name(const struct connection_options *options,
                                const char *host)
{
    static char name[TLS_BYTES];
    const char *given = options->tls ? options->tls_name : tls_name_in(configured.tls);

    if (given == NULL) {
        return host;
    }
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(given, ","), given);
    return name;
}

/* Where hosts has the address of a server whose name the user has given. */
static void add_tls_host(struct connection *connection)
{
    const char *host = connection->options->tls_host;

    if (host != NULL && tls_name_in(connection->tls) == NULL &&
        strlen(connection->tls) + tls_length("name", host) < sizeof(connection->tls)) {
        add_tls(connection->tls, sizeof(connection->tls), "name", host);
    }
}

/* The value of options.tls, from the command line's options, or from a file. */
static const char *tls_of(struct connection *connection, const char *of_file)
{
    const struct connection_options *options = connection->options;

    if (!options->tls) {
        if (of_file == NULL || strlen(of_file) >= sizeof(connection->tls)) {
            return of_file;
        }
        snprintf(connection->tls, sizeof(connection->tls), "%s", of_file);
    }
    add_tls(connection->tls, sizeof(connection->tls), "ca", options->tls_ca);
    add_tls(connection->tls, sizeof(connection->tls), "cert", options->tls_cert);
    add_tls(connection->tls, sizeof(connection->tls), "key", options->tls_key);
    add_tls(connection->tls, sizeof(connection->tls), "name", options->tls_name);
    add_tls_host(connection);
    return connection->tls;
}

/* Only the first call has an effect: the connection may come after the timeout. */
static void tell(struct connection *connection, int status)
{
    if (!connection->told) {
        connection->told = true;
        uv_timer_stop(&connection->connect_timer);
        connection->cb(connection, status);
    }
}

/* With --verbose the client's log reports it. */
static void report_no_connection(struct connection *connection)
{
    if (!connection->options->quiet && !connection->options->verbose) {
        no_connection_begin(&connection->no_connection);
    }
}

/* There is no session, and there was no connection yet. For two reasons the client stops
 * trying. */
static void check_final(struct connection *connection)
{
    int reason = no_connection_reason(&connection->client);

    if ((reason != UVZK_EAUTH && reason != UVZK_EINTERNAL) || connection->told) {
        return;
    }
    output_report("%sno session with %s%s", connection->subject,
                  connection->options->hosts,
                  no_connection_reason_text(&connection->client));
    tell(connection, reason);
}

static void report_connected_again(const struct connection *connection)
{
    const char *server = uvzk_client_current_server(&connection->client);

    output_report("%sconnected again after %.1f s, to %s", connection->subject,
                  (double)(uvzk_now() - connection->lost_at) / 1000,
                  server == NULL || server[0] == '\0' ? connection->options->hosts
                                                      : server);
}

static void keep_moment_of_loss(struct connection *connection, uvzk_client_state_t state)
{
    if (state == UVZK_STATE_CONNECTED || state == UVZK_STATE_RECONNECTED) {
        connection->lost_at = 0;
    } else if (connection->lost_at == 0) {
        connection->lost_at = uvzk_now();
    }
}

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct connection *connection = client->data;

    if (state == UVZK_STATE_SUSPENDED || state == UVZK_STATE_LOST) {
        report_no_connection(connection);
    } else if (state != UVZK_STATE_LATENT) {
        no_connection_end(&connection->no_connection);
    }
    if (state == UVZK_STATE_CONNECTED) {
        tell(connection, 0);
    } else if (state == UVZK_STATE_LOST || state == UVZK_STATE_CLOSED) {
        check_final(connection);
    } else if (connection->options->verbose && state == UVZK_STATE_SUSPENDED) {
        output_report("%sthe connection is lost", connection->subject);
    } else if (connection->options->verbose && state == UVZK_STATE_RECONNECTED) {
        report_connected_again(connection);
    }
    keep_moment_of_loss(connection, state);
    if (connection->lost_at == 0 && connection->connected != NULL) {
        connection->connected(connection);
    }
}

/* A line of the C client begins with its own time, process and thread, up to a colon. */
static const char *without_time(const char *line)
{
    const char *level = strstr(line, ":ZOO_");

    return level == NULL ? line : level + 1;
}

/* Its warnings concern who holds what: they are told without --verbose too. */
#define KINDS_MODULE "kinds"

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    const struct connection *connection = client->data;
    bool always = level == UVZK_LOG_WARN && strcmp(module, KINDS_MODULE) == 0;

    if (!always && !connection->options->verbose) {
        return;
    }
    output_report("%s%s%s", connection->subject, without_time(line),
                  strstr(line, SERVER_HAS_CLOSED) == NULL ? "" : SERVER_HAS_CLOSED_MEANS);
}

static void on_connect_timeout(uv_timer_t *timer)
{
    struct connection *connection = timer->data;

    output_report("%sno connection to %s within %g s%s", connection->subject,
                  connection->options->hosts,
                  (double)connection->options->connect_timeout_ms / 1000,
                  no_connection_reason_text(&connection->client));
    int reason = no_connection_reason(&connection->client);
    tell(connection, exit_code_is_shortage(reason) ? reason : UVZK_ENOTSENT);
}

static int open_client(struct connection *connection, uv_loop_t *loop,
                       uvzk_client_options_t *options)
{
    int status = uvzk_client_init(loop, &connection->client, options);

    if (status == 0) {
        status = uvzk_client_start(&connection->client);
    }
    if (status < 0) {
        output_report("%scannot open a session with %s: %s", connection->subject,
                      options->hosts, refusal_text(connection->options, status));
    }
    return exit_code_of(status);
}

char *connection_node_of(const struct connection_options *options, const char *path)
{
    bool has_ns = options->ns != NULL && options->ns[0] != '\0';
    char *node;

    return asprintf(&node, "%s%s%s", has_ns ? "/" : "", has_ns ? options->ns : "", path) <
                   0
               ? NULL
               : node;
}

int connection_open(struct connection *connection, uv_loop_t *loop,
                    const struct connection_options *options, const char *node_data,
                    connection_cb cb)
{
    uvzk_client_options_t client = configured;

    connection->options = options;
    if (options->subject != NULL) {
        snprintf(connection->subject, sizeof(connection->subject),
                 "%s: ", options->subject);
    }
    connection->cb = cb;
    connection->client.data = connection;
    connection->connect_timer.data = connection;
    uv_timer_init(loop, &connection->connect_timer);
    no_connection_init(&connection->no_connection, loop, &connection->client,
                       options->hosts, connection->subject);
    connection->no_connection.data = connection;
    client.hosts = options->hosts; /* of one server, in each_server.c */
    client.session_timeout_ms =
        (uint32_t)options->session_ms; /* doctor.c asks for others */
    client.tls = tls_of(connection, client.tls);
    client.sessions = options->sessions > 0 ? options->sessions : client.sessions;
    client.state_cb = on_state;
    client.log_cb = on_log;
    if (node_data != NULL) {
        client.default_data = node_data;
        client.default_data_length = strlen(node_data);
    }
    int failed = options->auth_file == NULL
                     ? EX_OK
                     : read_auth(options->auth_file, &connection->auth, &client);
    if (failed == EX_OK) {
        failed = open_client(connection, loop, &client);
    }
    if (failed == EX_OK) {
        report_no_connection(connection);
    }
    if (failed == EX_OK && options->connect_timeout_ms > 0) {
        uv_timer_start(&connection->connect_timer, on_connect_timeout,
                       options->connect_timeout_ms, 0);
    }
    return failed;
}

static void reports_closed(uv_handle_t *timer)
{
    struct no_connection *no_connection = timer->data;
    struct connection *connection = no_connection->data;

    uv_close((uv_handle_t *)&connection->connect_timer, connection->closed_cb);
}

static void client_closed(uvzk_client_t *client)
{
    struct connection *connection = client->data;

    free(connection->auth);
    connection->auth = NULL;
    uv_close((uv_handle_t *)&connection->no_connection.timer, reports_closed);
}

void connection_close(struct connection *connection, uv_close_cb cb)
{
    connection->closed_cb = cb;
    no_connection_end(&connection->no_connection);
    if (uvzk_client_close(&connection->client, client_closed) < 0) {
        client_closed(&connection->client); /* the client was never initialised */
    }
}
