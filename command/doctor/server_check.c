/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the servers in four rounds, each of all servers at the same time: with four-letter
 * words, or over TLS for their certificates; by a session; by two sessions that ask for
 * extreme timeouts, where "conf" has not told the limits; with "srvr" again if the servers'
 * zxids differ (server_check.h). A round is over when all connections are closed: then uv_run
 * returns. What was learned is graded at the end of the last round. */
#include "doctor/server_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Lines of the answer to "conf". */
#define MIN_SESSION "minSessionTimeout="
#define MAX_SESSION "maxSessionTimeout="

/* The limits of session timeouts are those of uvzk_client_options_t. */
#define SHORTEST_SESSION_MS 500
#define LONGEST_SESSION_MS 86400000
#define LATENCY_READS 10
#define CERTIFICATE_DAYS 30
#define LAG_PAUSE_MS 1000 /* for a server that only lags */
#define BEHIND_MOST 1000  /* transactions behind, after that pause */
#define EPOCH_BITS 32     /* of a zxid: the lower ones count transactions */
#define TICKS_SHORT 4U    /* docs/operations.md, "What an outage or a pause costs" */
#define TICKS_TOO_SHORT 2U
#define LATENCY_WARNING 20.0 /* part of the session timeout */
#define LATENCY_WRONG 6.0    /* a proof of ownership is sent so often */

/* ---------------------------------------------------------------------- rounds */

typedef void (*give_up_cb)(struct server_check *);

struct round {
    struct server_checks *checks;
    give_up_cb give_up;
};

static void on_over(uv_timer_t *timer)
{
    const struct round *round = timer->data;

    for (size_t i = 0; i < round->checks->count; i++) {
        round->give_up(&round->checks->servers[i]);
    }
}

/* Waits until all that was asked is answered, or patience_ms has passed. */
static void await_answers(struct server_checks *checks, give_up_cb give_up)
{
    struct round round = {.checks = checks, .give_up = give_up};
    uv_timer_t over;

    uv_timer_init(checks->loop, &over);
    over.data = &round;
    uv_timer_start(&over, on_over, checks->patience_ms, 0);
    uv_unref((uv_handle_t *)&over);
    uv_run(checks->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&over, NULL);
    uv_run(checks->loop, UV_RUN_DEFAULT);
}

static void give_up_words(struct server_check *server)
{
    server_words_give_up(&server->srvr);
    server_words_give_up(&server->conf);
}

static void ask_words(struct server_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        struct server_check *server = &checks->servers[i];
        server_words_ask(&server->srvr, checks->loop, server->address, "srvr");
        server_words_ask(&server->conf, checks->loop, server->address, "conf");
    }
    await_answers(checks, give_up_words);
}

static void give_up_connect(struct server_check *server)
{
    server_words_give_up(&server->srvr);
}

static void give_up_certificate(struct server_check *server)
{
    if (server->srvr.connected) {
        certificate_give_up(&server->certificate);
    }
}

/* The words are in plain text. Over TLS it is only found out whether somebody listens, and
 * with which certificate. */
static void look_at_certificates(struct server_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        struct server_check *server = &checks->servers[i];
        server_words_ask(&server->srvr, checks->loop, server->address, "");
    }
    await_answers(checks, give_up_connect);
    for (size_t i = 0; i < checks->count; i++) {
        struct server_check *server = &checks->servers[i];
        struct sockaddr_storage address;
        if (server->srvr.connected &&
            server_words_address(server->address, &address) == 0) {
            snprintf(server->tls_name, sizeof(server->tls_name), "%s",
                     connection_tls_name(checks->options, server->name));
            certificate_look(&server->certificate, checks->loop,
                             (struct sockaddr *)&address, server->tls_name);
        }
    }
    await_answers(checks, give_up_certificate);
}

static void give_up_session(struct server_check *server)
{
    if (server->srvr.connected) {
        session_check_give_up(&server->session);
    }
}

static void begin_session(struct server_checks *checks, struct session_check *session,
                          const struct server_check *server, uint64_t session_ms,
                          size_t reads)
{
    const struct session_question question = {.address = server->address,
                                              .name = server->name,
                                              .chroot = checks->chroot,
                                              .session_ms = session_ms,
                                              .reads = reads};

    session_check_begin(session, checks->loop, checks->options, &question);
}

static void open_sessions(struct server_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        struct server_check *server = &checks->servers[i];
        if (server->srvr.connected) {
            begin_session(checks, &server->session, server, checks->options->session_ms,
                          LATENCY_READS);
        }
    }
    await_answers(checks, give_up_session);
}

static bool has_session(const struct server_check *server)
{
    return server->srvr.connected && server->session.status == 0;
}

/* "conf" tells the limits, but by default servers do not answer it. */
static bool has_unknown_limits(const struct server_check *server)
{
    return has_session(server) && (server_words_number(&server->conf, MIN_SESSION) < 0 ||
                                   server_words_number(&server->conf, MAX_SESSION) < 0);
}

static void give_up_limits(struct server_check *server)
{
    if (has_unknown_limits(server)) {
        session_check_give_up(&server->shortest);
        session_check_give_up(&server->longest);
    }
}

static void learn_limits(struct server_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        struct server_check *server = &checks->servers[i];
        if (has_unknown_limits(server)) {
            begin_session(checks, &server->shortest, server, SHORTEST_SESSION_MS, 0);
            begin_session(checks, &server->longest, server, LONGEST_SESSION_MS, 0);
        }
    }
    await_answers(checks, give_up_limits);
}

/* The transaction that the server has seen last; -1: it does not tell. */
static int64_t zxid_of(const struct server_words *srvr)
{
    return server_words_number(srvr, "Zxid: ");
}

static int64_t greatest_zxid(const struct server_checks *checks)
{
    int64_t greatest = -1;

    for (size_t i = 0; i < checks->count; i++) {
        int64_t zxid = zxid_of(&checks->servers[i].srvr);
        greatest = zxid > greatest ? zxid : greatest;
    }
    return greatest;
}

static void give_up_srvr_again(struct server_check *server)
{
    if (zxid_of(&server->srvr) >= 0) {
        server_words_give_up(&server->srvr_again);
    }
}

static void on_pause_over(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
}

/* A follower has every transaction a little later than its leader. */
static void ask_zxids_again(struct server_checks *checks)
{
    uv_timer_t pause;

    uv_timer_init(checks->loop, &pause);
    uv_timer_start(&pause, on_pause_over, LAG_PAUSE_MS, 0);
    uv_run(checks->loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < checks->count; i++) {
        struct server_check *server = &checks->servers[i];
        if (zxid_of(&server->srvr) >= 0) {
            server_words_ask(&server->srvr_again, checks->loop, server->address, "srvr");
        }
    }
    await_answers(checks, give_up_srvr_again);
}

static bool zxids_differ(const struct server_checks *checks)
{
    int64_t greatest = greatest_zxid(checks);

    for (size_t i = 0; i < checks->count; i++) {
        int64_t zxid = zxid_of(&checks->servers[i].srvr);
        if (zxid >= 0 && zxid != greatest) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------ findings of one server */

static bool is_of_same_host(const struct server_check *one,
                            const struct server_check *other)
{
    return strcmp(one->name, other->name) == 0 &&
           strcmp(strrchr(one->address, ':'), strrchr(other->address, ':')) == 0;
}

/* Another address of the same host and port has a session: clients find that one. */
static bool has_other_address(const struct server_checks *checks,
                              const struct server_check *server)
{
    for (size_t i = 0; i < checks->count; i++) {
        const struct server_check *other = &checks->servers[i];
        if (other != server && is_of_same_host(other, server) && has_session(other)) {
            return true;
        }
    }
    return false;
}

static void find_connection(struct server_checks *checks,
                            const struct server_check *server)
{
    enum grade grade = has_other_address(checks, server) ? GRADE_WARNING : GRADE_WRONG;

    if (!server->srvr.connected) {
        findings_add(
            checks->findings, grade, "connection", server->address, NO_FIGURES, "%s",
            server->srvr.status == UV_ETIMEDOUT ? "no answer"
                                                : uv_strerror(server->srvr.status));
    } else if (server->session.status < 0) {
        findings_add(checks->findings, grade, "connection", server->address,
                     FIGURES({"connect_ms", server->srvr.connect_ms}), "no session: %s",
                     server->session.reason);
    } else {
        findings_add(checks->findings, GRADE_OK, "connection", server->address,
                     FIGURES({"connect_ms", server->srvr.connect_ms},
                             {"session_ms", server->session.connect_ms}),
                     "connected after %.1f ms, a session after %.1f ms more",
                     server->srvr.connect_ms, server->session.connect_ms);
    }
}

static void find_certificate(struct server_checks *checks,
                             const struct server_check *server)
{
    const struct certificate *certificate = &server->certificate;
    int days = certificate->days_left;

    if (!certificate->seen) {
        findings_add(checks->findings, GRADE_WRONG, "tls", server->address, NO_FIGURES,
                     "no certificate is seen: %s", certificate->reason);
        return;
    }
    bool wrong =
        certificate->has_expired || certificate->is_early || !certificate->has_name;
    findings_add(checks->findings,
                 wrong                     ? GRADE_WRONG
                 : days < CERTIFICATE_DAYS ? GRADE_WARNING
                                           : GRADE_OK,
                 "tls", server->address, FIGURES({"days", days}),
                 "the certificate is for %s%s%s%s, and %s %s (%d days)",
                 certificate->names, certificate->has_name ? "" : ", not for ",
                 certificate->has_name ? "" : server->tls_name,
                 certificate->is_early ? ", is not valid yet" : "",
                 certificate->has_expired ? "has expired on" : "expires on",
                 certificate->expires, days);
}

/* Returns what docs/operations.md has against this version; NULL: nothing. */
static const char *known_fault(const int version[3])
{
    if (version[0] < 3 || (version[0] == 3 && version[1] < 5)) {
        return "it lacks containers, create with stat and the removal of watches: use "
               "3.5 or newer";
    }
    if (version[0] == 3 && version[1] == 8 && version[2] < 5) {
        return version[2] == 0 ? "it can hold back a reply until the next request "
                                 "(ZOOKEEPER-4537): use at least 3.8.5"
                               : "use at least 3.8.5";
    }
    if (version[0] == 3 && version[1] == 9 && version[2] < 4) {
        return "its data can diverge from the other servers': use at least 3.9.4";
    }
    return NULL;
}

static void find_version(struct server_checks *checks, const struct server_check *server)
{
    char text[64], mode[32] = "unknown";
    int version[3];

    if (checks->options->has_tls || server->srvr.status < 0) {
        return;
    }
    if (strstr(server->srvr.answer, "not currently serving requests") != NULL) {
        findings_add(checks->findings, GRADE_WRONG, "version", server->address,
                     NO_FIGURES, "it does not serve requests: it has no quorum");
        return;
    }
    if (!server_words_text(&server->srvr, "Zookeeper version: ", "-, ", text,
                           sizeof(text)) ||
        sscanf(text, "%d.%d.%d", &version[0], &version[1], &version[2]) != 3) {
        findings_add(checks->findings, GRADE_OK, "version", server->address, NO_FIGURES,
                     "it does not tell its version (srvr is not in its "
                     "4lw.commands.whitelist)");
        return;
    }
    server_words_text(&server->srvr, "Mode: ", " ", mode, sizeof(mode));
    const char *fault = known_fault(version);
    findings_add(checks->findings, fault == NULL ? GRADE_OK : GRADE_WARNING, "version",
                 server->address, NO_FIGURES, "ZooKeeper %d.%d.%d, %s%s%s", version[0],
                 version[1], version[2], mode, fault == NULL ? "" : "; ",
                 fault == NULL ? "" : fault);
}

/* Stores the limits of session timeouts; 0: not known. */
static void limits_of(const struct server_check *server, uint64_t *least, uint64_t *most)
{
    int64_t low = server_words_number(&server->conf, MIN_SESSION),
            high = server_words_number(&server->conf, MAX_SESSION);

    *least = low >= 0 ? (uint64_t)low : server->shortest.given_ms;
    *most = high >= 0 ? (uint64_t)high : server->longest.given_ms;
}

static void find_session(struct server_checks *checks, const struct server_check *server)
{
    uint64_t asked = checks->options->session_ms, tick = checks->options->tick_ms,
             given = server->session.given_ms, least, most;
    char allowed[96] = "";
    enum grade grade = given == asked ? GRADE_OK : GRADE_WARNING;
    const char *trouble = "";

    limits_of(server, &least, &most);
    if (least > 0 && most > 0) {
        snprintf(allowed, sizeof(allowed),
                 " (the server allows %" PRIu64 "%s to %" PRIu64 ")", least,
                 least == SHORTEST_SESSION_MS ? " or less" : "", most);
    }
    if (given < TICKS_TOO_SHORT * tick) {
        grade = GRADE_WRONG;
        trouble = "; shorter than two ticks: ownership cannot be proved";
    } else if (given < TICKS_SHORT * tick) {
        grade = GRADE_WARNING;
        trouble = "; shorter than four ticks: short outages cost locks";
    }
    findings_add(checks->findings, grade, "session", server->address,
                 FIGURES({"asked_ms", (double)asked}, {"given_ms", (double)given},
                         {"least_ms", (double)least}, {"most_ms", (double)most}),
                 "%" PRIu64 " ms asked, %" PRIu64 " ms given%s%s", asked, given, allowed,
                 trouble);
}

/* Without "conf" the server's lower limit, which is two ticks by default, tells of it. */
static void find_tick(struct server_checks *checks, const struct server_check *server)
{
    int64_t told = server_words_number(&server->conf, "tickTime=");
    uint64_t expected = checks->options->tick_ms, least, most;

    limits_of(server, &least, &most);
    if (told >= 0) {
        bool wrong = (uint64_t)told > expected;
        findings_add(
            checks->findings, wrong ? GRADE_WRONG : GRADE_OK, "tick", server->address,
            FIGURES({"tick_ms", (double)told}, {"expected_ms", (double)expected}),
            "tickTime is %" PRId64 " ms, %s %" PRIu64 " ms that --tick allows", told,
            wrong ? "more than the" : "within the", expected);
    } else if (least > 0) {
        bool is_limit = least > SHORTEST_SESSION_MS;
        bool more = is_limit && least / 2 > expected;
        findings_add(
            checks->findings, more ? GRADE_WARNING : GRADE_OK, "tick", server->address,
            FIGURES({"expected_ms", (double)expected}),
            "the server does not tell its tickTime; it is %" PRIu64
            " ms%s if minSessionTimeout is its default, and --tick allows %" PRIu64,
            least / 2, is_limit ? "" : " or less", expected);
    }
}

static void find_latency(struct server_checks *checks, const struct server_check *server)
{
    const struct session_check *session = &server->session;
    double median = session->read_ms[session->reads / 2],
           worst = session->read_ms[session->reads - 1], given = session->given_ms;
    enum grade grade = worst > given / LATENCY_WRONG     ? GRADE_WRONG
                       : worst > given / LATENCY_WARNING ? GRADE_WARNING
                                                         : GRADE_OK;

    findings_add(checks->findings, grade, "latency", server->address,
                 FIGURES({"median_ms", median}, {"worst_ms", worst}),
                 "%zu reads took %.1f ms (median), the slowest %.1f ms%s", session->reads,
                 median, worst, grade == GRADE_OK ? "" : ": much of the session timeout");
}

static void find_of_one(struct server_checks *checks, const struct server_check *server)
{
    find_connection(checks, server);
    if (checks->options->has_tls && server->srvr.connected) {
        find_certificate(checks, server);
    }
    find_version(checks, server);
    if (has_session(server)) {
        find_session(checks, server);
        find_tick(checks, server);
        find_latency(checks, server);
    }
}

/* -------------------------------------------------------- findings of all servers */

/* The tree has fewer transactions than another server had a second earlier. */
static void find_behind(struct server_checks *checks, const struct server_check *server,
                        int64_t greatest)
{
    int64_t zxid = zxid_of(&server->srvr_again), behind = greatest - zxid;

    if (zxid < 0 || behind <= 0) {
        return;
    }
    if (zxid >> EPOCH_BITS != greatest >> EPOCH_BITS) {
        findings_add(checks->findings, GRADE_WRONG, "servers", server->address,
                     NO_FIGURES,
                     "its last transaction, zxid 0x%" PRIx64
                     ", is of an earlier leader than that of another server, 0x%" PRIx64,
                     (uint64_t)zxid, (uint64_t)greatest);
    } else {
        findings_add(checks->findings, behind > BEHIND_MOST ? GRADE_WRONG : GRADE_WARNING,
                     "servers", server->address, FIGURES({"behind", (double)behind}),
                     "%" PRId64 " transactions behind another server, for a second",
                     behind);
    }
}

/* Servers of one ensemble, not servers that know nothing of one another. */
static void find_ensemble(struct server_checks *checks)
{
    size_t told = 0, leaders = 0, alone = 0;
    char mode[32];

    for (size_t i = 0; i < checks->count; i++) {
        if (server_words_text(&checks->servers[i].srvr, "Mode: ", " ", mode,
                              sizeof(mode))) {
            told++;
            leaders += strcmp(mode, "leader") == 0;
            alone += strcmp(mode, "standalone") == 0;
        }
    }
    if (told > 1 && alone > 0) {
        findings_add(checks->findings, GRADE_WRONG, "servers", NULL, NO_FIGURES,
                     "%zu of %zu servers are of no ensemble (standalone): their locks do "
                     "not exclude one another",
                     alone, told);
    } else if (leaders > 1) {
        findings_add(checks->findings, GRADE_WRONG, "servers", NULL, NO_FIGURES,
                     "%zu servers say that they lead", leaders);
    }
}

static void find_limits_differ(struct server_checks *checks)
{
    uint64_t least[2] = {UINT64_MAX, 0}, most[2] = {UINT64_MAX, 0};

    for (size_t i = 0; i < checks->count; i++) {
        uint64_t low, high;
        limits_of(&checks->servers[i], &low, &high);
        if (low > 0 && high > 0) {
            least[0] = low < least[0] ? low : least[0];
            least[1] = low > least[1] ? low : least[1];
            most[0] = high < most[0] ? high : most[0];
            most[1] = high > most[1] ? high : most[1];
        }
    }
    if (least[0] < least[1] || most[0] < most[1]) {
        findings_add(
            checks->findings, GRADE_WARNING, "servers", NULL, NO_FIGURES,
            "they have different limits of session timeouts: a session's timeout "
            "changes when it goes to another server");
    }
}

static void find_of_all(struct server_checks *checks)
{
    size_t before = checks->findings->count, told = 0;
    int64_t greatest = greatest_zxid(checks);

    find_ensemble(checks);
    find_limits_differ(checks);
    for (size_t i = 0; i < checks->count; i++) {
        told += zxid_of(&checks->servers[i].srvr) >= 0;
        find_behind(checks, &checks->servers[i], greatest);
    }
    if (checks->findings->count == before && told > 1) {
        findings_add(checks->findings, GRADE_OK, "servers", NULL, NO_FIGURES,
                     "%zu servers have zxid 0x%" PRIx64 " or a later one", told,
                     (uint64_t)greatest);
    }
}

static bool find_chroot(struct server_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        const struct server_check *server = &checks->servers[i];
        if (has_session(server) && server->session.root_status == UVZK_ENONODE) {
            findings_add(checks->findings, GRADE_WRONG, "chroot", server->address,
                         NO_FIGURES, "%s does not exist", checks->chroot);
            return false;
        }
    }
    return true;
}

const char *server_checks_run(struct server_checks *checks,
                              const struct server_list *list)
{
    const char *reached = NULL;

    checks->chroot = list->chroot;
    checks->count = list->count;
    for (size_t i = 0; i < list->count; i++) {
        checks->servers[i].address = list->addresses[i];
        checks->servers[i].name = list->names[i];
    }
    if (checks->options->has_tls) {
        look_at_certificates(checks);
    } else {
        ask_words(checks);
    }
    open_sessions(checks);
    learn_limits(checks);
    if (zxids_differ(checks)) {
        ask_zxids_again(checks);
    }
    for (size_t i = 0; i < checks->count; i++) {
        find_of_one(checks, &checks->servers[i]);
        if (reached == NULL && has_session(&checks->servers[i])) {
            reached = checks->servers[i].address;
        }
    }
    find_of_all(checks);
    for (size_t i = 0; i < checks->count; i++) {
        certificate_free(&checks->servers[i].certificate);
    }
    return find_chroot(checks) ? reached : NULL;
}
