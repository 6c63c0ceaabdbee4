/* SPDX-License-Identifier: Apache-2.0 */
/* One ZooKeeper server as a child process: its configuration file, its start, its end,
 * and questions by four-letter words. server.c and ensemble.c call it. All functions
 * block, and none needs a loop. */
#include "zk_process.h"

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

/* Ports below the kernel's range for outgoing connections (zk_free_port). */
#define PORT_FIRST 20000
#define PORT_COUNT 12000

#define JUTE_MAXBUFFER 1048575U /* the servers' default */

#define POLL_MS 20
/* A server that is about to serve may accept a connection and never answer. */
#define MODE_ANSWER_MS 300
#define LOG_LINES 40

#define FACTORY "-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server."

/* This environment variable names the jars of another server, as a class path for java
 * -cp. */
#define JARS "UVZK_ZOOKEEPER_JARS"
#define SIM_SERVER "UVZK_TEST_SIM_SERVER"

/* The manifest of Debian's zookeeper.jar names the jars that it needs, except a logger
 * and the part of Netty that ZooKeeper's connection factory uses. */
#define CLASS_PATH                                                    \
    "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:" \
    "/usr/share/java/netty-codec.jar"

static struct sockaddr_in address_of(const char *host, uint16_t port)
{
    struct sockaddr_in address;
    memset(&address, 0, sizeof(address));
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, host, &address.sin_addr);
    return address;
}

uint16_t zk_free_port(const char *host)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        uint16_t random = 0;
        if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
            break;
        }
        uint16_t port = (uint16_t)(PORT_FIRST + random % PORT_COUNT);
        struct sockaddr_in address = address_of(host, port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
        close(fd);
        if (bound == 0) {
            return port;
        }
    }
    fprintf(stderr, "server: no free port\n");
    return 0;
}

/* ------------------------------------------------------------------- files */

FILE *zk_config_open(const char *path, const struct zk_process *process, const char *data,
                     const struct zk_limits *limits)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "server: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    fprintf(file,
            "tickTime=%u\n"
            "dataDir=%s\n"
            "clientPort=%u\n"
            "clientPortAddress=%s\n"
            "minSessionTimeout=%u\n"
            "maxSessionTimeout=%u\n"
            "maxClientCnxns=0\n"
            "admin.enableServer=false\n"
            "4lw.commands.whitelist=*\n"
            "snapCount=1000000\n"
            "forceSync=no\n"
            "extendedTypesEnabled=true\n",
            limits->tick_ms, data, process->port, process->host, limits->min_session_ms,
            limits->max_session_ms);
    return file;
}

void zk_print_log(const char *log, const char *whose)
{
    char line[512];
    int left = LOG_LINES;
    FILE *file = fopen(log, "r");
    if (file == NULL) {
        return;
    }
    while (left-- > 0 && fgets(line, sizeof(line), file) != NULL) {
        fprintf(stderr, "%s log: %s", whose, line);
    }
    fclose(file);
}

/* ----------------------------------------------------------------- process */

/* In the child: the kernel kills the server when its parent ends. The server keeps none
 * of the parent's files and blocks no signals. */
static void detach_child(const char *log, pid_t parent)
{
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent ended before prctl() was in effect. */
    if (getppid() != parent) {
        _exit(1);
    }
    setsid(); /* the terminal's SIGINT must not reach the server */
    int input = open("/dev/null", O_RDONLY);
    int output = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
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

const char *zk_process_class_path(void)
{
    const char *jars = getenv(JARS);
    return jars == NULL || jars[0] == '\0' ? CLASS_PATH : jars;
}

static unsigned maxbuffer_of(const struct zk_settings *settings)
{
    return settings->jute_maxbuffer == 0 ? JUTE_MAXBUFFER : settings->jute_maxbuffer;
}

static void exec_java(const struct zk_settings *settings, const char *config)
{
    char heap[32], check[64], most[64];
    snprintf(heap, sizeof(heap), "-Xmx%um", settings->heap_mb);
    snprintf(check, sizeof(check), "-Dznode.container.checkIntervalMs=%u",
             settings->container_check_ms);
    snprintf(most, sizeof(most), "-Djute.maxbuffer=%u", maxbuffer_of(settings));
    execlp("java", "java", "-Xms64m", heap,
           settings->long_lived ? "-XX:+UseG1GC" : "-XX:+UseSerialGC",
           settings->long_lived ? "-XX:+TieredCompilation" : "-XX:TieredStopAtLevel=1",
           "-Xshare:auto", check, most,
           settings->netty ? FACTORY "NettyServerCnxnFactory"
                           : FACTORY "NIOServerCnxnFactory",
           "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp",
           zk_process_class_path(), "org.apache.zookeeper.server.quorum.QuorumPeerMain",
           config, (char *)NULL);
    fprintf(stderr, "cannot run java: %s\n", strerror(errno));
    _exit(127);
}

static void exec_simulated(const struct zk_process *process,
                           const struct zk_settings *settings, const char *program)
{
    char port[16], tick[16], least[16], most[16], check[16], buffer[16];
    snprintf(port, sizeof(port), "%u", process->port);
    snprintf(tick, sizeof(tick), "%u", settings->limits.tick_ms);
    snprintf(least, sizeof(least), "%u", settings->limits.min_session_ms);
    snprintf(most, sizeof(most), "%u", settings->limits.max_session_ms);
    snprintf(check, sizeof(check), "%u", settings->container_check_ms);
    snprintf(buffer, sizeof(buffer), "%u", maxbuffer_of(settings));
    execl(program, program, "--port", port, "--tick", tick, "--min-session", least,
          "--max-session", most, "--container-check", check, "--jute-maxbuffer", buffer,
          (char *)NULL);
    fprintf(stderr, "cannot run %s: %s\n", program, strerror(errno));
    _exit(127);
}

bool zk_process_start(struct zk_process *process, const struct zk_settings *settings,
                      const char *config, const char *log)
{
    const char *simulated = getenv(SIM_SERVER);
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        detach_child(log, parent);
        if (settings->alone && simulated != NULL) {
            exec_simulated(process, settings, simulated);
        }
        exec_java(settings, config);
    }
    if (child < 0) {
        fprintf(stderr, "server: fork: %s\n", strerror(errno));
        return false;
    }
    process->pid = child;
    return true;
}

bool zk_process_is_dead(struct zk_process *process)
{
    if (process->pid != 0 && waitpid(process->pid, NULL, WNOHANG) == process->pid) {
        process->pid = 0;
    }
    return process->pid == 0;
}

void zk_process_kill(struct zk_process *process)
{
    if (process->pid == 0) {
        return;
    }
    kill(process->pid, SIGKILL);
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    process->pid = 0;
}

void zk_process_signal(const struct zk_process *process, int signal)
{
    if (process->pid != 0) {
        kill(process->pid, signal);
    }
}

/* ------------------------------------------------------- four letter words */

/* patience_ms limits each send and each receive. */
static int connect_to(const struct zk_process *process, long patience_ms)
{
    struct sockaddr_in address = address_of(process->host, process->port);
    struct timeval patience = {patience_ms / 1000, patience_ms % 1000 * 1000};
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

long zk_process_ask(const struct zk_process *process, const char *word, char *answer,
                    size_t size, long patience_ms)
{
    size_t length = 0;
    ssize_t got = -1;
    int fd = connect_to(process, patience_ms);
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

long zk_number_after(const char *answer, const char *label)
{
    const char *found = strstr(answer, label);
    return found == NULL ? -1 : strtol(found + strlen(label), NULL, 10);
}

bool zk_process_has_mode(const struct zk_process *process, const char *mode)
{
    char answer[1024];
    return zk_process_ask(process, "srvr", answer, sizeof(answer), MODE_ANSWER_MS) > 0 &&
           strstr(answer, mode) != NULL;
}

/* ------------------------------------------------------------------ waiting */

static uint64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

bool zk_wait_until(bool (*condition)(void *), void *context, uint64_t ms)
{
    const struct timespec poll = {0, POLL_MS * 1000000};
    uint64_t deadline = monotonic_ms() + ms;
    while (monotonic_ms() < deadline) {
        if (condition(context)) {
            return true;
        }
        nanosleep(&poll, NULL);
    }
    return false;
}
