/* zookeeper_interest is the client's for who has no threads of its own. */
#undef THREADED
#include "close_keep_session.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <zookeeper/zookeeper_log.h>

#include "log_route.h"

#define INFORMATION "ZOO_INFO@"
/* What zookeeper_close says before it asks for the session's end. */
#define ITS_LINE INFORMATION "zookeeper_close@"

static _Thread_local zhandle_t *closing; /* NULL: this thread closes none so */
static _Thread_local bool heard;         /* of it */
static _Thread_local uint32_t given_ms;  /* 0: not connected in the end */

static void (*wait_of_tests)(zhandle_t *zh);

void uvzk__close_keep_session_hook(void (*wait)(zhandle_t *zh))
{
    wait_of_tests = wait;
}

/* ------------------------------------------------------------------- the log's level */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned raised; /* by so many */
static ZooLogLevel level_before;

static void raise_level(void)
{
    pthread_mutex_lock(&mutex);
    if (raised++ == 0) {
        level_before = logLevel;
    }
    if (logLevel < ZOO_LOG_LEVEL_INFO) {
        zoo_set_debug_level(ZOO_LOG_LEVEL_INFO);
    }
    pthread_mutex_unlock(&mutex);
}

/* Unless somebody else has set another one meanwhile. */
static void lower_level(void)
{
    pthread_mutex_lock(&mutex);
    if (--raised == 0 && logLevel == ZOO_LOG_LEVEL_INFO) {
        zoo_set_debug_level(level_before);
    }
    pthread_mutex_unlock(&mutex);
}

/* --------------------------------------------------------------------- its connection */

/* The client's threads have ended: nobody else uses the socket, or closes it. */
static void shut_down(zhandle_t *zh)
{
    int fd = -1;
    int interest;
    struct timeval patience;

    (void)zookeeper_interest(zh, &fd, &interest, &patience);
    if (fd >= 0) {
        (void)shutdown(fd, SHUT_RDWR);
    }
}

/* The log of the handle from now on. Its other threads may have something to say still. */
static void hear(const char *line)
{
    zhandle_t *zh = closing;

    if (zh == NULL || strstr(line, INFORMATION) == NULL) {
        uvzk__log_route_callback()(line);
        return;
    }
    heard = true;
    if (strstr(line, ITS_LINE) != NULL && zoo_state(zh) == ZOO_CONNECTED_STATE) {
        given_ms = (uint32_t)zoo_recv_timeout(zh);
        closing = NULL; /* what is said of this is for the log */
        shut_down(zh);
        closing = zh;
    }
}

/* The first line of a thread takes memory. True: the level stays raised. */
static bool is_heard(zhandle_t *zh)
{
    zoo_set_log_callback(zh, hear);
    heard = false;
    raise_level();
    LOG_INFO(hear, "leaves its servers");
    if (!heard) {
        lower_level();
    }
    return heard;
}

bool uvzk__close_keep_session(zhandle_t *zh, uint32_t *timeout_ms)
{
    closing = zh;
    given_ms = 0;
    bool will_be_heard = is_heard(zh);
    if (will_be_heard) {
        if (wait_of_tests != NULL) {
            wait_of_tests(zh);
        }
        (void)zookeeper_close(zh);
        lower_level();
    }
    closing = NULL;
    *timeout_ms = given_ms > 0 ? given_ms : *timeout_ms;
    return will_be_heard;
}
