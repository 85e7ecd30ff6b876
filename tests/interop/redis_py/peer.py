"""redis-py's Lock, line by line: the requests are those of tests/support/peer.hpp.

    peer.py HOST:PORT
"""

import os
import queue
import sys
import threading
import time

import redis

host, port = sys.argv[1].split(":")
server = redis.Redis(host, int(port))
held = {}  # (thread, name) -> lock
default_lease = 30_000
speaking = threading.Lock()


def say(request, answer):
    with speaking:
        print(request, answer, flush=True)


def run(thread, verb, name, wait, lease):
    if verb in ("lock", "try"):
        lock = server.lock(name, timeout=(lease or default_lease) / 1000, thread_local=False)
        if verb == "lock":
            got = lock.acquire(blocking=True)
        elif wait:
            got = lock.acquire(blocking=True, blocking_timeout=wait / 1000)
        else:
            got = lock.acquire(blocking=False)
        if got:
            held[thread, name] = lock
        return "true" if got else "false"
    lock = held[thread, name]
    if verb == "unlock":
        lock.release()
    elif verb == "extend":
        lock.extend(lease / 1000, replace_ttl=True)
    elif verb == "owner":
        return lock.local.token.decode()
    else:
        raise ValueError("no verb " + verb)
    return ""


def measure(verb, name, threads, until):
    """Threads lock and unlock as fast as they can, until the clock shows `until` ms."""
    counts = [0] * threads

    def one(i):
        mine = server.lock(name if verb == "turns" else f"{name}:{i}", timeout=30, thread_local=False)
        while time.time() * 1000 < until:
            mine.acquire()
            if verb == "turns":
                count_in(name)
            mine.release()
            counts[i] += 1

    crowd = [threading.Thread(target=one, args=(i,)) for i in range(threads)]
    for t in crowd:
        t.start()
    for t in crowd:
        t.join()
    return str(sum(counts))


def count_in(path):
    with open(path, "r+b", buffering=0) as file:
        seen = int(file.read(32))
        file.seek(0)
        file.write(b"%d" % (seen + 1))


def work(thread, requests):
    while True:
        request, verb, _, name, *numbers = requests.get()
        numbers = [int(n) for n in numbers]
        if verb in ("pairs", "turns"):
            say(request, "ok " + measure(verb, name, *numbers))
            continue
        wait = numbers.pop(0) if verb == "try" and numbers else 0
        lease = numbers.pop(0) if numbers else 0
        try:
            say(request, ("ok " + run(thread, verb, name, wait, lease)).rstrip())
        except Exception as e:
            say(request, f"failed {type(e).__name__}: {e}")


threads = {}
server.ping()
say("0", "ok redis-py " + redis.__version__)
for line in sys.stdin:
    request, thread, *words = line.split()
    if thread not in threads:
        threads[thread] = queue.Queue()
        threading.Thread(target=work, args=(thread, threads[thread]), daemon=True).start()
    threads[thread].put([request, *words])
os._exit(0)  # the test has ended: held locks expire, as after a crash
