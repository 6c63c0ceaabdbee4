# SPDX-License-Identifier: Apache-2.0
"""Faults of name lookups, for clients that look up their servers' names. The client's connections
break, and the answers that it gets then are wrong, missing or late. At the end the names are right
again."""

ELSEWHERE = "127.0.2.%d"  # nothing listens there


def move(world, client, lasting):
    """One or all of its servers move to another address, and the names follow later."""
    servers = world.ensemble.servers
    for server in world.random.choice([servers, [world.random.choice(servers)]]):
        world.move(client, server)
    lasting(world, 0, world.timeout_ms)
    return "moved"


def mislead(world, client, lasting):
    """All names point to addresses where nothing listens."""
    for server in world.ensemble.servers:
        world.names.addresses[world.name_of(client.name, server)] = ELSEWHERE % (
            server.number + 1)
    break_off(world, client)
    lasting(world, 100, 2 * world.timeout_ms)
    return "misled"


def forget(world, client, lasting):
    """The names do not exist."""
    for server in world.ensemble.servers:
        world.names.addresses.pop(world.name_of(client.name, server), None)
    break_off(world, client)
    lasting(world, 100, 2 * world.timeout_ms)
    return "unknown"


def say_nothing(world, client, lasting):
    world.names.silent = True
    break_off(world, client)
    lasting(world, 100, 2 * world.timeout_ms)
    world.names.silent = False
    return "unanswered"


def break_off(world, client):
    for wire in world.each_wire(client):
        world.wires.ask("cut", wire)


def change_names(world, lasting):
    clients = [client for client in world.ours() if client.name in world.by_names]
    if not clients:
        return "nobody, as nobody goes by names"
    client = world.random.choice(clients)
    how = world.random.choice([move, mislead, forget, say_nothing])(world, client, lasting)
    world.tell_names(client.name)
    return "%s: %s" % (client.name, how)
