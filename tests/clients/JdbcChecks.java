import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

/** pgJDBC through the same checks as the other clients; each prints its name when it holds. */
public class JdbcChecks {
    interface Check { void run(Connection c) throws Exception; }

    static void hold(boolean fact) {
        if (!fact) throw new AssertionError();
    }

    static String state(Connection c, String sql) {
        try (Statement s = c.createStatement()) {
            s.executeQuery(sql);
            return "";
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }

    static int count(ResultSet rows) throws SQLException {
        int n = 0;
        while (rows.next()) n++;
        return n;
    }

    static long below(PreparedStatement s, int bound) throws SQLException {
        s.setInt(1, bound);
        try (ResultSet rows = s.executeQuery()) {
            hold(rows.next());
            return rows.getLong(1);
        }
    }

    static final String BELOW = "SELECT count(*) FROM student WHERE uid < ?";

    static void allTypes(ResultSet r) throws SQLException {
        hold(r.next());
        hold(r.getBoolean("truth") && r.getShort("small") == 7 && r.getInt("whole") == -70000);
        hold(r.getLong("big") == 9007199254740993L);
        hold(r.getBigDecimal("exact").equals(new BigDecimal("12.50")));
        hold(r.getFloat("single") == 0.5f && r.getDouble("double") == 0.1);
        hold(r.getString("word").equals("hé") && r.getString("short").equals("abc"));
        hold(r.getString("padded").equals("ab  "));
        hold(r.getDate("day").toString().equals("2024-02-29"));
        hold(r.getObject("moment", java.time.LocalDateTime.class).toString().equals("2024-02-29T01:02:03.500"));
        hold(r.getTimestamp("instant").toInstant().toString().equals("2024-02-29T01:02:03Z"));
        hold(r.getObject("span").equals(new org.postgresql.util.PGInterval("1 day 02:00:00")));
        hold(r.getObject("id").equals(new UUID(0, 1)) && r.getObject("nothing") == null);
    }

    static Map<String, Check> checks(String[] types, String majors, String[] counts) {
        Map<String, Check> all = new LinkedHashMap<>();
        all.put("connect", c -> hold(c.getMetaData().getUserName().equals("ann")));
        all.put("parameters", c -> {
            Object[] values = {
                true, (short) 7, -70000, 9007199254740993L, new BigDecimal("12.50"), 0.5f, 0.1, "hé", "abc",
                "ab  ", java.time.LocalDate.of(2024, 2, 29),
                java.time.LocalDateTime.of(2024, 2, 29, 1, 2, 3, 500_000_000),
                java.time.OffsetDateTime.parse("2024-02-29T01:02:03Z"),
                new org.postgresql.util.PGInterval("1 day 02:00:00"), new UUID(0, 1), null, 10, "CS"
            };
            hold(values.length == counts.length);
            for (int i = 0; i < values.length; i++) {
                try (PreparedStatement s = c.prepareStatement(counts[i])) {
                    // From the fifth on the values are sent as binary, where the driver can.
                    for (int use = 1; use <= 6; use++) {
                        s.setObject(1, values[i]);
                        try (ResultSet rows = s.executeQuery()) {
                            if (!rows.next() || rows.getLong(1) <= 500) throw new AssertionError(counts[i]);
                        }
                    }
                }
            }
        });
        all.put("results", c -> {
            for (String sql : types) {
                try (PreparedStatement s = c.prepareStatement(sql)) {
                    // From the fifth on they come as binary, where the driver can.
                    for (int use = 1; use <= 6; use++) {
                        try (ResultSet r = s.executeQuery()) {
                            allTypes(r);
                        }
                    }
                }
            }
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(majors)) {
                hold(count(r) == 8);
            }
        });
        all.put("error", c -> {
            hold(state(c, "SELECT count(nosuch) FROM student").equals("42703"));
            hold(state(c, "SELECT 1").isEmpty());
        });
        all.put("prepared", c -> {
            // The fifth use makes it a named statement, with binary results.
            try (PreparedStatement s = c.prepareStatement(BELOW)) {
                for (int i = 1; i <= 8; i++) below(s, 10 * i);
            }
        });
        all.put("introspection", c -> {
            DatabaseMetaData m = c.getMetaData();
            hold(count(m.getTables(null, "public", "%", new String[] {"TABLE"})) == 5);
            hold(count(m.getColumns(null, "public", "enrollment", "%")) == 5);
            hold(count(m.getPrimaryKeys(null, "public", "student")) == 1);
            hold(count(m.getImportedKeys(null, "public", "enrollment")) == 2);
            hold(count(m.getExportedKeys(null, "public", "student")) == 2);
            hold(count(m.getIndexInfo(null, "public", "student", false, true)) == 1);
            hold(count(m.getSchemas()) >= 3 && count(m.getCatalogs()) >= 1);
            hold(count(m.getTypeInfo()) > 10 && count(m.getFunctions(null, null, "abs")) > 0);
            hold(count(m.getTablePrivileges(null, "public", "student")) > 0);
            m.getCrossReference(null, "public", "student", null, "public", "enrollment").close();
        });
        all.put("cancel", c -> {
            Timer asking = new Timer(true);
            try (Statement s = c.createStatement()) {
                asking.schedule(new TimerTask() {
                    public void run() {
                        try { s.cancel(); } catch (SQLException e) { throw new IllegalStateException(e); }
                    }
                }, 300, 300);
                s.executeQuery("SELECT pg_sleep(30)");
                hold(false);
            } catch (SQLException e) {
                hold(e.getSQLState().equals("57014"));
            } finally {
                asking.cancel();
            }
            try (Statement s = c.createStatement()) {
                s.setQueryTimeout(1);
                // A request that comes before its statement stops nothing.
                for (int i = 0; i < 10; i++) s.executeQuery("SELECT pg_sleep(3)");
                hold(false);
            } catch (SQLException e) {
                hold(e.getSQLState().equals("57014"));
            }
        });
        all.put("thousand", c -> {
            try (PreparedStatement s = c.prepareStatement("SELECT ?::int")) {
                for (int i = 0; i < 1000; i++) hold(below(s, i) == i);
            }
        });
        all.put("cursor", c -> {
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.setFetchSize(3);
                hold(count(s.executeQuery(majors)) == 8);
                hold(count(s.executeQuery("SELECT generate_series(1, 100)")) == 100);
            }
            c.commit();
        });
        all.put("transaction", c -> {
            c.setAutoCommit(false);
            c.setReadOnly(true);
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            hold(c.getTransactionIsolation() == Connection.TRANSACTION_SERIALIZABLE);
            Savepoint saved = c.setSavepoint();
            hold(state(c, "SELECT 1 / 0").equals("22012"));
            hold(state(c, "SELECT 1").equals("25P02"));
            c.rollback(saved);
            hold(state(c, "SELECT 1").isEmpty());
            c.rollback();
            hold(c.isValid(5));
        });
        return all;
    }

    public static void main(String[] args) throws Exception {
        for (Map.Entry<String, Check> check : checks(new String[] {args[1], args[2]}, args[3], Arrays.copyOfRange(args, 4, args.length)).entrySet()) {
            try (Connection c = DriverManager.getConnection(args[0])) {
                check.getValue().run(c);
                System.out.println(check.getKey());
            } catch (Throwable e) {
                System.err.println(check.getKey());
                e.printStackTrace();
            }
        }
    }
}
