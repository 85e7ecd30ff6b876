// Sessions that take turns on one lock, or on the two permits of a semaphore: a measurement.

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

final class Handoffs {
    private final String hosts;
    private final int sessionMs;
    // They stay open from one measurement to the next.
    private final List<CuratorFramework> sessions = new ArrayList<>();

    Handoffs(String hosts, int sessionMs) {
        this.hosts = hosts;
        this.sessionMs = sessionMs;
    }

    // The holder of each permit, and its last one. Throws if more sessions hold one than there are permits.
    private static final class Permits {
        private static final int NOBODY = -1;
        private final int[] holder;
        private final int[] last;
        private long changes;

        Permits(int permits) {
            holder = new int[permits];
            last = new int[permits];
            Arrays.fill(holder, NOBODY);
            Arrays.fill(last, NOBODY);
        }

        // A session that takes its own permit again has not handed it off.
        synchronized int enter(int me) {
            int free = NOBODY;
            for (int i = 0; i < holder.length; i++) {
                if (holder[i] == NOBODY && (free == NOBODY || last[i] == me)) free = i;
            }
            if (free == NOBODY) throw new IllegalStateException("too many holders");
            holder[free] = me;
            if (last[free] != me) changes++;
            last[free] = me;
            return free;
        }

        synchronized void leave(int permit) {
            holder[permit] = NOBODY;
        }
    }

    private interface Turn {
        void take() throws Exception;
    }

    // Each session has a thread that locks and unlocks until the clock shows `until` ms. The answer: acquisitions, changes of
    // owner, the acquisitions of the session that was served least, and of that which was served most.
    String count(String kind, String name, int n, long until) throws Exception {
        while (sessions.size() < n) sessions.add(CuratorPeer.connect(hosts, sessionMs));
        Permits permits = new Permits(kind.equals("two") ? 2 : 1);
        ExecutorService threads = Executors.newFixedThreadPool(n);
        List<Future<Long>> all = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            Turn turn = turn(kind, name, sessions.get(i), i, permits);
            all.add(threads.submit(() -> {
                long turns = 0;
                for (; System.currentTimeMillis() < until; turns++) turn.take();
                return turns;
            }));
        }
        long sum = 0;
        long least = Long.MAX_VALUE;
        long most = 0;
        for (Future<Long> one : all) {
            long turns = one.get();
            sum += turns;
            least = Math.min(least, turns);
            most = Math.max(most, turns);
        }
        threads.shutdown();
        return sum + " " + permits.changes + " " + least + " " + most;
    }

    private static Turn turn(String kind, String name, CuratorFramework session, int me, Permits permits) {
        if (kind.equals("two")) {
            InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(session, CuratorPeer.pathOf(name), 2);
            return () -> {
                Lease held = semaphore.acquire();
                permits.leave(permits.enter(me));
                semaphore.returnLease(held);
            };
        }
        InterProcessMutex lock = new InterProcessMutex(session, CuratorPeer.pathOf(name));
        return () -> {
            lock.acquire();
            permits.leave(permits.enter(me));
            lock.release();
        };
    }
}
