/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the four-letter words of a simulated server (four_letter_words.h). tcp_server.c
 * recognises them by the first bytes of a connection. */
#include "four_letter_words.h"

#include <string.h>

#include "sim_internal.h"
#include "tcp_server.h"

bool four_letter_word(const unsigned char *bytes)
{
    for (size_t i = 0; i < FOUR_LETTERS; i++) {
        if (bytes[i] < 'a' || bytes[i] > 'z') {
            return false;
        }
    }
    return true;
}

static size_t ephemerals(const struct sim *sim)
{
    size_t count = 0;

    for (const struct sim__node *node = sim->server.tree.nodes; node != NULL;
         node = node->hh.next) {
        count += node->stat.ephemeral_owner != 0;
    }
    return count;
}

static const char *mode_of(const struct sim *sim, size_t number)
{
    return sim->server.member_count == 1    ? "standalone"
           : sim_leader(sim) == (int)number ? "leader"
                                            : "follower";
}

void four_letter_answer(const struct tcp_server *server, size_t number,
                        const unsigned char *word, FILE *answer)
{
    const struct sim *sim = server->sim;

    if (memcmp(word, "ruok", FOUR_LETTERS) == 0) {
        (void)fputs("imok", answer);
    } else if (memcmp(word, "srvr", FOUR_LETTERS) == 0) {
        (void)fprintf(answer,
                      "uvzk-sim-server\nZxid: 0x%llx\nMode: %s\nNode count: %zu\n",
                      (unsigned long long)sim_zxid(sim), mode_of(sim, number),
                      sim->server.tree.count);
    } else if (memcmp(word, "wchs", FOUR_LETTERS) == 0) {
        (void)fprintf(answer, "Total watches:%zu\n", sim_watch_count(sim));
    } else if (memcmp(word, "mntr", FOUR_LETTERS) == 0) {
        (void)fprintf(answer,
                      "zk_server_state\t%s\nzk_znode_count\t%zu\nzk_watch_count\t%zu\n"
                      "zk_ephemerals_count\t%zu\nzk_global_sessions\t%zu\n",
                      mode_of(sim, number), sim->server.tree.count, sim_watch_count(sim),
                      ephemerals(sim), sim_session_count(sim));
    }
}
