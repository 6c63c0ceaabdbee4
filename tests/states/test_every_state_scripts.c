/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts: each recipe's way through all states that it has. */
#include "test_every_state.h"

#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "claim/claim.h"
#include "sim_internal.h"

#define MUTEX "/app/mutexes/m"
#define OTHER "/app/mutexes/other"
#define RWLOCK "/app/rwlocks/rw"
#define SEMAPHORE "/app/semaphores/s"
#define PERMITS "/app/permits"

/* ----------------------------------------------------------------- what is done */

static void start(struct scene *scene, const struct cue *cue)
{
    (void)cue;
    process_start(&scene->process);
}

/* All that was begun before has come to its end. */
static void the_end(struct scene *scene, const struct cue *cue)
{
    (void)scene;
    (void)cue;
}

static void release(struct scene *scene, const struct cue *cue)
{
    if (!part_held(&scene->parts[cue->part])) {
        world_fail(&scene->world, "the script is wrong: %d does not hold", cue->part);
    }
    hold_release(&scene->parts[cue->part].hold);
}

static void give_back(struct scene *scene, const struct cue *cue)
{
    assert_int_equal(uvzk_hold_return_leases(&scene->parts[cue->part].hold.request,
                                             (uint32_t)cue->number),
                     0);
}

static void cancel(struct scene *scene, const struct cue *cue)
{
    hold_cancel(&scene->parts[cue->part].hold);
}

static void foreign_node(struct scene *scene, const struct cue *cue)
{
    scene->foreign_nodes[cue->number] =
        world_foreign_node(&scene->world, cue->path, cue->end);
    assert_true(scene->foreign_nodes[cue->number].text[0] != '\0');
}

static void foreign_node_goes(struct scene *scene, const struct cue *cue)
{
    world_delete(&scene->world, &scene->foreign_nodes[cue->number]);
    scene->foreign_nodes[cue->number].text[0] = '\0';
}

static void befall(struct scene *scene, const struct cue *cue)
{
    cue->trouble(&scene->process);
}

/* The next one takes long, but what the server tells does not. */
static void delay_request(struct scene *scene, const struct cue *cue)
{
    (void)cue;
    sim__client_of(scene->process.port)->link->up.extra_ms = 120;
}

static void throttle(struct scene *scene, const struct cue *cue)
{
    sim_refuse(scene->world.sim, (enum uvzk__rpc_kind)cue->number, UVZK_ETHROTTLED, 1);
}

static void delete_first_child(struct scene *scene, const struct cue *cue)
{
    scene->world.holder_deleted = true;
    world_delete_child(&scene->world, cue->path, 0);
}

static void delete_node(struct scene *scene, const struct cue *cue)
{
    const struct uvzk__acquisition *acquisition = scene_acquisition(scene, cue->part);
    const char *path = uvzk_hold_path(&scene->parts[cue->part].hold.request);

    if (path == NULL) {
        path = uvzk__claim_first_contender(acquisition->claim)->path;
    }
    scene->world.holder_deleted = true;
    assert_int_equal(sim_delete_by_hand(scene->world.sim, path), 0);
}

static void ask_for_it(struct scene *scene, const struct cue *cue)
{
    const struct uvzk__acquisition *acquisition = scene_acquisition(scene, cue->part);

    assert_int_equal(
        sim_set_by_hand(scene->world.sim,
                        uvzk__claim_first_contender(acquisition->claim)->path,
                        "__REVOKE__", 10),
        0);
}

static void set_permits(struct scene *scene, const struct cue *cue)
{
    const char bytes[] = {0, 0, 0, (char)cue->number};

    assert_int_equal(sim_set_by_hand(scene->world.sim, PERMITS, bytes, sizeof(bytes)), 0);
}

#define NO_PART .part = SCENE_NOBODY

/* ------------------------------------------------------------------------ mutex */

static uvzk_lock_t *only_lock(struct lock_set *set)
{
    set->count = 1;
    set->locks[0] = &set->own[0];
    return set->locks[0];
}

static void open_mutex(struct lock_set *set, uvzk_client_t *client)
{
    assert_int_equal(uvzk_mutex_init(client, only_lock(set), MUTEX), 0);
}

#define MUTEX_FOREIGNER .path = MUTEX, .end = "lock-"

/* Part 2 enters again; 4 is searched for; 3 is deleted while it waits, and the hold of
 * 5, which waits until nothing is proved any more. */
static const struct cue mutex_script[] = {
    {0, part_ask, .part = 0, .owner = true},
    {5, start, NO_PART},
    {60, part_ask, .part = 1},
    {65, part_ask, .part = 2, .owner = true},
    {80, foreign_node, .number = 0, MUTEX_FOREIGNER},
    {90, part_ask, .part = 3},
    {95, ask_for_it, .part = 0},
    {100, release, .part = 2},
    {105, release, .part = 0},
    {120, ask_for_it, .part = 3},
    {130, befall, .trouble = process_lose_reply},
    {130, part_ask, .part = 4},
    {230, befall, .trouble = process_lose_request},
    {230, release, .part = 1},
    {330, delete_node, .part = 3},
    {450, foreign_node_goes, .number = 0},
    {470, foreign_node, .number = 1, MUTEX_FOREIGNER},
    {480, part_ask, .part = 5},
    {500, release, .part = 4},
    {510, befall, .trouble = process_lose_reply},
    {510, release, .part = 3},
    {600, befall, .trouble = process_reply_enomem},
    {600, part_ask, .part = 6},
    {12000, foreign_node_goes, .number = 1},
    {12020, delete_node, .part = 5},
    {12040, part_ask, .part = 7, .once = true},
    {12070, foreign_node, .number = 2, MUTEX_FOREIGNER},
    {12080, throttle, .number = UVZK__RPC_CHILDREN},
    {12080, part_ask, .part = 0},
    {12090, part_ask, .part = 1},
    {12680, release, .part = 7},
    {12700, foreign_node_goes, .number = 2},
    {12710, the_end, NO_PART},
};

/* -------------------------------------------------------------- read-write lock */

#define READ_HALF .lock = 0
#define WRITE_HALF .lock = 1
#define FOREIGN_WRITER .path = RWLOCK, .end = "__WRIT__"
#define FOREIGN_READER .path = RWLOCK, .end = "__READ__"

static void open_rwlock(struct lock_set *set, uvzk_client_t *client)
{
    set->count = 2;
    set->locks[0] = &set->rwlock.read;
    set->locks[1] = &set->rwlock.write;
    assert_int_equal(uvzk_rwlock_init(client, &set->rwlock, RWLOCK), 0);
}

/* The readers: 0, which 2 enters again, 3 behind a writer of ours, 4 and 5 behind
 * another's. */
static const struct cue read_script[] = {
    {0, part_ask, .part = 0, READ_HALF, .owner = true},
    {5, start, NO_PART},
    {60, part_ask, .part = 1, WRITE_HALF},
    {65, part_ask, .part = 2, READ_HALF, .owner = true},
    {70, part_ask, .part = 3, READ_HALF},
    {80, foreign_node, .number = 0, FOREIGN_WRITER},
    {90, part_ask, .part = 4, READ_HALF},
    {95, ask_for_it, .part = 4},
    {100, release, .part = 2},
    {105, release, .part = 0},
    {130, befall, .trouble = process_lose_reply},
    {130, part_ask, .part = 5, READ_HALF},
    {230, befall, .trouble = process_lose_request},
    {230, release, .part = 1},
    {330, delete_node, .part = 4},
    {450, foreign_node_goes, .number = 0},
    {640, foreign_node, .number = 1, FOREIGN_WRITER},
    {650, part_ask, .part = 6, READ_HALF},
    {660, befall, .trouble = process_lose_reply},
    {660, release, .part = 3},
    {700, release, .part = 4},
    {700, release, .part = 5},
    {12000, foreign_node_goes, .number = 1},
    {12020, delete_node, .part = 6},
    {12040, part_ask, .part = 7, READ_HALF},
    {12060, release, .part = 7},
    {12080, the_end, NO_PART},
};

/* The writers: 0, which 2 enters again, 3 behind a reader of ours and one of
 * another, 4 behind it, 5 until nothing is proved any more. */
static const struct cue write_script[] = {
    {0, part_ask, .part = 0, WRITE_HALF, .owner = true},
    {5, start, NO_PART},
    {60, part_ask, .part = 1, READ_HALF},
    {65, part_ask, .part = 2, WRITE_HALF, .owner = true},
    {80, foreign_node, .number = 0, FOREIGN_READER},
    {90, part_ask, .part = 3, WRITE_HALF},
    {95, ask_for_it, .part = 3},
    {100, release, .part = 2},
    {105, release, .part = 0},
    {130, befall, .trouble = process_lose_reply},
    {130, part_ask, .part = 4, WRITE_HALF},
    {230, befall, .trouble = process_lose_request},
    {230, release, .part = 1},
    {330, delete_node, .part = 3},
    {450, foreign_node_goes, .number = 0},
    {470, foreign_node, .number = 1, FOREIGN_WRITER},
    {480, part_ask, .part = 5, WRITE_HALF},
    {500, release, .part = 4},
    {510, befall, .trouble = process_lose_reply},
    {510, release, .part = 3},
    {12000, foreign_node_goes, .number = 1},
    {12020, delete_node, .part = 5},
    {12040, part_ask, .part = 7, WRITE_HALF},
    {12060, release, .part = 7},
    {12080, the_end, NO_PART},
};

/* Three times from writing to reading: the writer is released while the reader is being
 * made; the reader's reply is lost; the writer has just been deleted by somebody. */
static const struct cue downgrade_script[] = {
    {0, part_ask, .part = 0, WRITE_HALF, .owner = true},
    {5, start, NO_PART},
    {60, foreign_node, .number = 0, FOREIGN_WRITER},
    {65, part_ask, .part = 5, READ_HALF},
    {70, part_ask, .part = 1, READ_HALF, .owner = true},
    {70, release, .part = 0},
    {90, release, .part = 1},
    {100, foreign_node_goes, .number = 0},
    {120, release, .part = 5},
    {140, part_ask, .part = 2, WRITE_HALF, .owner = true},
    {160, befall, .trouble = process_lose_reply},
    {160, part_ask, .part = 3, READ_HALF, .owner = true},
    {260, release, .part = 2},
    {265, befall, .trouble = process_lose_reply},
    {265, release, .part = 3},
    {360, part_ask, .part = 4, WRITE_HALF, .owner = true},
    {380, delete_node, .part = 4},
    {380, part_ask, .part = 6, READ_HALF, .owner = true},
    {420, release, .part = 6},
    {440, part_ask, .part = 7, WRITE_HALF, .owner = true},
    {460, part_ask, .part = 0, READ_HALF, .owner = true},
    {480, release, .part = 7},
    {490, delete_node, .part = 0},
    {510, the_end, NO_PART},
};

/* ------------------------------------------------------------------- semaphores */

#define LOCKS SEMAPHORE "/locks"
#define LEASES SEMAPHORE "/leases"
#define FOREIGN_TICKET .path = LOCKS, .end = "lock-"
#define FOREIGN_LEASE .path = LEASES, .end = "lease-"

static void open_semaphore_of(struct lock_set *set, uvzk_client_t *client, uint32_t max)
{
    assert_int_equal(uvzk_semaphore_init(client, only_lock(set), SEMAPHORE, max, NULL),
                     0);
}

static void open_semaphore(struct lock_set *set, uvzk_client_t *client)
{
    open_semaphore_of(set, client, 2);
}

/* 2 gets what 0 had; 3 waits behind it and gets what 1 had; 4 waits behind another's
 * ticket, 5 for another's leases; 3 waits again, and prepares behind three tickets of
 * others. */
static const struct cue semaphore_script[] = {
    {0, part_ask, .part = 0},
    {5, start, NO_PART},
    {60, part_ask, .part = 1},
    {70, part_ask, .part = 2},
    {75, part_ask, .part = 3},
    {90, release, .part = 0},
    {95, release, .part = 1},
    {110, foreign_node, .number = 0, FOREIGN_TICKET},
    {120, befall, .trouble = process_lose_reply},
    {120, part_ask, .part = 4},
    {200, foreign_node_goes, .number = 0},
    {210, foreign_node, .number = 1, FOREIGN_LEASE},
    {210, foreign_node, .number = 2, FOREIGN_LEASE},
    {220, befall, .trouble = process_lose_request},
    {220, release, .part = 2},
    {320, release, .part = 4},
    {330, release, .part = 3},
    {350, part_ask, .part = 5},
    {370, part_ask, .part = 6},
    {375, delete_node, .part = 6},
    {400, foreign_node_goes, .number = 1},
    {401, befall, .trouble = process_lose_reply},
    {500, delete_node, .part = 5},
    {12000, foreign_node_goes, .number = 2},
    {12100, part_ask, .part = 7},
    {12104, befall, .trouble = process_lose_reply},
    {12240, befall, .trouble = process_lose_reply},
    {12240, release, .part = 7},
    {12340, part_ask, .part = 0},
    {12344, befall, .trouble = process_lose_reply},
    {12346, delete_first_child, .path = LEASES},
    {12440, part_ask, .part = 1, .once = true},
    {12460, foreign_node, .number = 0, FOREIGN_TICKET},
    {12460, foreign_node, .number = 1, FOREIGN_TICKET},
    {12460, foreign_node, .number = 3, FOREIGN_TICKET},
    {12470, part_ask, .part = 3},
    {12500, foreign_node_goes, .number = 1},
    {12520, foreign_node_goes, .number = 3},
    {12530, foreign_node_goes, .number = 0},
    {12560, the_end, NO_PART},
};

static void open_large_semaphore(struct lock_set *set, uvzk_client_t *client)
{
    open_semaphore_of(set, client, 4);
}

/* Three of four leases at a time, or all: 1 gets what 0 gives back first, and then the
 * rest; 2 waits for another's, and gets the last one while the reply is lost. */
static const struct cue leases_script[] = {
    {0, part_ask, .part = 0, .number = 3},
    {5, start, NO_PART},
    {50, foreign_node, .number = 0, FOREIGN_LEASE},
    {60, part_ask, .part = 1, .number = 3},
    {70, part_ask, .part = 2, .number = 4},
    {75, part_ask, .part = 3, .number = 1},
    {80, give_back, .part = 0, .number = 1},
    {100, release, .part = 0},
    {140, release, .part = 1},
    {160, cancel, .part = 3},
    {180, foreign_node_goes, .number = 0},
    {183, befall, .trouble = process_lose_reply},
    {280, release, .part = 2},
    {290, foreign_node, .number = 1, FOREIGN_LEASE},
    {300, part_ask, .part = 4, .number = 3},
    {304, befall, .trouble = process_lose_request},
    {380, part_ask, .part = 5, .number = 2},
    {390, give_back, .part = 4, .number = 1},
    {395, befall, .trouble = process_lose_reply},
    {395, release, .part = 4},
    {480, release, .part = 5},
    {490, foreign_node_goes, .number = 1},
    {500, part_ask, .part = 6, .number = 3},
    {503, befall, .trouble = process_lose_reply},
    {600, foreign_node, .number = 2, FOREIGN_TICKET},
    {610, part_ask, .part = 7, .number = 3},
    {620, delete_node, .part = 6},
    {640, delete_node, .part = 7},
    {760, foreign_node_goes, .number = 2},
    {764, befall, .trouble = process_lose_reply},
    {1900, the_end, NO_PART},
};

static void open_counted_semaphore(struct lock_set *set, uvzk_client_t *client)
{
    set->has_permits = true;
    assert_int_equal(uvzk_shared_count_init(client, &set->permits, PERMITS, 2, NULL), 0);
    assert_int_equal(
        uvzk_semaphore_init(client, only_lock(set), SEMAPHORE, 0, &set->permits), 0);
}

static const struct cue counted_script[] = {
    {0, part_ask, .part = 0},
    {5, start, NO_PART},
    {60, part_ask, .part = 1, .number = 2},
    {80, set_permits, .number = 3},
    {100, set_permits, .number = 1},
    {110, part_ask, .part = 2},
    {120, release, .part = 0},
    {130, release, .part = 1},
    {150, set_permits, .number = 2},
    {170, release, .part = 2},
    {190, befall, .trouble = process_lose_reply},
    {190, part_ask, .part = 3, .number = 2},
    {290, part_ask, .part = 4},
    {300, foreign_node, .number = 0, FOREIGN_TICKET},
    {310, part_ask, .part = 5},
    {320, befall, .trouble = process_lose_request},
    {320, release, .part = 3},
    {400, release, .part = 4},
    {420, foreign_node_goes, .number = 0},
    {440, release, .part = 5},
    {450, set_permits, .number = 1},
    {460, foreign_node, .number = 1, FOREIGN_LEASE},
    {470, part_ask, .part = 6},
    {480, set_permits, .number = 2},
    {500, delete_node, .part = 6},
    {520, the_end, NO_PART},
};

static void open_semaphore_mutex(struct lock_set *set, uvzk_client_t *client)
{
    assert_int_equal(uvzk_semaphore_mutex_init(client, only_lock(set), SEMAPHORE), 0);
}

static const struct cue semaphore_mutex_script[] = {
    {0, part_ask, .part = 0},
    {5, start, NO_PART},
    {60, part_ask, .part = 1},
    {70, part_ask, .part = 2},
    {80, release, .part = 0},
    {85, befall, .trouble = process_lose_reply},
    {85, release, .part = 1},
    {200, release, .part = 2},
    {210, part_ask, .part = 3},
    {214, befall, .trouble = process_lose_reply},
    {300, foreign_node, .number = 0, FOREIGN_TICKET},
    {310, part_ask, .part = 4},
    {320, release, .part = 3},
    {330, foreign_node, .number = 1, FOREIGN_LEASE},
    {340, foreign_node_goes, .number = 0},
    {360, delete_node, .part = 4},
    {440, foreign_node_goes, .number = 1},
    {450, part_ask, .part = 5},
    {460, release, .part = 4},
    {470, delete_node, .part = 5},
    {2700, foreign_node, .number = 2, FOREIGN_TICKET},
    {2710, part_ask, .part = 6},
    {2730, foreign_node_goes, .number = 2},
    {2733, delay_request, NO_PART},
    {2736, delete_node, .part = 6},
    {2960, the_end, NO_PART},
};

/* Again and again, and alone: 2 has its lease without a ticket, 3 does not know whether it
 * has, and somebody comes before 5. */
static const struct cue again_script[] = {
    {0, part_ask, .part = 0},
    {5, start, NO_PART},
    {70, release, .part = 0},
    {100, part_ask, .part = 1},
    {140, release, .part = 1},
    {170, part_ask, .part = 2},
    {200, release, .part = 2},
    {230, part_ask, .part = 3},
    {234, befall, .trouble = process_lose_reply},
    {400, release, .part = 3},
    {430, part_ask, .part = 4},
    {470, release, .part = 4},
    {500, part_ask, .part = 5},
    {502, foreign_node, .number = 0, FOREIGN_TICKET},
    {560, foreign_node_goes, .number = 0},
    {600, release, .part = 5},
    {640, the_end, NO_PART},
};

/* ------------------------------------------------------------------- multi locks */

#define MULTILOCK .lock = 0
#define OTHER_FOREIGNER .path = OTHER, .end = "lock-"

static void open_at_once(struct lock_set *set, uvzk_client_t *client)
{
    uvzk_lock_t *members[2];

    set->count = 3;
    for (size_t i = 0; i < 3; i++) {
        set->locks[i] = &set->own[i];
    }
    members[0] = set->locks[1];
    members[1] = set->locks[2];
    assert_int_equal(uvzk_mutex_init(client, members[0], MUTEX), 0);
    assert_int_equal(uvzk_mutex_init(client, members[1], OTHER), 0);
    assert_int_equal(uvzk_multilock_init(client, set->locks[0], members, 2, 0, NULL), 0);
}

/* 1 has a member of 2 before it, and another client both of 4's. */
static const struct cue at_once_script[] = {
    {0, part_ask, .part = 0, MULTILOCK, .owner = true},
    {5, start, NO_PART},
    {80, part_ask, .part = 1, .lock = 2},
    {90, part_ask, .part = 2, MULTILOCK},
    {95, part_ask, .part = 3, MULTILOCK, .owner = true},
    {100, foreign_node, .number = 0, MUTEX_FOREIGNER},
    {110, part_ask, .part = 4, MULTILOCK},
    {120, release, .part = 3},
    {125, release, .part = 0},
    {140, befall, .trouble = process_lose_reply},
    {140, part_ask, .part = 5, MULTILOCK},
    {240, release, .part = 1},
    {260, befall, .trouble = process_lose_request},
    {260, release, .part = 2},
    {360, foreign_node_goes, .number = 0},
    {380, foreign_node, .number = 1, OTHER_FOREIGNER},
    {390, part_ask, .part = 6, MULTILOCK},
    {400, delete_node, .part = 4},
    {420, release, .part = 5},
    {12000, foreign_node_goes, .number = 1},
    {12020, befall, .trouble = process_lose_reply},
    {12020, release, .part = 6},
    {12100, the_end, NO_PART},
};

static void open_in_turn(struct lock_set *set, uvzk_client_t *client)
{
    uvzk_lock_t *members[3];

    set->count = 5;
    set->locks[0] = &set->own[0];
    set->locks[1] = members[0] = &set->own[1];
    set->locks[2] = members[1] = &set->own[2];
    set->locks[3] = members[2] = &set->rwlock.write;
    set->locks[4] = &set->rwlock.read;
    assert_int_equal(uvzk_mutex_init(client, members[0], MUTEX), 0);
    assert_int_equal(uvzk_semaphore_init(client, members[1], SEMAPHORE, 1, NULL), 0);
    assert_int_equal(uvzk_rwlock_init(client, &set->rwlock, RWLOCK), 0);
    assert_int_equal(uvzk_multilock_init(client, set->locks[0], members, 3, 0, NULL), 0);
}

/* 1 has the semaphore, 3 reads, another client has the mutex, each before one that
 * wants all. */
static const struct cue in_turn_script[] = {
    {0, part_ask, .part = 7, .lock = 4},
    {5, start, NO_PART},
    {40, part_ask, .part = 0, MULTILOCK, .owner = true},
    {80, release, .part = 7},
    {120, part_ask, .part = 1, .lock = 2},
    {130, part_ask, .part = 2, MULTILOCK},
    {135, part_ask, .part = 5, MULTILOCK, .owner = true},
    {140, part_ask, .part = 3, .lock = 4},
    {150, release, .part = 5},
    {155, befall, .trouble = process_lose_reply},
    {155, release, .part = 0},
    {250, release, .part = 1},
    {260, release, .part = 3},
    {290, foreign_node, .number = 0, MUTEX_FOREIGNER},
    {300, part_ask, .part = 4, MULTILOCK},
    {320, release, .part = 2},
    {350, foreign_node, .number = 1, FOREIGN_LEASE},
    {360, foreign_node_goes, .number = 0},
    {400, foreign_node_goes, .number = 1},
    {440, delete_node, .part = 4},
    {450, befall, .trouble = process_lose_reply},
    {450, part_ask, .part = 6, MULTILOCK},
    {540, foreign_node, .number = 2, MUTEX_FOREIGNER},
    {550, part_ask, .part = 3, MULTILOCK},
    {560, release, .part = 6},
    {12000, foreign_node_goes, .number = 2},
    {12030, the_end, NO_PART},
};

/* ----------------------------------------------------------------- all of them */

#define SCRIPT(lines) .script = (lines), .cues = sizeof(lines) / sizeof((lines)[0])
#define TUNED .tuning = UVZK__TUNE_ALL

/* What is opened, and where its contenders' znodes are. */
#define OF_MUTEX .open = open_mutex, .directories = {MUTEX}, .closable = 1
#define OF_RWLOCK .open = open_rwlock, .directories = {RWLOCK}, .closable = 2, .probe = 1
#define OF_SEMAPHORE(opener) \
    .open = (opener), .directories = {LOCKS, LEASES}, .closable = 1

const struct recipe recipes[] = {
    {"mutex", OF_MUTEX, SCRIPT(mutex_script), .probe_leases = 1, TUNED},
    {"revocable mutex", OF_MUTEX, SCRIPT(mutex_script), .probe_leases = 1, TUNED,
     .revocable = true},
    {"mutex, the plain algorithm", OF_MUTEX, SCRIPT(mutex_script), .probe_leases = 1},
    {"read lock", OF_RWLOCK, SCRIPT(read_script), .probe_leases = 1, TUNED},
    {"write lock", OF_RWLOCK, SCRIPT(write_script), .probe_leases = 1, TUNED},
    {"downgraded read lock", OF_RWLOCK, SCRIPT(downgrade_script), .probe_leases = 1,
     TUNED},
    {"semaphore", OF_SEMAPHORE(open_semaphore), SCRIPT(semaphore_script),
     .probe_leases = 2, TUNED},
    {"semaphore without a mirror", OF_SEMAPHORE(open_semaphore), SCRIPT(semaphore_script),
     .probe_leases = 2, .tuning = UVZK__TUNE_ALL & ~(uint32_t)UVZK__TUNE_MIRROR},
    {"three leases at a time", OF_SEMAPHORE(open_large_semaphore), SCRIPT(leases_script),
     .probe_leases = 4, TUNED},
    {"semaphore with a shared count", OF_SEMAPHORE(open_counted_semaphore),
     SCRIPT(counted_script), .probe_leases = 1, TUNED},
    {"semaphore mutex", OF_SEMAPHORE(open_semaphore_mutex),
     SCRIPT(semaphore_mutex_script), .probe_leases = 1, TUNED},
    {"semaphore mutex again", OF_SEMAPHORE(open_semaphore_mutex), SCRIPT(again_script),
     .probe_leases = 1, TUNED},
    {"multi lock at once", .open = open_at_once, SCRIPT(at_once_script),
     .directories = {MUTEX, OTHER}, .closable = 1, .probe_leases = 1, TUNED},
    {"multi lock in turn", .open = open_in_turn, SCRIPT(in_turn_script),
     .directories = {MUTEX, RWLOCK, LOCKS, LEASES}, .closable = 1, .probe_leases = 1,
     TUNED},
};
const size_t recipe_count = sizeof(recipes) / sizeof(recipes[0]);
