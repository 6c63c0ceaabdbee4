/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
// The body of the lock programs in JavaScript; body.py says what it says and hears.

const readline = require("node:readline");

const TICK_MS = 20;

const now = () => process.hrtime.bigint(); // CLOCK_MONOTONIC
const say = (word, ...words) => sayAt(now(), word, ...words);
const sayAt = (at, word, ...words) => process.stdout.write([word, at, ...words].join(" ").replaceAll("\n", " ") + "\n");
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** The words of the next line; it ends the program at the end of its input. */
async function heard(atEnd) {
    const { value, done } = await lines.next();
    if (done) {
        await atEnd?.();
        process.exit(0);
    }
    return value.split(" ");
}

function stillHolds(holds) {
    const at = now();
    const held = holds();
    if (held) {
        sayAt(at, "holds");
    }
    return held;
}

async function works(holds, ms, how) {
    const end = now() + BigInt(ms) * 1_000_000n;
    while (now() < end) {
        if (how === "sleep") {
            if (!stillHolds(holds)) {
                return false;
            }
            await sleep(TICK_MS);
        }
    }
    return stillHolds(holds);
}

/** holds() tells whether the lock is held, as far as the library knows. */
async function criticalSection(holds) {
    say("locked", "-");
    say("read", "-");
    const [, version, ms, how] = await heard();
    if (await works(holds, Number(ms), how)) {
        say("write", version, "-");
        await heard();
    } else {
        say("gave_up");
    }
    say("unlocking");
}

/** cycle() acquires, calls criticalSection() and releases; what it throws is a failure. */
async function serve(cycle, close) {
    say("ready");
    for (;;) {
        await heard(close);
        try {
            await cycle();
            say("unlocked");
        } catch (why) {
            say("failed", why.name, why.message);
        }
    }
}

module.exports = { criticalSection, say, serve };
