/* SPDX-License-Identifier: Apache-2.0 */
#include "diverge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zk_process.h"

bool diverge_is_possible(void)
{
#ifdef COMPOSER_CLASSES
    return true;
#else
    return false;
#endif
}

#ifdef COMPOSER_CLASSES
static void exec_composer(const char *data, int64_t zxid)
{
    char class_path[4096], last[32];
    snprintf(class_path, sizeof(class_path), "%s:%s", COMPOSER_CLASSES,
             zk_process_class_path());
    snprintf(last, sizeof(last), "0x%" PRIx64, (uint64_t)zxid);
    execlp("java", "java", "-Xmx128m", "-XX:TieredStopAtLevel=1",
           "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", class_path,
           "ComposeDataDir", data, last, (char *)NULL);
    _exit(127);
}

/* Has the server's own classes write the data directory, so that a server of this version
 * can read it. Blocks until the Java process has ended. */
static bool compose(const char *data, int64_t zxid)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        exec_composer(data, zxid);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#else
static bool compose(const char *data, int64_t zxid)
{
    (void)data, (void)zxid;
    return false;
}
#endif

bool diverge(struct ensemble *e, int member)
{
    int64_t zxid = ensemble_last_zxid(e);
    if (zxid < 0 || !compose(ensemble_data_of(e, member), zxid)) {
        fprintf(stderr, "ensemble: member %d cannot be made to diverge\n", member);
        return false;
    }
    return ensemble_revive(e, member) && ensemble_wait_serving(e);
}
