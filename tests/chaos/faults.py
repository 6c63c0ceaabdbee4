# SPDX-License-Identifier: Apache-2.0
"""The faults, chosen by the seed. Each fault begins, lasts for a while, and is undone before the
next begins. The ensemble keeps its quorum, or loses it for a moment.

KINDS has a function for each kind. It returns a text that says to which part of the world the
fault was done."""

import lookups
from orphans import parent
from peers import intervention
from zookeeper import ALL, DELETE_PERM, NODEEXISTS, NONODE, READ, Connection, Error

# How exact a clock step must be: the process may be late between its two reads.
STEP_TOLERANCE_MS = 1000


def lasting(world, least_ms, most_ms):
    """Waits for a random time, or until the run stops."""
    world.stopping.wait(world.random.randint(least_ms, most_ms) / 1000)


def any_server(world):
    return world.random.choice(world.ensemble.servers)


def any_voter(world):
    return world.random.choice([s for s in world.ensemble.servers if not s.observes])


def any_client(world):
    return world.random.choice(world.clients)


# ------------------------------------------------------------------------------- servers


def kill(world):
    server = any_server(world)
    server.kill()
    lasting(world, 20, 3000)
    world.ensemble.start(server)
    return "server %d" % server.number


def kill_leader(world):
    leader = world.ensemble.leader()
    if leader is None:
        return "nobody leads"
    leader.kill()
    lasting(world, 20, 3000)
    world.ensemble.start(leader)
    return "server %d" % leader.number


def stop(world):
    server = any_server(world)
    server.pause(True)
    lasting(world, 100, 6000)
    server.pause(False)
    return "server %d" % server.number


def restart_in_turn(world):
    for server in world.ensemble.servers:
        server.kill()
        world.ensemble.start(server)
        if not world.ensemble.await_all():
            return "server %d does not come back" % server.number
    return "all"


def cut_server(world):
    """Cuts a server off from the other servers. Its clients still reach it."""
    server = any_server(world)
    said, heard = world.random.choice([(True, False), (False, True), (True, True)])
    world.ensemble.hold(server, said, heard)
    lasting(world, 100, 6000)
    world.ensemble.hold(server, False, False)
    return "server %d%s%s" % (server.number, " mute" * said, " deaf" * heard)


def depose(world):
    """Cuts the leader off from the other servers, and resets and refuses their connections to it,
    so that they elect a new leader. The old leader may go on as leader for a while."""
    leader = world.ensemble.leader()
    if leader is None:
        return "nobody leads"
    world.ensemble.hold(leader, True, True)
    for other in world.ensemble.servers:
        if other is not leader:
            world.wires.ask("cut", "q%d-%d" % (other.number, leader.number))
            world.wires.ask("refuse", "q%d-%d" % (other.number, leader.number), 1)
    lasting(world, 500, 5000)
    for other in world.ensemble.servers:
        if other is not leader:
            world.wires.ask("refuse", "q%d-%d" % (other.number, leader.number), 0)
    world.ensemble.hold(leader, False, False)
    return "server %d" % leader.number


# ------------------------------------------------------------------------------- clients


def cut_client(world):
    """Cuts a client off from all servers, for less or more than its session timeout."""
    client = any_client(world)
    to, back = world.random.choice([(True, False), (False, True), (True, True)])
    world.hold_client(client, to, back)
    lasting(world, 100, 3 * world.timeout_ms)
    world.hold_client(client, False, False)
    return "%s%s%s" % (client.name, " mute" * to, " deaf" * back)


def reset_client(world):
    client = any_client(world)
    for wire in world.each_wire(client):
        world.wires.ask("cut", wire)
    return client.name


def stop_client(world):
    client = any_client(world)
    client.pause(True)
    lasting(world, 100, 2 * world.timeout_ms)
    client.pause(False)
    return client.name


def kill_client(world):
    """Kills a client of uvzk with SIGKILL, and starts it again at once. Its persistent znodes,
    which belong to no session, are then deleted as an operator would do, when its last request
    must have arrived."""
    client = world.random.choice(world.ours())
    client.kill()
    world.revive(client)
    for lock in world.locks:
        if lock.kind == "persistent":
            clear(world, lock.path)
    return client.name


def clear(world, directory):
    names = by_operator(world, lambda eyes: eyes.children(directory)) or ()
    for path in [directory + "/" + name for name in names]:
        world.note_intervention(intervention(path=path))
        by_operator(world, lambda eyes, path=path: eyes.delete(path))


def delay_client(world):
    """Delays each piece of data in both directions, possibly beyond a timeout."""
    client = any_client(world)
    ms = world.random.choice([20, 200, 1000])
    for wire in world.each_wire(client):
        world.wires.ask("delay", wire, ms)
    lasting(world, 500, 5000)
    for wire in world.each_wire(client):
        world.wires.ask("delay", wire, 0)
    return "%s by %d ms" % (client.name, ms)


def dribble_client(world):
    client = any_client(world)
    for wire in world.each_wire(client):
        world.wires.ask("dribble", wire, world.random.choice([1, 7, 50]))
    lasting(world, 500, 4000)
    for wire in world.each_wire(client):
        world.wires.ask("dribble", wire, 0)
    return client.name


def lag(world):
    """Delays what the other servers send to a server, so that it follows but lags."""
    server = any_voter(world)
    ms = world.random.choice([30, 150, 400])
    for wire in world.ensemble.each_wire(server):
        world.wires.ask("delay", wire, ms)
    lasting(world, 1000, 5000)
    for wire in world.ensemble.each_wire(server):
        world.wires.ask("delay", wire, 0)
    return "server %d by %d ms" % (server.number, ms)


# ------------------------------------------------------------------------ what operators do


def end_session(world):
    """Ends a session of a client of uvzk with its id and password, as an operator might. Its
    znodes are deleted by that."""
    client = world.random.choice(world.ours())
    session = next((s.id for s in client.sessions.values() if s.id in world.wires.passwords), 0)
    if not session:
        return "nobody"
    world.note_intervention(intervention(session=session))
    try:
        server = any_server(world)
        Connection(server.address, session, world.wires.passwords[session]).end_session()
    except OSError as failure:
        return "%s, whose session was not to be had: %s" % (client.name, failure)
    return client.name


def delete_znode(world):
    """Deletes the znode of any contender, whatever its position."""
    for server in world.random.sample(world.ensemble.servers, len(world.ensemble.servers)):
        tree = world.eyes_of_operator.tree(server) or {}
        standing = [path for path in sorted(tree) if parent(path) in world.directories]
        if standing:
            path = world.random.choice(standing)
            world.note_intervention(intervention(path=path))
            try:
                world.eyes_of_operator.at(server).delete(path)
            except (OSError, Error) as failure:
                return "%s: %s" % (path, failure)
            return path
    return "nobody's"


def waits_for(name, other):
    """Whether a contender with the first name waits for one with the other name."""
    if not (name[-10:].isdigit() and other[-10:].isdigit()):
        return False
    return other[-10:] < name[-10:] and not ("__READ__" in name and "__READ__" in other)


def delete_waiters(world):
    """Deletes znodes of waiters again and again, one or all of a directory. Each is deleted only
    while a znode exists that it waits for. So it is no holder's: no hold is excepted."""
    count = 0
    for _ in range(world.random.randint(5, 40)):
        directory = world.random.choice(sorted(world.directories))
        lock = world.directories[directory]
        if not directory.endswith("/leases") and (
                lock.permits == 1 or lock.kind == "rwlock" or directory.endswith("/locks")):
            count += by_operator(
                world, lambda eyes, directory=directory: strike(world, eyes, directory)) or 0
        lasting(world, 0, 150)
    return "%d waiters" % count


def strike(world, eyes, directory):
    names = eyes.children(directory)
    pairs = [(other, name) for name in names for other in names if waits_for(name, other)]
    waiters = sorted({name for _, name in pairs})
    if waiters and world.random.randint(0, 2) > 0:
        waiters = [world.random.choice(waiters)]
    count = 0
    for waiter in waiters:
        before = world.random.choice([other for other, name in pairs if name == waiter])
        count += eyes.delete_behind(directory + "/" + before, directory + "/" + waiter)
    return count


def remake_value(world):
    """Deletes a shared value's znode and creates it again. Its versions begin again, and its zxids
    go on."""
    paths = [lock.path for lock in world.locks if lock.kind == "value"]
    if not paths:
        return "nobody's"
    path = world.random.choice(paths)
    by_operator(world, lambda eyes: eyes.delete(path))
    lasting(world, 0, 500)
    by_operator(world, lambda eyes: eyes.create(path, b"again"))
    return path


def by_operator(world, act):
    """Does something at a server that answers. If it fails it is repeated at the next server,
    which may find it done. Returns None if it was done already, or could not be done."""
    for server in world.ensemble.servers:
        try:
            return act(world.eyes_of_operator.at(server))
        except Error as error:
            if error.code in (NONODE, NODEEXISTS):
                return None
            world.eyes_of_operator.lose(server)  # for example, its session has expired
        except OSError:
            world.eyes_of_operator.lose(server)
    return None


def forbid_deletes(world):
    """Removes DELETE from the directories' ACLs for a moment."""
    changed = change_perms(world, ALL & ~DELETE_PERM)
    lasting(world, 100, 2000)
    change_perms(world, ALL)
    return "%d directories" % changed


def forbid_reads(world):
    """Removes READ from the directories' ACLs for a moment: no client can list them, and watches
    are used up without an event."""
    changed = change_perms(world, ALL & ~READ)
    lasting(world, 100, 2000)
    change_perms(world, ALL)
    return "%d directories" % changed


def change_perms(world, perms):
    return sum(by_operator(world, lambda eyes, path=path: eyes.set_perms(path, perms) or True)
               is not None for path in world.directories)


def reap(world):
    """Lets all clients rest for a while, so that the server removes the empty container znodes.
    Later the clients create them again."""
    world.resting = True
    for client in world.clients:
        client.rest()
    lasting(world, 500, 3000)
    for client in world.clients:
        client.say("go")
    world.resting = False
    return "all"


def renegotiate(world):
    """Restarts one server after the other with another maximum of the session timeout."""
    most = world.random.choice([world.timeout_ms // 2, world.timeout_ms, 60000])
    for server in world.ensemble.servers:
        server.options["maxSessionTimeout"] = most
        server.kill()
        world.ensemble.start(server)
        if not world.ensemble.await_all():
            break
    return "to at most %d ms" % most


# ------------------------------------------------------------------ programs that are late


def late_loop(world):
    client = world.random.choice(world.ours())
    ms = world.random.randint(100, 2 * world.timeout_ms)
    client.say("late %d" % ms)
    lasting(world, ms, ms)
    return client.name


def busy_pool(world):
    client = world.random.choice(world.ours())
    client.say("busy 8 %d" % world.random.randint(100, world.timeout_ms))
    for wire in world.each_wire(client):
        world.wires.ask("cut", wire)
    lasting(world, 100, world.timeout_ms)
    return client.name


def step_clock(world):
    """Sets the wall clock of a client of uvzk to another time and back; other clocks are not
    changed. The client reports the step that libuv sees. If that is another one, the fault has no
    effect, and the run ends with an error."""
    client = world.random.choice(world.ours())
    ahead = world.random.choice([-1, 1]) * world.random.randint(100, 7200_000)
    for ms in (ahead, 0):
        client.wall_ms = None
        client.say("wall %d" % ms)
        if not client.expect_value("wall_ms", 2 * world.timeout_ms / 1000):
            return "%s, which does not answer" % client.name
        if abs(client.wall_ms - ms) > STEP_TOLERANCE_MS:
            raise RuntimeError("%s sees a step of %d ms as %d" % (client.name, ms, client.wall_ms))
        lasting(world, 0, world.timeout_ms)
    return "%s by %d ms" % (client.name, ahead)


KINDS = {
    "kill": kill,
    "kill_leader": kill_leader,
    "stop": stop,
    "restart_in_turn": restart_in_turn,
    "cut_server": cut_server,
    "depose": depose,
    "cut_client": cut_client,
    "reset_client": reset_client,
    "stop_client": stop_client,
    "kill_client": kill_client,
    "delay_client": delay_client,
    "dribble_client": dribble_client,
    "change_names": lambda world: lookups.change_names(world, lasting),
    "lag": lag,
    "end_session": end_session,
    "delete_znode": delete_znode,
    "delete_waiters": delete_waiters,
    "remake_value": remake_value,
    "forbid_deletes": forbid_deletes,
    "forbid_reads": forbid_reads,
    "reap": reap,
    "renegotiate": renegotiate,
    "late_loop": late_loop,
    "busy_pool": busy_pool,
    "step_clock": step_clock,
}

# While a client's requests arrive and their replies do not, its session and its znodes stay alive.
# So no other client can be granted what this client holds or is next for. The same is true for a
# client whose loop is late, because the C client's threads go on.
MAY_BLOCK = ("cut_client", "delay_client", "dribble_client", "late_loop")
