"""What is done to the world, by the seed: each fault begins, lasts for a while, and is over. A
quorum is left, or lost for a moment; one fault at a time.

KINDS has each one's function; it returns, in words, to whom it was done."""



def lasting(world, least_ms, most_ms):
    """For a while, or until the world is to stop."""
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
    """From the other servers; its clients still reach it."""
    server = any_server(world)
    said, heard = world.random.choice([(True, False), (False, True), (True, True)])
    world.ensemble.hold(server, said, heard)
    lasting(world, 100, 6000)
    world.ensemble.hold(server, False, False)
    return "server %d%s%s" % (server.number, " mute" * said, " deaf" * heard)


def depose(world):
    """The leader is cut off, and the others are told so; it is not, and goes on leading alone."""
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
    """From all servers, for longer than its session lives or not."""
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
}

# While a client's requests arrive and their answers do not, its session lives, and so do its
# znodes: nobody else can be granted what it has or is next for.
MAY_BLOCK = ("cut_client",)
