/* SPDX-License-Identifier: Apache-2.0 */
/* Writes docs/machines.md from the machines' own tables. */
#include <stdio.h>

#include "atomic/atomic_long.h"
#include "barrier/barrier_object.h"
#include "barrier/double_barrier.h"
#include "barrier/member.h"
#include "barrier/znode_write.h"
#include "base/machine.h"
#include "claim/acquisition.h"
#include "directory/divergence.h"
#include "directory/freshness.h"
#include "directory/node.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/settle/creates.h"
#include "directory/settle/delete_batch.h"
#include "discovery/search.h"
#include "elect_job.h"
#include "election/election.h"
#include "engine/barrier.h"
#include "engine/connection.h"
#include "engine/invariant.h"
#include "engine/reading.h"
#include "engine/session.h"
#include "engine/watch.h"
#include "future/future.h"
#include "lock_job.h"
#include "locks/multilock.h"
#include "locks/node_watch.h"
#include "locks/semaphore/lease_request.h"
#include "membership/persistent_node.h"
#include "native/native_session.h"
#include "native/sasl.h"
#include "port/dialect.h"
#include "port/loop_port.h"
#include "proof/prover.h"
#include "serve/daemon.h"
#include "serve/served_hold.h"
#include "session/handle.h"
#include "termination.h"
#include "value/shared_value.h"

static const struct {
    const struct uvzk__machine *machine;
    const char *header;
} machines[] = {
    {&uvzk__invariants_machine, "src/engine/invariant.h"},
    {&uvzk__session_machine, "src/engine/session.h"},
    {&uvzk__connection_machine, "src/engine/connection.h"},
    {&uvzk__barrier_machine, "src/engine/barrier.h"},
    {&uvzk__watcher_machine, "src/engine/watch.h"},
    {&uvzk__reading_machine, "src/engine/reading.h"},
    {&uvzk__prover_machine, "src/proof/prover.h"},
    {&uvzk__value_set_machine, "src/value/shared_value.h"},
    {&uvzk__barrier_call_machine, "src/barrier/barrier_object.h"},
    {&uvzk__double_barrier_machine, "src/barrier/double_barrier.h"},
    {&uvzk__barrier_member_machine, "src/barrier/member.h"},
    {&uvzk__znode_write_machine, "src/barrier/znode_write.h"},
    {&uvzk__node_machine, "src/directory/node.h"},
    {&uvzk__contender_machine, "src/directory/contender.h"},
    {&uvzk__queue_machine, "src/directory/queue.h"},
    {&uvzk__listing_machine, "src/directory/freshness.h"},
    {&uvzk__create_batch_machine, "src/directory/settle/creates.h"},
    {&uvzk__delete_batch_machine, "src/directory/settle/delete_batch.h"},
    {&uvzk__divergence_machine, "src/directory/divergence.h"},
    {&uvzk__claim_machine, "src/claim/claim.h"},
    {&uvzk__acquisition_machine, "src/claim/acquisition.h"},
    {&uvzk__lease_request_machine, "src/locks/semaphore/lease_request.h"},
    {&uvzk__member_machine, "src/locks/multilock.h"},
    {&uvzk__atomic_machine, "src/atomic/atomic_long.h"},
    {&uvzk__candidacy_machine, "src/election/election.h"},
    {&uvzk__persistent_node_machine, "src/membership/persistent_node.h"},
    {&uvzk__future_machine, "src/future/future.h"},
    {&uvzk__port_machine, "loop/port/loop_port.h"},
    {&uvzk__feature_machine, "loop/port/dialect.h"},
    {&uvzk__handle_machine, "loop/session/handle.h"},
    {&uvzk__search_machine, "loop/discovery/search.h"},
    {&uvzk__native_session_machine, "loop/native/native_session.h"},
    {&uvzk__sasl_machine, "loop/native/sasl.h"},
    {&lock_job_machine, "command/lock_job.h"},
    {&elect_job_machine, "command/elect_job.h"},
    {&termination_machine, "command/termination.h"},
    {&daemon_machine, "command/serve/daemon.h"},
    {&served_hold_machine, "command/serve/served_hold.h"},
};

static void draw(const struct uvzk__machine *machine, const char *header)
{
    printf("\n## %s\n\n`%s` says what moves it.\n\n```mermaid\nstateDiagram-v2\n",
           machine->name, header);
    printf("    [*] --> %s\n", machine->states[0].name);
    for (size_t from = 0; from < machine->count; from++) {
        for (size_t to = 0; to < machine->count; to++) {
            if (machine->states[from].moves & UVZK__BIT(to)) {
                printf("    %s --> %s\n", machine->states[from].name,
                       machine->states[to].name);
            }
        }
        if (machine->states[from].moves == 0 && machine->states[from].name != NULL) {
            printf("    %s --> [*]\n", machine->states[from].name);
        }
    }
    printf("```\n");
}

int main(void)
{
    printf(
        "# The state machines\n\n"
        "Written by `tests/machines/draw_machines.c` from the tables by which they move\n"
        "(`src/base/machine.h`); a test fails when this page is out of date:\n\n"
        "    build/tests/draw_machines >docs/machines.md\n");
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        draw(machines[i].machine, machines[i].header);
    }
    return 0;
}
