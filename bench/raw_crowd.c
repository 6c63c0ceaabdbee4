#include "raw_crowd.h"

enum { END_SECONDS = 60 };

void raw_crowd_left(struct raw_crowd *crowd, int rc)
{
    if (rc != ZOK && crowd->run->error == ZOK) {
        crowd->run->error = rc;
    }
    if (--crowd->running == 0) {
        sem_post(&crowd->ended);
    }
}

static void on_ready(int rc, const char *path, const void *data)
{
    struct raw_crowd *crowd = ((const struct raw_crowd *)data)->self;

    (void)path;
    crowd->running = crowd->members;
    for (size_t member = 0; member < crowd->members; member++) {
        if (rc == ZOK) {
            crowd->begin(crowd, member);
        } else {
            raw_crowd_left(crowd, rc);
        }
    }
}

static int measure(struct raw_crowd *crowd)
{
    struct raw_tasks *run = crowd->run;
    int rc = zoo_async(crowd->session.zh, "/", on_ready, crowd);

    if (rc != ZOK) {
        return rc;
    }
    raw_sleep_ms(run->shape.warm_ms);
    window_begin(&run->window);
    do {
        raw_sleep_ms(run->shape.window_ms);
    } while (run->cycles == 0 && run->error == ZOK);
    window_end(&run->window);
    run->active_ns = run->window.length_ns;
    crowd->ending = true;
    return raw_wait(&crowd->ended, END_SECONDS) ? run->error : ZOPERATIONTIMEOUT;
}

int raw_crowd_run(struct raw_crowd *crowd)
{
    crowd->self = crowd;
    sem_init(&crowd->ended, 0, 0);
    int rc = raw_session_open(&crowd->session, crowd->run->shape.hosts);
    if (rc == ZOK) {
        rc = raw_directories_make(&crowd->session, crowd->run->shape.paths);
    }
    if (rc == ZOK) {
        rc = measure(crowd);
        raw_directories_remove(&crowd->session, crowd->run->shape.paths);
    }
    raw_session_close(&crowd->session);
    sem_destroy(&crowd->ended);
    return rc;
}
