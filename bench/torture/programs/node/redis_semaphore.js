/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
// redis_semaphore.js SERVERS NAME TIMEOUT_MS [semaphore]: the package redis-semaphore: Mutex on one server, RedlockMutex on several;
// or Semaphore, of two, on one server.
//
// https://github.com/swarthy/redis-semaphore#mutex, "Example with lost lock handling": isAcquired is asked while it works, onLockLost
// tells. The time-out of the lock is given; all else is as it comes: refreshed after 0.8 of it, acquired within 10 s, by an attempt every
// 10 ms. An acquire that has failed after these is made again. There is no token.

const { Redis } = require("ioredis");
const { Mutex, RedlockMutex, Semaphore } = require("redis-semaphore");

const { criticalSection, say, serve } = require("./body.js");

const LEASES = 2;
const [servers, name, timeoutMs, kind] = process.argv.slice(2);
const clients = servers.split(",").map((server) => {
    const [host, port] = server.split(":");
    return new Redis({ host, port: Number(port) });
});
for (const client of clients) {
    client.on("error", () => {}); // it connects again
}
process.on("unhandledRejection", (why) => console.error(why.message)); // of a refresh that has failed

function lock() {
    const options = { lockTimeout: Number(timeoutMs), onLockLost: (why) => say("lost", why.name) };
    if (kind === "semaphore") {
        return new Semaphore(clients[0], name, LEASES, options);
    }
    return clients.length === 1 ? new Mutex(clients[0], name, options) : new RedlockMutex(clients, name, options);
}

serve(async () => {
    const mutex = lock();
    await mutex.acquire();
    try {
        await criticalSection(() => mutex.isAcquired);
    } finally {
        await mutex.release();
    }
}, () => Promise.all(clients.map((client) => client.quit())));
