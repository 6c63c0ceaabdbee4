#include "ward.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_environment(const struct ward_birth *birth)
{
    char token[32];

    snprintf(token, sizeof(token), "%" PRId64, birth->token);
    if (setenv("UVZK_PATH", birth->path, 1) != 0 ||
        setenv("UVZK_NODE", birth->node, 1) != 0 || setenv("UVZK_TOKEN", token, 1) != 0) {
        return -errno;
    }
    return 0;
}

/* Between fork and exec. Whatever was ignored when we were started stays so. */
static void become(const struct ward_birth *birth, pid_t guardian, int report)
{
    struct terminal terminal = *birth->terminal;
    int error;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guardian) {
        _exit(EXIT_FAILURE); /* it died before that was set */
    }
    if (terminal_is_wanted_at_once(&terminal)) {
        terminal_give(&terminal, getpid());
    }
    error = -set_environment(birth);
    if (error == 0) {
        sigprocmask(SIG_SETMASK, birth->mask, NULL);
        execvp(birth->command[0], birth->command);
        error = errno;
    }
    terminal_take_back(&terminal);
    ssize_t told = write(report, &error, sizeof(error));
    (void)told;
    _exit(EXIT_FAILURE);
}

pid_t ward_run(const struct ward_birth *birth)
{
    int report[2], error = 0;
    pid_t guardian = getpid();

    if (pipe2(report, O_CLOEXEC) != 0) {
        return -errno;
    }
    pid_t pid = fork();
    if (pid == 0) {
        become(birth, guardian, report[1]);
    }
    error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        setpgid(pid, pid); /* whoever of us is first */
        ssize_t length;
        do {
            length = read(report[0], &error, sizeof(error));
        } while (length < 0 && errno == EINTR);
        if (length > 0) {
            waitpid(pid, NULL, 0);
        }
    }
    close(report[0]);
    return error == 0 ? pid : -error;
}
