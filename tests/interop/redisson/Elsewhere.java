// Servers beside the one that a peer is started with, which a test opens when it needs them: some that know nothing of
// each other, and a cluster. They are clients of this process, since another Java takes a second to start.

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.ShardedSubscriptionMode;

final class Elsewhere {
    static final String CLUSTER = "cluster.";

    private final Supplier<Config> settings;
    private volatile List<RedissonClient> several = List.of();
    private volatile RedissonClient cluster;

    Elsewhere(Supplier<Config> settings) {
        this.settings = settings;
    }

    // Earlier clients stay open until the process ends: their locks may be held.
    void open(String what, String[] addresses) {
        switch (what) {
            case "several":
                List<RedissonClient> each = new ArrayList<>();
                for (String address : addresses) {
                    Config config = settings.get();
                    config.useSingleServer()
                            .setAddress(address)
                            .setConnectionMinimumIdleSize(1)
                            .setSubscriptionConnectionMinimumIdleSize(1);
                    each.add(Redisson.create(config));
                }
                several = each;
                return;
            case "cluster": // Redisson detects whether its channels are sharded
                openCluster(ShardedSubscriptionMode.AUTO, addresses);
                return;
            case "cluster_off":
                openCluster(ShardedSubscriptionMode.OFF, addresses);
                return;
            default: throw new IllegalArgumentException("nothing to open: " + what);
        }
    }

    private void openCluster(ShardedSubscriptionMode sharded, String[] addresses) {
        Config config = settings.get();
        config.useClusterServers()
                .setShardedSubscriptionMode(sharded)
                .addNodeAddress(addresses)
                .setMasterConnectionMinimumIdleSize(1)
                .setSlaveConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionMinimumIdleSize(1);
        cluster = Redisson.create(config);
    }

    boolean has(String kind) {
        return kind.equals("multi") || kind.equals("red") || kind.startsWith(CLUSTER);
    }

    RLock lock(String kind, String name) {
        if (kind.startsWith(CLUSTER)) return Peer.lockOf(cluster, kind.substring(CLUSTER.length()), name);
        RLock[] members = several.stream().map(server -> server.getLock(name)).toArray(RLock[]::new);
        return kind.equals("red") ? new RedissonRedLock(members) : several.get(0).getMultiLock(members);
    }

    // The owner that the i-th server knows of a lock that this thread holds on all of them.
    String owner(String kind, int i) {
        RedissonClient who = kind.startsWith(CLUSTER) ? cluster : several.get(i);
        return who.getId() + ":" + Thread.currentThread().getId();
    }
}
