#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scratch.h"

#define START_DEADLINE_MS 30000
#define START_POLL_MS 20
/* A server that is about to serve may accept a question and never answer it. */
#define START_ANSWER_MS 300
#define ANSWER_MS 5000
#define START_ATTEMPTS 5
#define LOG_LINES 40

/* Below the range of the ports the kernel gives to outgoing connections: nobody
 * takes the port while the server is down, and no client that tries to connect
 * to it then can meet itself. */
#define PORT_FIRST 20000
#define PORT_COUNT 12000

#define FACTORY "-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server."

/* Debian's zookeeper.jar names what else it needs, but for a logger and for the
 * one part of Netty that its own factory uses. */
#define CLASS_PATH                                                    \
    "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:" \
    "/usr/share/java/netty-codec.jar"

struct server {
    struct server_options options;
    pid_t pid; /* 0: not running */
    uint16_t port;
    char hosts[32];
    struct scratch directory;
    char config[160];
    char log[160];
};

static uint64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

static void pause_ms(long ms)
{
    struct timespec duration = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&duration, NULL);
}

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in address;
    memset(&address, 0, sizeof(address));
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* ------------------------------------------------------------------- files */

static bool write_config(const struct server *s)
{
    FILE *file = fopen(s->config, "w");
    if (file == NULL) {
        fprintf(stderr, "server: %s: %s\n", s->config, strerror(errno));
        return false;
    }
    fprintf(file,
            "tickTime=%u\n"
            "dataDir=%s/data\n"
            "clientPort=%u\n"
            "clientPortAddress=127.0.0.1\n"
            "minSessionTimeout=%u\n"
            "maxSessionTimeout=%u\n"
            "maxClientCnxns=0\n"
            "admin.enableServer=false\n"
            "4lw.commands.whitelist=*\n"
            "snapCount=1000000\n"
            "forceSync=no\n"
            "extendedTypesEnabled=true\n",
            s->options.tick_ms, s->directory.path, s->port, s->options.min_session_ms,
            s->options.max_session_ms);
    return fclose(file) == 0;
}

/* The beginning, where what went wrong first is told. */
static void print_log(const struct server *s)
{
    char line[512];
    int left = LOG_LINES;
    FILE *file = fopen(s->log, "r");
    if (file == NULL) {
        return;
    }
    while (left-- > 0 && fgets(line, sizeof(line), file) != NULL) {
        fprintf(stderr, "server log: %s", line);
    }
    fclose(file);
}

/* ------------------------------------------------------- four letter words */

static int connect_to(const struct server *s, long answer_ms)
{
    struct sockaddr_in address = loopback(s->port);
    struct timeval patience = {answer_ms / 1000, answer_ms % 1000 * 1000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* As server_command, waiting so long for each piece of the answer. */
static long ask(const struct server *s, const char *word, char *answer, size_t size,
                long answer_ms)
{
    size_t length = 0;
    ssize_t got = -1;
    int fd = connect_to(s, answer_ms);
    if (fd < 0) {
        return -1;
    }
    if (send(fd, word, strlen(word), MSG_NOSIGNAL) == (ssize_t)strlen(word)) {
        while (length < size - 1 &&
               (got = recv(fd, answer + length, size - 1 - length, 0)) > 0) {
            length += (size_t)got;
        }
    }
    close(fd);
    answer[length] = '\0';
    return got < 0 ? -1 : (long)length;
}

/* ----------------------------------------------------------------- process */

static bool choose_port(struct server *s)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        uint16_t random = 0;
        if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
            return false;
        }
        uint16_t port = (uint16_t)(PORT_FIRST + random % PORT_COUNT);
        struct sockaddr_in address = loopback(port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
        close(fd);
        if (bound == 0) {
            s->port = port;
            snprintf(s->hosts, sizeof(s->hosts), "127.0.0.1:%u", port);
            return true;
        }
    }
    fprintf(stderr, "server: no free port\n");
    return false;
}

/* In the child: the server outlives neither its parent nor keeps its files. */
static void detach_child(const struct server *s, pid_t parent)
{
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    setsid(); /* an interrupt from the terminal is not for the server */
    int input = open("/dev/null", O_RDONLY);
    int output = open(s->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (input < 0 || output < 0) {
        _exit(1);
    }
    dup2(input, 0);
    dup2(output, 1);
    dup2(output, 2);
    close_range(3, UINT_MAX, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void exec_java(const struct server *s)
{
    char heap[32], check[64];
    snprintf(heap, sizeof(heap), "-Xmx%um", s->options.heap_mb);
    snprintf(check, sizeof(check), "-Dznode.container.checkIntervalMs=%u",
             s->options.container_check_ms);
    execlp("java", "java", "-Xms64m", heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
           "-Xshare:auto", check,
           s->options.netty ? FACTORY "NettyServerCnxnFactory"
                            : FACTORY "NIOServerCnxnFactory",
           "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", CLASS_PATH,
           "org.apache.zookeeper.server.quorum.QuorumPeerMain", s->config, (char *)NULL);
    fprintf(stderr, "cannot run java: %s\n", strerror(errno));
    _exit(127);
}

static bool spawn(struct server *s)
{
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        detach_child(s, parent);
        exec_java(s);
    }
    if (child < 0) {
        fprintf(stderr, "server: fork: %s\n", strerror(errno));
        return false;
    }
    s->pid = child;
    return true;
}

enum readiness { READY, DIED, LATE };

static enum readiness wait_until_ready(struct server *s)
{
    uint64_t deadline = monotonic_ms() + START_DEADLINE_MS;
    char answer[1024];
    while (monotonic_ms() < deadline) {
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
            s->pid = 0;
            return DIED;
        }
        if (ask(s, "srvr", answer, sizeof(answer), START_ANSWER_MS) > 0 &&
            strstr(answer, "Mode:") != NULL) {
            return READY;
        }
        pause_ms(START_POLL_MS);
    }
    return LATE;
}

static bool bring_up(struct server *s)
{
    return write_config(s) && spawn(s) && wait_until_ready(s) == READY;
}

/* Another process may take the port between its choice and the server's bind:
 * then the server dies and is tried on another one. */
static bool bring_up_anywhere(struct server *s)
{
    for (int attempt = 0; attempt < START_ATTEMPTS; attempt++) {
        if (!choose_port(s) || !write_config(s) || !spawn(s)) {
            return false;
        }
        enum readiness outcome = wait_until_ready(s);
        if (outcome != DIED) {
            return outcome == READY;
        }
    }
    return false;
}

static void set_defaults(struct server_options *options)
{
    const struct server_options defaults = {200, 400, 60000, 512, 300, false};
    if (options->tick_ms == 0) {
        options->tick_ms = defaults.tick_ms;
    }
    if (options->min_session_ms == 0) {
        options->min_session_ms = defaults.min_session_ms;
    }
    if (options->max_session_ms == 0) {
        options->max_session_ms = defaults.max_session_ms;
    }
    if (options->heap_mb == 0) {
        options->heap_mb = defaults.heap_mb;
    }
    if (options->container_check_ms == 0) {
        options->container_check_ms = defaults.container_check_ms;
    }
}

struct server *server_start(const struct server_options *options)
{
    struct server *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    if (options != NULL) {
        s->options = *options;
    }
    set_defaults(&s->options);
    if (!scratch_make(&s->directory)) {
        free(s);
        return NULL;
    }
    snprintf(s->config, sizeof(s->config), "%s/zoo.cfg", s->directory.path);
    snprintf(s->log, sizeof(s->log), "%s/log", s->directory.path);
    if (!bring_up_anywhere(s)) {
        fprintf(stderr, "server: did not come up on port %u\n", s->port);
        print_log(s);
        server_stop(s);
        return NULL;
    }
    return s;
}

void server_kill(struct server *s)
{
    if (s->pid == 0) {
        return;
    }
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    s->pid = 0;
}

void server_stop(struct server *s)
{
    if (s == NULL) {
        return;
    }
    server_kill(s);
    scratch_remove(&s->directory);
    free(s);
}

void server_wipe(struct server *s)
{
    char data[160];
    snprintf(data, sizeof(data), "%s/data", s->directory.path);
    scratch_remove_tree(data);
}

bool server_restart(struct server *s)
{
    server_kill(s);
    if (!bring_up(s)) {
        fprintf(stderr, "server: did not come up again on port %u\n", s->port);
        print_log(s);
        return false;
    }
    return true;
}

void server_pause(struct server *s)
{
    kill(s->pid, SIGSTOP);
}

void server_resume(struct server *s)
{
    kill(s->pid, SIGCONT);
}

const char *server_hosts(const struct server *s)
{
    return s->hosts;
}

uint16_t server_port(const struct server *s)
{
    return s->port;
}

uint32_t server_tick_ms(const struct server *s)
{
    return s->options.tick_ms;
}

/* --------------------------------------------------------------- questions */

long server_command(const struct server *s, const char *word, char *answer, size_t size)
{
    return ask(s, word, answer, size, ANSWER_MS);
}

static long number_after(const struct server *s, const char *word, const char *label)
{
    char answer[65536];
    if (server_command(s, word, answer, sizeof(answer)) < 0) {
        return -1;
    }
    const char *found = strstr(answer, label);
    return found == NULL ? -1 : strtol(found + strlen(label), NULL, 10);
}

long server_watch_count(const struct server *s)
{
    return number_after(s, "wchs", "Total watches:");
}

long server_ephemeral_count(const struct server *s)
{
    return number_after(s, "mntr", "zk_ephemerals_count\t");
}
