// A Curator client that carries out requests, line by line: those of tests/support/peer.hpp.
//
//     java CuratorPeer HOST:PORT[,HOST:PORT...] SESSION_MS
//
// Kinds: mutex (InterProcessMutex), read and write (InterProcessReadWriteLock), one (InterProcessSemaphoreMutex), two
// (InterProcessSemaphoreV2 with 2 permits) and counted (the same, and the number of permits is a SharedCount). The owner of
// a lock is a thread, so each thread of the requests is a thread of its own here. revoke asks the holder of a mutex to
// release it; total sets the number of permits of a counted semaphore, and nodes names those that are held. handoffs is in
// Handoffs.java.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorPeer {
    private final CuratorFramework curator;
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private final Map<String, InterProcessLock> locks = new ConcurrentHashMap<>();

    private final Handoffs handoffs;

    private CuratorPeer(CuratorFramework curator, String hosts, int sessionMs) {
        this.curator = curator;
        this.handoffs = new Handoffs(hosts, sessionMs);
    }

    public static void main(String[] args) throws Exception {
        int sessionMs = Integer.parseInt(args[1]);
        CuratorPeer peer = new CuratorPeer(connect(args[0], sessionMs), args[0], sessionMs);
        reply("0", "ok curator");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            peer.threads
                    .computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
                    .execute(() -> reply(words[0], peer.answer(words)));
        }
        Runtime.getRuntime().halt(0); // the test has ended: held locks end with the session, as after a crash
    }

    // A session of its own.
    static CuratorFramework connect(String hosts, int sessionMs) throws InterruptedException {
        CuratorFramework made =
                CuratorFrameworkFactory.newClient(hosts, sessionMs, 15_000, new ExponentialBackoffRetry(100, 10));
        made.start();
        if (!made.blockUntilConnected(60, TimeUnit.SECONDS)) System.exit(1);
        return made;
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

    static String pathOf(String name) {
        return "/locks/" + name.replace("/", "%2f");
    }

    // Permits of a semaphore as a lock: release gives the last one back.
    private static final class Permits implements InterProcessLock {
        private final InterProcessSemaphoreV2 semaphore;
        private final Deque<Lease> held = new ArrayDeque<>();

        Permits(InterProcessSemaphoreV2 semaphore) {
            this.semaphore = semaphore;
        }

        @Override
        public void acquire() throws Exception {
            keep(semaphore.acquire());
        }

        @Override
        public boolean acquire(long time, TimeUnit unit) throws Exception {
            Lease one = semaphore.acquire(time, unit);
            if (one != null) keep(one);
            return one != null;
        }

        private synchronized void keep(Lease one) {
            held.push(one);
        }

        @Override
        public synchronized void release() {
            semaphore.returnLease(held.pop());
        }

        @Override
        public synchronized boolean isAcquiredInThisProcess() {
            return !held.isEmpty();
        }
    }

    private final Map<String, SharedCount> counts = new ConcurrentHashMap<>();

    private SharedCount count(String name) {
        return counts.computeIfAbsent(name, key -> {
            try {
                SharedCount made = new SharedCount(curator, pathOf(name) + "/count", 2);
                made.start();
                return made;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private InterProcessLock make(String kind, String name) {
        switch (kind) {
            case "one": return new InterProcessSemaphoreMutex(curator, pathOf(name));
            case "two": return new Permits(new InterProcessSemaphoreV2(curator, pathOf(name), 2));
            case "counted": return new Permits(new InterProcessSemaphoreV2(curator, pathOf(name), count(name)));
            case "mutex": return new InterProcessMutex(curator, pathOf(name));
            case "read": return new InterProcessReadWriteLock(curator, pathOf(name)).readLock();
            case "write": return new InterProcessReadWriteLock(curator, pathOf(name)).writeLock();
            default: throw new IllegalArgumentException("no kind " + kind);
        }
    }

    private Object run(String verb, String kind, String name, String[] args) throws Exception {
        InterProcessLock lock = locks.computeIfAbsent(kind + " " + name, key -> make(kind, name));
        switch (verb) {
            case "lock":
                lock.acquire();
                return true;
            case "try": return lock.acquire(args.length > 0 ? Long.parseLong(args[0]) : 0, TimeUnit.MILLISECONDS);
            case "unlock":
                lock.release();
                return null;
            case "revoke":
                Collection<String> nodes = ((InterProcessMutex) lock).getParticipantNodes();
                if (!nodes.isEmpty()) Revoker.attemptRevoke(curator, nodes.iterator().next());
                return null;
            case "total":
                count(name).setCount(Integer.parseInt(args[0]));
                return null;
            case "nodes": return String.join(",", curator.getChildren().forPath(pathOf(name) + "/leases"));
            case "turns": return turns(kind, name, Integer.parseInt(args[0]), Long.parseLong(args[1]));
            case "crowd": return crowd(kind, name, Integer.parseInt(args[0]), Long.parseLong(args[1]));
            case "handoffs": return handoffs.count(kind, name, Integer.parseInt(args[0]), Long.parseLong(args[1]));
            default: throw new IllegalArgumentException("no verb " + verb);
        }
    }

    // Threads lock and unlock as fast as they can, until the clock shows `until` ms.
    private long turns(String kind, String name, int count, long until) throws Exception {
        Path file = Paths.get(name);
        ExecutorService crowd = Executors.newFixedThreadPool(count);
        List<Future<Long>> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(crowd.submit(() -> {
                InterProcessLock lock = make(kind, name);
                long n = 0;
                for (; System.currentTimeMillis() < until; n++) {
                    lock.acquire();
                    long seen = Long.parseLong(new String(Files.readAllBytes(file), StandardCharsets.UTF_8));
                    Files.write(file, Long.toString(seen + 1).getBytes(StandardCharsets.UTF_8));
                    lock.release();
                }
                return n;
            }));
        }
        long sum = 0;
        for (Future<Long> one : all) sum += one.get();
        crowd.shutdown();
        return sum;
    }

    // The same with a permit: each holder has a file in the directory of that name, and counts all of them. The answer is
    // the number of turns, and the most holders that were seen.
    private String crowd(String kind, String name, int count, long until) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(count);
        List<Future<long[]>> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Path mine = Paths.get(name, "java" + i);
            all.add(threads.submit(() -> {
                InterProcessLock lock = make(kind, name);
                long[] seen = {0, 0};
                for (; System.currentTimeMillis() < until; seen[0]++) {
                    lock.acquire();
                    Files.createFile(mine);
                    seen[1] = Math.max(seen[1], Paths.get(name).toFile().list().length);
                    Files.delete(mine);
                    lock.release();
                }
                return seen;
            }));
        }
        long[] sum = {0, 0};
        for (Future<long[]> one : all) {
            sum[0] += one.get()[0];
            sum[1] = Math.max(sum[1], one.get()[1]);
        }
        threads.shutdown();
        return sum[0] + "/" + sum[1];
    }
}
