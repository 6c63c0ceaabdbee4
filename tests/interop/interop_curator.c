/* The library and Apache Curator's InterProcessMutex on the same paths: they
 * exclude each other, queue in one line, see each other and write alike.
 * Arguments: the java program and the class path of CuratorPeer. */
#include "live.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "journal.h"
#include "node_name.h"
#include "peer.h"
#include "scratch.h"

#define SESSION_MS "10000"
#define HANDOVERS 1000
#define PAIRS 5

static char *java, *class_path;
static struct live live;
static struct peer curator;
static uvzk_mutex_t mutex;
static struct attempt ours;

/* Both sides of a test: our client with a mutex on the path, and Curator. */
static void begin(const char *path)
{
    char hosts[32], session[] = SESSION_MS, class_path_option[] = "-cp",
                    heap[] = "-Xmx128m", tiered[] = "-XX:TieredStopAtLevel=1",
                    main_class[] = "CuratorPeer";
    char *arguments[] = {java,       heap,       tiered, class_path_option,
                         class_path, main_class, hosts,  session,
                         NULL};
    live_open(&live);
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, path), 0);
    snprintf(hosts, sizeof(hosts), "%s", server_hosts(live_server));
    assert_int_equal(peer_start(live.loop, &curator, arguments), 0);
    assert_non_null(peer_expect(&curator, "ready"));
}

static void end(const char *path)
{
    assert_null(peer_heard(&curator, "error"));
    assert_true(live_wait_children(&live, path, 0));
    assert_true(peer_wait(&curator)); /* and with it the watches it leaves */
    assert_int_equal(curator.exit_status, 0);
    peer_close(&curator);
    live_end(&live);
}

/* ------------------------------------------------------------------ exclusion */

static void test_curator_waits_for_us(void **state)
{
    const char *path = "/interop/first";
    (void)state;
    begin(path);
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &ours));
    peer_say(&curator, "try t %s 200", path);
    assert_non_null(peer_expect(&curator, "timeout t"));
    peer_say(&curator, "acquire j %s", path);
    assert_true(live_wait_children(&live, path, 2));
    assert_null(peer_heard(&curator, "granted j"));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    assert_non_null(peer_expect(&curator, "granted j"));
    peer_say(&curator, "release j %s", path);
    assert_non_null(peer_expect(&curator, "released j"));
    end(path);
}

static void test_we_wait_for_curator(void **state)
{
    const char *path = "/interop/second";
    (void)state;
    begin(path);
    peer_say(&curator, "acquire j %s", path);
    assert_non_null(peer_expect(&curator, "granted j"));
    assert_int_equal(attempt_start_within(&ours, &mutex, UVZK_TRY_ONCE), 0);
    assert_true(attempt_wait_told(live.loop, &ours));
    assert_int_equal(ours.status, UV_ETIMEDOUT);
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &ours));
    assert_int_equal(ours.ahead, 1);
    assert_int_equal(ours.acquired, 0);
    peer_say(&curator, "release j %s", path);
    assert_non_null(peer_expect(&curator, "released j"));
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    end(path);
}

/* ---------------------------------------------------------------------- order */

struct passer {
    uvzk_acquire_t request;
    char name[16];
};

static int journal, passed;

static void passer_released(uvzk_acquire_t *hold, int status)
{
    (void)hold;
    assert_int_equal(status, 0);
    passed++;
}

static void passer_acquired(uvzk_acquire_t *hold, int status)
{
    struct passer *passer = hold->data;
    assert_int_equal(status, 0);
    assert_true(journal_enter(journal, passer->name, uvzk_token(hold)));
    assert_true(journal_leave(journal, passer->name, uvzk_token(hold)));
    assert_int_equal(uvzk_release(hold, passer_released), 0);
}

static void passer_lost(uvzk_acquire_t *hold, int reason)
{
    (void)hold;
    fail_msg("lost: %s", uvzk_strerror(reason));
}

static void passer_start(struct passer *passer, const char *name)
{
    memset(passer, 0, sizeof(*passer));
    passer->request.data = passer;
    snprintf(passer->name, sizeof(passer->name), "%s", name);
    assert_int_equal(
        uvzk_lock_acquire(&mutex, &passer->request, NULL, passer_acquired, passer_lost),
        0);
}

/* The names in the order of their entries, joined by spaces. */
static void read_entries(const char *path, char *out, size_t size)
{
    char line[128], who[64];
    size_t length = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    out[0] = '\0';
    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "E %63s", who) == 1 && length < size) {
            length += (size_t)snprintf(out + length, size - length, "%s ", who);
        }
    }
    fclose(file);
}

/* A stranger holds the lock until the line stands: c0 j0 c1 j1 ... */
static void test_one_line_for_both(void **state)
{
    static struct passer passers[PAIRS];
    const char *path = "/fifo";
    char stranger[256], file[160], name[16], entries[256];
    struct scratch scratch;
    (void)state;
    assert_true(scratch_make(&scratch));
    snprintf(file, sizeof(file), "%s/journal", scratch.path);
    journal = journal_open(file);
    passed = 0;
    begin(path);
    assert_int_equal(raw_create(live.raw, path), ZOK);
    assert_int_equal(raw_contend(live.raw, path, stranger, sizeof(stranger)), ZOK);
    for (int i = 0; i < PAIRS; i++) {
        snprintf(name, sizeof(name), "c%d", i);
        passer_start(&passers[i], name);
        assert_true(live_wait_children(&live, path, 2 * i + 2));
        peer_say(&curator, "pass j%d %s %s", i, path, file);
        assert_true(live_wait_children(&live, path, 2 * i + 3));
    }
    assert_int_equal(raw_delete(live.raw, stranger), ZOK);
    for (int i = 0; i < PAIRS; i++) {
        snprintf(name, sizeof(name), "passed j%d", i);
        assert_non_null(peer_expect(&curator, name));
    }
    assert_true(run_until_count(live.loop, &passed, PAIRS));
    read_entries(file, entries, sizeof(entries));
    assert_string_equal(entries, "c0 j0 c1 j1 c2 j2 c3 j3 c4 j4 ");
    close(journal);
    scratch_remove(&scratch);
    end(path);
}

/* Ours comes again at once, until the journal shows enough hand-overs. */
struct cycler {
    uvzk_acquire_t request;
    const char *file;
    int grants;
    bool enough, idle;
    struct journal_verdict verdict;
};

static void cycler_start(struct cycler *cycler);

static void cycler_released(uvzk_acquire_t *hold, int status)
{
    struct cycler *cycler = hold->data;
    assert_int_equal(status, 0);
    if (cycler->grants % 50 == 0) {
        assert_true(journal_judge(cycler->file, &cycler->verdict));
        cycler->enough = cycler->verdict.handovers >= HANDOVERS;
    }
    if (cycler->enough) {
        cycler->idle = true;
    } else {
        cycler_start(cycler);
    }
}

static void cycler_acquired(uvzk_acquire_t *hold, int status)
{
    struct cycler *cycler = hold->data;
    assert_int_equal(status, 0);
    cycler->grants++;
    assert_true(journal_enter(journal, "c", uvzk_token(hold)));
    assert_true(journal_leave(journal, "c", uvzk_token(hold)));
    assert_int_equal(uvzk_release(hold, cycler_released), 0);
}

static void cycler_start(struct cycler *cycler)
{
    cycler->request.data = cycler;
    assert_int_equal(
        uvzk_lock_acquire(&mutex, &cycler->request, NULL, cycler_acquired, passer_lost),
        0);
}

static void test_hands_over_a_thousand_times(void **state)
{
    static struct cycler cycler;
    const char *path = "/interop/cycle";
    struct scratch scratch;
    char file[160];
    (void)state;
    assert_true(scratch_make(&scratch));
    snprintf(file, sizeof(file), "%s/journal", scratch.path);
    journal = journal_open(file);
    memset(&cycler, 0, sizeof(cycler));
    cycler.file = file;
    begin(path);
    peer_say(&curator, "cycle j %s %s", path, file);
    cycler_start(&cycler);
    assert_true(run_until_set(live.loop, &cycler.idle));
    peer_say(&curator, "stop j");
    assert_non_null(peer_expect(&curator, "stopped j"));
    assert_true(journal_judge(file, &cycler.verdict));
    if (cycler.verdict.complaint[0] != '\0') {
        print_error("%s\n", cycler.verdict.complaint);
    }
    assert_true(cycler.verdict.exclusive);
    assert_true(cycler.verdict.tokens_grow);
    assert_true(cycler.verdict.handovers >= HANDOVERS);
    print_message("%zu hand-overs in %zu grants\n", cycler.verdict.handovers,
                  cycler.verdict.entries);
    close(journal);
    scratch_remove(&scratch);
    end(path);
}

/* ------------------------------------------------------------- names and data */

struct listing {
    uvzk_participants_t request;
    bool told;
    char text[512]; /* in the form of CuratorPeer's answer */
};

static void on_listed(uvzk_participants_t *request, int status, const char *const *paths,
                      size_t count)
{
    struct listing *listing = request->data;
    size_t size = sizeof(listing->text);
    assert_int_equal(status, 0);
    size_t length = (size_t)snprintf(listing->text, size, "participants %zu", count);
    for (size_t i = 0; i < count && length < size; i++) {
        length +=
            (size_t)snprintf(listing->text + length, size - length, " %s", paths[i]);
    }
    listing->told = true;
}

static void test_both_see_the_same_participants(void **state)
{
    static struct listing listing;
    const char *path = "/interop/seen";
    (void)state;
    begin(path);
    memset(&listing, 0, sizeof(listing));
    listing.request.data = &listing;
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &ours));
    peer_say(&curator, "acquire j %s", path);
    assert_true(live_wait_children(&live, path, 2));
    assert_int_equal(uvzk_lock_participants(&mutex, &listing.request, on_listed), 0);
    assert_true(run_until_set(live.loop, &listing.told));
    peer_say(&curator, "participants %s", path);
    const char *theirs = peer_expect(&curator, "participants 2 ");
    assert_non_null(theirs);
    assert_string_equal(listing.text, theirs);
    assert_true(attempt_release_and_wait(live.loop, &ours));
    assert_non_null(peer_expect(&curator, "granted j"));
    peer_say(&curator, "release j %s", path);
    assert_non_null(peer_expect(&curator, "released j"));
    end(path);
}

/* Takes a real name apart with our parser and puts it together with our
 * formatter. */
static void assert_name_survives(const char *name)
{
    struct uvzk__node_name parsed;
    char rebuilt[UVZK__NAME_PREFIX_SIZE + 16];
    uvzk__node_name_parse(&parsed, name, "lock-");
    assert_true(parsed.is_contender);
    assert_true(parsed.has_uuid);
    size_t length = uvzk__node_name_prefix(rebuilt, parsed.uuid, "lock-");
    snprintf(rebuilt + length, sizeof(rebuilt) - length, "%010d", (int)parsed.sequence);
    assert_string_equal(rebuilt, name);
    /* Version 4, variant 1. */
    assert_int_equal(parsed.uuid[6] >> 4, 4);
    assert_int_equal(parsed.uuid[8] >> 6, 2);
}

static void test_names_and_data_are_alike(void **state)
{
    const char *path = "/interop/names";
    struct raw_names names;
    char node[256], data[2][64];
    struct in_addr address;
    struct Stat stats[2];
    (void)state;
    begin(path);
    peer_say(&curator, "acquire j %s", path);
    assert_non_null(peer_expect(&curator, "granted j"));
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &ours));
    assert_int_equal(raw_children(live.raw, path, &names), ZOK);
    assert_int_equal(names.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_name_survives(names.names[i]);
        snprintf(node, sizeof(node), "%s/%s", path, names.names[i]);
        assert_int_equal(raw_get(live.raw, node, data[i], sizeof(data[i])), ZOK);
        assert_int_equal(raw_exists(live.raw, node, &stats[i]), ZOK);
        print_message("%s: %s\n", i == 0 ? "Curator" : "uvzk", data[i]);
        assert_int_equal(inet_pton(AF_INET, data[i], &address), 1);
        assert_int_equal(stats[i].dataLength, strlen(data[i]));
        assert_int_not_equal(stats[i].ephemeralOwner, 0);
    }
    raw_names_free(&names);
    peer_say(&curator, "release j %s", path);
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    end(path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curator_waits_for_us),
        cmocka_unit_test(test_we_wait_for_curator),
        cmocka_unit_test(test_one_line_for_both),
        cmocka_unit_test(test_hands_over_a_thousand_times),
        cmocka_unit_test(test_both_see_the_same_participants),
        cmocka_unit_test(test_names_and_data_are_alike),
    };
    if (argc != 3) {
        fprintf(stderr, "usage: interop_curator JAVA CLASS_PATH\n");
        return 2;
    }
    java = argv[1];
    class_path = argv[2];
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
