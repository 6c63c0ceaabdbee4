/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_process.h"

#include "directory/queue.h"
#include "world.h"

void process_await_line(struct process *process, size_t from, const char *text,
                        uint64_t ms)
{
    if (!world_await_line(process->world, from, process->name, text, ms)) {
        world_fail(process->world, "%s: no line \"%s\"", process->name, text);
    }
}

uint64_t process_watermarks(const struct process *process)
{
    const struct uvzk__session *session = process->client.impl;
    const struct uvzk__queue *queue =
        session == NULL ? NULL : uvzk__catalogue_first(&session->directories->catalogue);
    uint64_t count = 0;

    for (; queue != NULL;
         queue = uvzk__catalogue_next(&session->directories->catalogue, queue)) {
        count += uvzk__watermark_watches(queue);
    }
    return count;
}

void process_no_fault(struct process *process)
{
    (void)process;
}

void process_lose_request(struct process *process)
{
    sim_lose_request(process->port);
}

void process_lose_reply(struct process *process)
{
    sim_lose_reply(process->port);
}

void process_reply_enomem(struct process *process)
{
    sim_reply_enomem(process->port);
}

void process_reset(struct process *process)
{
    sim_disconnect(process->port, SIM_RESET, process->world->outage_ms);
}

void process_silence(struct process *process)
{
    sim_disconnect(process->port, SIM_SILENT, process->world->outage_ms);
}

void process_lose_servers(struct process *process)
{
    sim_restart(process->world->sim, process->world->outage_ms);
}

void process_lose_leader(struct process *process)
{
    sim_follower_cut(process->port, process->world->outage_ms);
}
