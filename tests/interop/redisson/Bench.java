// Threads lock and unlock as fast as they can: the measurement verbs of tests/support/peer.hpp.

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

final class Bench {
    private Bench() {}

    // Each thread has a lock of its own.
    static long pairs(RedissonClient redisson, String kind, String name, int threads, long until) throws Exception {
        List<Callable<Long>> all = new ArrayList<>();
        for (int i = 0; i < threads; ++i) {
            RLock lock = Peer.lockOf(redisson, kind, name + ":" + i);
            all.add(() -> {
                long n = 0;
                for (; System.currentTimeMillis() < until; ++n) {
                    lock.lock();
                    lock.unlock();
                }
                return n;
            });
        }
        return sum(all);
    }

    // All threads share one lock, which guards the file of its name.
    static long turns(RedissonClient redisson, String kind, String name, int threads, long until) throws Exception {
        RLock lock = Peer.lockOf(redisson, kind, name);
        try (FileChannel file =
                FileChannel.open(Path.of(name), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            Callable<Long> one = () -> {
                long n = 0;
                for (; System.currentTimeMillis() < until; ++n) {
                    lock.lock();
                    count(file);
                    lock.unlock();
                }
                return n;
            };
            List<Callable<Long>> all = new ArrayList<>();
            for (int i = 0; i < threads; ++i) all.add(one);
            return sum(all);
        }
    }

    private static void count(FileChannel file) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(32);
        int size = file.read(bytes, 0);
        long seen = Long.parseLong(new String(bytes.array(), 0, size, StandardCharsets.US_ASCII));
        file.write(ByteBuffer.wrap(Long.toString(seen + 1).getBytes(StandardCharsets.US_ASCII)), 0);
    }

    private static long sum(List<Callable<Long>> all) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(all.size());
        try {
            long n = 0;
            for (Future<Long> one : threads.invokeAll(all)) n += one.get();
            return n;
        } finally {
            threads.shutdown();
        }
    }
}
