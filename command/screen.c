/* SPDX-License-Identifier: Apache-2.0 */
/* Switches the terminal to the alternative screen and back (screen.h). It is restored at
 * exit and before each signal that stops or ends the process. top.c uses it. */
#include "screen.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define DEFAULT_LINES 24
#define DEFAULT_COLUMNS 80

/* The alternative screen, without a cursor, where long lines do not wrap; and the
 * reverse. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

/* For atexit(), which passes no argument. */
static struct {
    bool entered, has_keys;
    struct termios before;
} terminal;

static void put(const char *text)
{
    fputs(text, stdout);
    fflush(stdout);
}

/* ISIG stays on: Ctrl-C and Ctrl-Z send their signals. */
static void enter(void)
{
    if (terminal.has_keys) {
        struct termios now = terminal.before;
        now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
    }
    put(ENTER);
    terminal.entered = true;
}

static void leave(void)
{
    if (terminal.entered) {
        terminal.entered = false;
        put(LEAVE);
        if (terminal.has_keys) {
            tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal.before);
        }
    }
}

bool screen_is_possible(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDOUT_FILENO) && kind != NULL && kind[0] != '\0' &&
           strcmp(kind, "dumb") != 0;
}

static bool has_key(const char *typed, ssize_t count, char key)
{
    return memchr(typed, key, (size_t)count) != NULL;
}

static void on_keys(uv_poll_t *keys, int status, int events)
{
    struct screen *screen = keys->data;
    char typed[64];

    (void)events;
    ssize_t count = status < 0 ? 0 : read(STDIN_FILENO, typed, sizeof(typed));
    if (count <= 0 || has_key(typed, count, 'q') || has_key(typed, count, '\004')) {
        uv_poll_stop(keys);
        screen->cb(screen, SCREEN_QUIT);
    } else if (has_key(typed, count, '?')) {
        screen->cb(screen, SCREEN_HELP);
    }
}

/* Restores the terminal, and lets the signal have its default effect. */
static void on_signal(uv_signal_t *handle, int number)
{
    struct screen *screen = handle->data;

    if (number == SIGTSTP) {
        leave();
        raise(SIGSTOP); /* until SIGCONT */
        enter();
    } else if (number != SIGWINCH) {
        leave();
        signal(number, SIG_DFL);
        raise(number);
    }
    screen->cb(screen, SCREEN_REDRAW);
}

static int watch_signals(struct screen *screen, uv_loop_t *loop)
{
    static const int numbers[SCREEN_SIGNALS] = {SIGWINCH, SIGTSTP, SIGINT,
                                                SIGTERM,  SIGHUP,  SIGQUIT};
    int status = 0;

    for (size_t i = 0; i < SCREEN_SIGNALS; i++) {
        uv_signal_init(loop, &screen->signals[i]);
        screen->signals[i].data = screen;
        if (status == 0) {
            status = uv_signal_start(&screen->signals[i], on_signal, numbers[i]);
        }
    }
    return status;
}

int screen_open(struct screen *screen, uv_loop_t *loop, screen_cb cb)
{
    static bool registered;

    screen->cb = cb;
    screen->keys.data = screen;
    terminal.has_keys = tcgetattr(STDIN_FILENO, &terminal.before) == 0;
    screen->has_keys =
        terminal.has_keys && uv_poll_init(loop, &screen->keys, STDIN_FILENO) == 0;
    int status = watch_signals(screen, loop);
    screen->open = true;
    if (status == 0 && screen->has_keys) {
        status = uv_poll_start(&screen->keys, UV_READABLE, on_keys);
    }
    if (status < 0) {
        screen_close(screen);
        return status;
    }
    if (!registered) {
        registered = atexit(leave) == 0;
    }
    enter();
    return 0;
}

void screen_close(struct screen *screen)
{
    if (!screen->open) {
        return;
    }
    leave();
    screen->open = false;
    if (screen->has_keys) {
        uv_close((uv_handle_t *)&screen->keys, NULL);
    }
    for (size_t i = 0; i < SCREEN_SIGNALS; i++) {
        uv_close((uv_handle_t *)&screen->signals[i], NULL);
    }
}

size_t screen_lines(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0
               ? size.ws_row
               : DEFAULT_LINES;
}

size_t screen_columns(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : DEFAULT_COLUMNS;
}

void screen_show(const char *text)
{
    size_t left = screen_lines();

    fputs("\033[H", stdout);
    for (const char *end; *text != '\0' && left > 0; text = end + (*end == '\n')) {
        left--;
        end = text + strcspn(text, "\n");
        /* Not after the last line: it would scroll. */
        printf("%.*s\033[0m\033[K%s", (int)(end - text), text,
               left > 0 && *end == '\n' && end[1] != '\0' ? "\n" : "");
    }
    put("\033[J");
}
