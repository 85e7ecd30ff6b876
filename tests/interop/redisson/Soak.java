// Threads that use locks in random ways for a while and count under them, by the rules in tests/interop/soak.hpp, which
// its C++ twin follows too.

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.redisson.api.BatchOptions;
import org.redisson.api.RBatch;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisTimeoutException;
import org.redisson.client.codec.StringCodec;

final class Soak {
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;

    private final RedissonClient redisson;
    private final String[] kinds;
    private final int threads;
    private final long lease;
    private final long end;
    private final AtomicLong entered = new AtomicLong();
    private final AtomicReference<String> complaint = new AtomicReference<>();

    // Kinds separated by commas; arguments: threads, lease in ms, duration in ms.
    Soak(RedissonClient redisson, String kinds, String[] args) {
        this.redisson = redisson;
        this.kinds = kinds.split(",");
        this.threads = Integer.parseInt(args[0]);
        this.lease = Long.parseLong(args[1]);
        this.end = System.nanoTime() + MS.toNanos(Long.parseLong(args[2]));
    }

    String run() throws Exception {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; ++i) {
            Thread thread = new Thread(this::work);
            thread.start();
            all.add(thread);
        }
        for (Thread thread : all) thread.join();
        if (complaint.get() != null) throw new IllegalStateException(complaint.get());
        return String.valueOf(entered.get());
    }

    private void work() {
        while (System.nanoTime() < end && complaint.get() == null) {
            try {
                String kind = kinds[ThreadLocalRandom.current().nextInt(kinds.length)];
                if (kind.equals("shared")) {
                    boolean reads = ThreadLocalRandom.current().nextInt(3) > 0;
                    turn(reads ? "read" : "write", "soak:shared", reads);
                } else {
                    turn(kind, "soak:" + kind, false);
                }
            } catch (RedisTimeoutException e) {
                // A timed tryLock without time left to subscribe throws this instead of returning false.
            } catch (Exception e) {
                complaint.compareAndSet(null, e.toString());
            }
        }
    }

    private void turn(String kind, String name, boolean reads) throws Exception {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        RLock lock = Peer.lockOf(redisson, kind, name);
        int way = random.nextInt(5);
        if (way == 0 && !lock.tryLock()) return;
        if (way == 1 && !lock.tryLock(random.nextInt(1, 300), MS)) return;
        if (way == 2 && !lock.tryLock(random.nextInt(1, 300), lease, MS)) return;
        if (way == 3) lock.lock();
        if (way == 4) lock.lock(lease, MS);
        try {
            boolean twice = random.nextInt(4) == 0;
            if (twice) lock.lock(lease, MS);
            if (reads) read(name);
            else write(name);
            if (twice) lock.unlock();
            entered.incrementAndGet();
        } finally {
            lock.unlock();
        }
    }

    private void write(String name) {
        Object seen = redisson.getBucket(name + ":counter", StringCodec.INSTANCE).get();
        long value = seen == null ? 0 : Long.parseLong((String) seen);
        RBatch both = redisson.createBatch(
                BatchOptions.defaults().executionMode(BatchOptions.ExecutionMode.IN_MEMORY_ATOMIC));
        both.getBucket(name + ":counter", StringCodec.INSTANCE).setAsync(String.valueOf(value + 1));
        both.getAtomicLong(name + ":tally").incrementAndGetAsync();
        both.getAtomicLong(name + ":java").incrementAndGetAsync();
        both.execute();
    }

    private void read(String name) {
        Object before = redisson.getBucket(name + ":counter", StringCodec.INSTANCE).get();
        Object after = redisson.getBucket(name + ":counter", StringCodec.INSTANCE).get();
        if (before == null ? after != null : !before.equals(after))
            complaint.compareAndSet(null, "a writer was inside beside a reader: " + before + " became " + after);
    }
}
