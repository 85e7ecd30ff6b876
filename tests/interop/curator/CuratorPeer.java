// A Curator client that carries out requests, line by line: those of tests/support/peer.hpp.
//
//     java CuratorPeer HOST:PORT[,HOST:PORT...] SESSION_MS
//
// Kinds: mutex (InterProcessMutex), read and write (InterProcessReadWriteLock). The owner of a lock is a thread, so each
// thread of the requests is a thread of its own here. revoke asks the holder of a mutex to release it.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
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
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorPeer {
    private final CuratorFramework curator;
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private final Map<String, InterProcessLock> locks = new ConcurrentHashMap<>();

    private CuratorPeer(CuratorFramework curator) {
        this.curator = curator;
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework curator = CuratorFrameworkFactory.newClient(
                args[0], Integer.parseInt(args[1]), 15_000, new ExponentialBackoffRetry(100, 10));
        curator.start();
        if (!curator.blockUntilConnected(60, TimeUnit.SECONDS)) System.exit(1);
        CuratorPeer peer = new CuratorPeer(curator);
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

    private static String pathOf(String name) {
        return "/locks/" + name.replace("/", "%2f");
    }

    private InterProcessLock make(String kind, String name) {
        switch (kind) {
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
            case "turns": return turns(name, Integer.parseInt(args[0]), Long.parseLong(args[1]));
            default: throw new IllegalArgumentException("no verb " + verb);
        }
    }

    // Threads lock and unlock as fast as they can, until the clock shows `until` ms.
    private long turns(String name, int count, long until) throws Exception {
        Path file = Paths.get(name);
        ExecutorService crowd = Executors.newFixedThreadPool(count);
        List<Future<Long>> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(crowd.submit(() -> {
                InterProcessLock lock = make("mutex", name);
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
}
