// A ShedLock client that carries out requests, line by line: those of tests/support/peer.hpp.
//
//     java ShedLockPeer JDBC_URL USER
//
// It uses the database's time. Kind: mutex. The second number of lock and try is lockAtMostFor in ms, else a minute;
// extend makes it that many ms from now. ShedLock itself does not wait: lock asks every 10 ms.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

public final class ShedLockPeer {
    private static final long MINUTE = 60_000;

    private final LockProvider provider;
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private final Map<String, SimpleLock> held = new ConcurrentHashMap<>();

    private ShedLockPeer(LockProvider provider) {
        this.provider = provider;
    }

    public static void main(String[] args) throws Exception {
        JdbcTemplate database = new JdbcTemplate(new DriverManagerDataSource(args[0], args[1], ""));
        ShedLockPeer peer = new ShedLockPeer(new JdbcTemplateLockProvider(
                JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(database).usingDbTime().build()));
        reply("0", "ok shedlock");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            peer.threads
                    .computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
                    .execute(() -> reply(words[0], peer.answer(words)));
        }
        Runtime.getRuntime().halt(0); // the test has ended: held locks stay until their time is over, as after a crash
    }

    private static synchronized void reply(String id, String answer) {
        System.out.println(id + " " + answer);
        System.out.flush();
    }

    private String answer(String[] words) {
        try {
            Object value = run(words[2], words[4], Arrays.copyOfRange(words, 5, words.length));
            return value == null ? "ok" : "ok " + value;
        } catch (Throwable e) {
            return "failed " + e.getClass().getSimpleName() + ": " + String.valueOf(e.getMessage()).replace('\n', ' ');
        }
    }

    private Optional<SimpleLock> attempt(String name, long atMost) {
        return provider.lock(new LockConfiguration(Instant.now(), name, Duration.ofMillis(atMost), Duration.ZERO));
    }

    private SimpleLock acquire(String name, long atMost) throws InterruptedException {
        for (;;) {
            Optional<SimpleLock> lock = attempt(name, atMost);
            if (lock.isPresent()) return lock.get();
            Thread.sleep(10);
        }
    }

    private Object run(String verb, String name, String[] args) throws Exception {
        long atMost = args.length > 1 ? Long.parseLong(args[1]) : MINUTE;
        switch (verb) {
            case "lock":
                held.put(name, acquire(name, atMost));
                return true;
            case "try":
                Optional<SimpleLock> lock = attempt(name, atMost);
                lock.ifPresent(one -> held.put(name, one));
                return lock.isPresent();
            case "extend":
                Optional<SimpleLock> longer =
                        held.get(name).extend(Duration.ofMillis(Long.parseLong(args[0])), Duration.ZERO);
                longer.ifPresent(one -> held.put(name, one));
                return longer.isPresent();
            case "unlock":
                held.remove(name).unlock();
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
                long n = 0;
                for (; System.currentTimeMillis() < until; n++) {
                    SimpleLock lock = acquire(name, MINUTE);
                    long seen = Long.parseLong(Files.readString(file, StandardCharsets.UTF_8).trim());
                    Files.writeString(file, Long.toString(seen + 1), StandardCharsets.UTF_8);
                    lock.unlock();
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
