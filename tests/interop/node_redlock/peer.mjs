// node-redlock, line by line: the requests are those of tests/support/peer.hpp.
//
//     node peer.mjs HOST:PORT...

import fs from "node:fs";
import readline from "node:readline";
import Redis from "ioredis";
import Redlock from "redlock";

const servers = process.argv.slice(2).map((address) => {
    const [host, port] = address.split(":");
    return new Redis(Number(port), host);
});
const held = new Map(); // thread and name -> lock
const threads = new Map(); // thread -> end of its last request
const defaultLease = 30_000;
const retryDelay = 200; // the default of node-redlock, like the jitter of 100

const say = (request, answer) => process.stdout.write(`${request} ${answer}\n`);

async function lock(key, name, wait, lease) {
    const retryCount = wait === Infinity ? -1 : Math.ceil(wait / retryDelay);
    try {
        const locks = new Redlock(servers, { retryCount, retryDelay, retryJitter: 100 });
        held.set(key, await locks.lock(name, lease || defaultLease));
        return "true";
    } catch (e) {
        if (e.name === "LockError") return "false";
        throw e;
    }
}

// Tasks lock and unlock as fast as they can, until the clock shows `until` ms.
async function measure(verb, name, [threads, until]) {
    const locks = new Redlock(servers, { retryCount: -1, retryDelay, retryJitter: 100 });
    const one = async (i) => {
        const own = verb === "turns" ? name : `${name}:${i}`;
        let n = 0;
        for (; Date.now() < until; ++n) {
            const mine = await locks.lock(own, defaultLease);
            if (verb === "turns") fs.writeFileSync(name, String(Number(fs.readFileSync(name, "latin1")) + 1));
            await mine.unlock();
        }
        return n;
    };
    const counts = await Promise.all(Array.from({ length: threads }, (_, i) => one(i)));
    return String(counts.reduce((a, b) => a + b));
}

async function run(thread, verb, name, numbers) {
    const key = `${thread} ${name}`;
    switch (verb) {
        case "lock":
            return lock(key, name, Infinity, numbers[0]);
        case "try":
            return lock(key, name, numbers[0] ?? 0, numbers[1]);
        case "pairs":
        case "turns":
            return measure(verb, name, numbers);
        case "unlock":
            await held.get(key).unlock();
            return "";
        case "extend":
            held.set(key, await held.get(key).extend(numbers[0]));
            return "";
        case "owner":
            return held.get(key).value;
        default:
            throw new Error(`no verb ${verb}`);
    }
}

await Promise.all(servers.map((server) => server.ping()));
say("0", "ok node-redlock");
const lines = readline.createInterface({ input: process.stdin });
lines.on("line", (line) => {
    const [request, thread, verb, , name, ...numbers] = line.split(" ");
    const before = threads.get(thread) ?? Promise.resolve();
    const next = before
        .then(() => run(thread, verb, name, numbers.map(Number)))
        .then((answer) => say(request, `ok ${answer}`.trimEnd()))
        .catch((e) => say(request, `failed ${e.name}: ${e.message}`.replaceAll("\n", " ")));
    threads.set(thread, next);
});
lines.on("close", () => process.exit(0)); // the test has ended: held locks expire, as after a crash
