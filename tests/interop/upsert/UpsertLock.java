import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Timestamp;

/**
 * A lock in a table that an upsert takes, and that counts as taken if the driver reports a row: a common fall-back when
 * Redis is gone. Two owners ask for it one after the other; each line of the output is an owner and the number of rows.
 *
 * <p>Arguments: a JDBC URL, and a user.
 */
public final class UpsertLock {
    private static final String UPSERT =
            "INSERT INTO distributed_lock (lock_key, owner, expire_time) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE "
                    + "owner = IF(expire_time < NOW(), VALUES(owner), owner), "
                    + "expire_time = IF(expire_time < NOW(), VALUES(expire_time), expire_time)";

    public static void main(String[] arguments) throws Exception {
        try (Connection database = DriverManager.getConnection(arguments[0], arguments[1], "")) {
            for (String owner : new String[] {"A", "B"}) {
                try (var statement = database.prepareStatement(UPSERT)) {
                    statement.setString(1, "stock");
                    statement.setString(2, owner);
                    statement.setTimestamp(3, new Timestamp(System.currentTimeMillis() + 3_600_000));
                    System.out.println(owner + " " + statement.executeUpdate());
                }
            }
        }
    }

    private UpsertLock() {}
}
