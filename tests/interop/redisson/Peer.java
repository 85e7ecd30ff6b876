// A Redisson client that carries out requests, line by line: those of tests/support/peer.hpp.
//
//     java Peer ADDRESS WATCHDOG_MS [small]
//
// "small" takes few threads and connections, where Redisson's defaults take many.
//
// The owner of a Redisson lock is a thread, so each thread of the requests is a thread of its own here.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.SingleServerConfig;

public final class Peer {
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;

    private final RedissonClient redisson;
    private final Elsewhere elsewhere;
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    // An RLock remembers its last lease, so keep it between requests, as an application would.
    private final Map<String, Object> objects = new ConcurrentHashMap<>();

    private Peer(RedissonClient redisson, Elsewhere elsewhere) {
        this.redisson = redisson;
        this.elsewhere = elsewhere;
    }

    private static Config settings(String[] args) {
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(args[1]));
        if (args.length > 2) {
            config.setThreads(4);
            config.setNettyThreads(2);
        }
        return config;
    }

    public static void main(String[] args) throws Exception {
        Config config = settings(args);
        SingleServerConfig server = config.useSingleServer().setAddress(args[0]);
        if (args.length > 2) server.setConnectionMinimumIdleSize(1).setSubscriptionConnectionMinimumIdleSize(1);
        RedissonClient redisson = Redisson.create(config);
        Peer peer = new Peer(redisson, new Elsewhere(() -> settings(args)));
        reply("0", "ok " + redisson.getId());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            peer.threads
                    .computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
                    .execute(() -> reply(words[0], peer.answer(words)));
        }
        Runtime.getRuntime().halt(0); // the test has ended: held locks expire, as after a crash
    }

    private static synchronized void reply(String id, String answer) {
        System.out.println(id + " " + answer);
        System.out.flush();
    }

    private String answer(String[] words) {
        try {
            Object value = run(words[2], words[3], words[4], Arrays.copyOfRange(words, 5, words.length));
            return value == null ? "ok" : "ok " + value;
        } catch (Throwable e) {
            return "failed " + e.getClass().getSimpleName() + ": " + String.valueOf(e.getMessage()).replace('\n', ' ');
        }
    }

    private Object run(String verb, String kind, String name, String[] args) throws Exception {
        if (verb.equals("open")) {
            elsewhere.open(kind, name.split(","));
            return null;
        }
        switch (kind) {
            case "semaphore": return semaphore(verb, named(kind, name, redisson::getSemaphore), args);
            case "permits": return permits(verb, named(kind, name, redisson::getPermitExpirableSemaphore), args);
            case "latch": return latch(verb, named(kind, name, redisson::getCountDownLatch), args);
            case "list": return list(verb, name, args);
            case "soak": return new Soak(redisson, name, args).run();
            default: return lock(verb, kind, name, args);
        }
    }

    @SuppressWarnings("unchecked")
    private <T> T named(String kind, String name, java.util.function.Function<String, T> make) {
        return (T) objects.computeIfAbsent(kind + " " + name, key -> make.apply(name));
    }

    // Notes that tests read, in the order in which they were made.
    private Object list(String verb, String name, String[] args) {
        if (!verb.equals("note")) throw new IllegalArgumentException("no verb " + verb);
        redisson.getList(name, StringCodec.INSTANCE).add(args[0]);
        return null;
    }

    static RLock lockOf(RedissonClient redisson, String kind, String name) {
        switch (kind) {
            case "recursive": return redisson.getLock(name);
            case "spin": return redisson.getSpinLock(name);
            case "fair": return redisson.getFairLock(name);
            case "fenced": return redisson.getFencedLock(name);
            case "read": return redisson.getReadWriteLock(name).readLock();
            case "write": return redisson.getReadWriteLock(name).writeLock();
            default: throw new IllegalArgumentException("no kind " + kind);
        }
    }

    private static long number(String[] args, int i) {
        return i < args.length ? Long.parseLong(args[i]) : 0;
    }

    // A lease of 0 is none: then the watchdog renews.
    private Object lock(String verb, String kind, String name, String[] args) throws Exception {
        switch (verb) {
            case "pairs": return Bench.pairs(redisson, kind, name, (int) number(args, 0), number(args, 1));
            case "turns": return Bench.turns(redisson, kind, name, (int) number(args, 0), number(args, 1));
            case "hold":
                for (long i = 0; i < number(args, 0); ++i) lockOf(redisson, kind, name + ":" + i).lock();
                return null;
            case "drop":
                for (long i = 0; i < number(args, 0); ++i) lockOf(redisson, kind, name + ":" + i).unlock();
                return null;
            default: return oneLock(verb, kind, name, args);
        }
    }

    private Object oneLock(String verb, String kind, String name, String[] args) throws Exception {
        boolean here = !elsewhere.has(kind);
        RLock lock = named(kind, name, n -> here ? lockOf(redisson, kind, n) : elsewhere.lock(kind, n));
        switch (verb) {
            case "lock":
                if (number(args, 0) > 0) lock.lock(number(args, 0), MS);
                else lock.lock();
                return null;
            case "try":
                if (number(args, 1) > 0) return lock.tryLock(number(args, 0), number(args, 1), MS);
                return number(args, 0) > 0 ? lock.tryLock(number(args, 0), MS) : lock.tryLock();
            case "try_async": return lock.tryLockAsync(number(args, 0), number(args, 1), MS).get();
            case "unlock":
                lock.unlock();
                return null;
            case "force": return lock.forceUnlock();
            case "locked": return lock.isLocked();
            case "held": return lock.isHeldByCurrentThread();
            case "holds": return lock.getHoldCount();
            case "owner":
                if (!here) return elsewhere.owner(kind, (int) number(args, 0));
                return redisson.getId() + ":" + Thread.currentThread().getId();
            case "lock_fence": return ((RFencedLock) lock).lockAndGetToken();
            case "try_fence":
                return ((RFencedLock) lock).tryLockAndGetToken(number(args, 0), number(args, 1), MS);
            case "note_fences":
                for (long i = number(args, 0); i > 0; --i) {
                    long fence = ((RFencedLock) lock).lockAndGetToken();
                    list("note", name + ":fences", new String[] {String.valueOf(fence)});
                    lock.unlock();
                }
                return null;
            case "fence": return ((RFencedLock) lock).getToken();
            default: throw new IllegalArgumentException("no verb " + verb);
        }
    }

    private Object semaphore(String verb, RSemaphore semaphore, String[] args) throws Exception {
        int n = (int) number(args, 0);
        switch (verb) {
            case "set": return semaphore.trySetPermits(n);
            case "acquire":
                semaphore.acquire(n);
                return null;
            case "try": return semaphore.tryAcquire(n, number(args, 1), MS);
            case "release":
                semaphore.release(n);
                return null;
            case "add":
                semaphore.addPermits(n);
                return null;
            case "drain": return semaphore.drainPermits();
            case "available": return semaphore.availablePermits();
            case "delete": return semaphore.delete();
            default: throw new IllegalArgumentException("no verb " + verb);
        }
    }

    private Object permits(String verb, RPermitExpirableSemaphore semaphore, String[] args) throws Exception {
        switch (verb) {
            case "set": return semaphore.trySetPermits((int) number(args, 0));
            case "try": return semaphore.tryAcquire(number(args, 0), number(args, 1) > 0 ? number(args, 1) : -1, MS);
            case "release":
                semaphore.release(args[0]);
                return null;
            case "try_release": return semaphore.tryRelease(args[0]);
            case "update": return semaphore.updateLeaseTime(args[0], number(args, 1), MS);
            case "add":
                semaphore.addPermits((int) number(args, 0));
                return null;
            case "available": return semaphore.availablePermits();
            case "delete": return semaphore.delete();
            default: throw new IllegalArgumentException("no verb " + verb);
        }
    }

    private Object latch(String verb, RCountDownLatch latch, String[] args) throws Exception {
        switch (verb) {
            case "set": return latch.trySetCount(number(args, 0));
            case "down":
                latch.countDown();
                return null;
            case "count": return latch.getCount();
            case "await": return latch.await(number(args, 0), MS);
            case "delete": return latch.delete();
            default: throw new IllegalArgumentException("no verb " + verb);
        }
    }
}
