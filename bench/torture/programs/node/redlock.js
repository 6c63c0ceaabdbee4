/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
// redlock.js SERVERS NAME TIMEOUT_MS: the package redlock, on one server or on five.
//
// https://github.com/mike-marcacci/node-redlock#usage: `using` extends the lock by itself, and its signal is aborted when that
// has failed; the routine looks at it between its steps. The duration is given; the settings are those of its page, which are its
// defaults: 10 retries, 200 ms and up to as much again apart, extended when 500 ms are left. An acquire that has failed after these is
// made again. There is no token.

const { Redis } = require("ioredis");
const { default: Redlock } = require("redlock");

const { criticalSection, say, serve } = require("./body.js");

const [servers, name, timeoutMs] = process.argv.slice(2);
const clients = servers.split(",").map((server) => {
    const [host, port] = server.split(":");
    return new Redis({ host, port: Number(port) });
});
for (const client of clients) {
    client.on("error", () => {}); // it connects again
}
const redlock = new Redlock(clients, {
    driftFactor: 0.01,
    retryCount: 10,
    retryDelay: 200,
    retryJitter: 200,
    automaticExtensionThreshold: 500,
});
redlock.on("error", () => {}); // also of each server that has the lock of another process

serve(() => redlock.using([name], Number(timeoutMs), async (signal) => {
    signal.addEventListener("abort", () => say("lost", signal.error?.name ?? "aborted"));
    await criticalSection(() => !signal.aborted);
}), () => redlock.quit());
