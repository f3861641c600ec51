package dev.retort.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.reflect.Proxy;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;

/** Real drivers' exceptions from real servers. */
class DriversTest {
  private static List<Object> judged(Throwable thrown, Operation operation) {
    Verdict verdict = Retort.judge(Report.of(thrown).withOperation(operation));
    return List.of(verdict.envelope().code(), verdict.envelope().outcome(), verdict.diagnostic().system());
  }

  private static SQLException failure(Statement statement, String sql) {
    return assertThrows(SQLException.class, () -> statement.execute(sql));
  }

  @Test
  void pgjdbc() throws Exception {
    try (Service service = Service.postgres();
        Connection connection =
            DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + service.port() + "/postgres", "retort", "");
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE account (id int PRIMARY KEY)");
      statement.execute("INSERT INTO account VALUES (1)");
      assertEquals(
          List.of("UNIQUE_VIOLATION", "not_committed", "postgresql"),
          judged(failure(statement, "INSERT INTO account VALUES (1)"), Operation.of("write", "execute", "none")));

      connection.setAutoCommit(false);
      failure(statement, "SELECT 1 / 0");
      ConditionException commit = assertThrows(ConditionException.class, () -> Transactions.commit(connection));
      assertEquals(
          List.of("COMMIT_ROLLED_BACK", "not_committed"),
          judged(commit, Operation.of("write", "commit", "committing")).subList(0, 2));
      statement.execute("INSERT INTO account VALUES (4)");
      Transactions.commit(connection);
      statement.execute("SELECT 1");

      try (PreparedStatement batch = connection.prepareStatement("INSERT INTO account VALUES (?)")) {
        for (int id : new int[] {2, 1, 3}) {
          batch.setInt(1, id);
          batch.addBatch();
        }
        BatchUpdateException failed = assertThrows(BatchUpdateException.class, batch::executeBatch);
        Operation operation = Operation.of("write", "execute", "open").withUnit("batch");
        assertEquals(List.of("UNIQUE_VIOLATION", "not_committed", "postgresql"), judged(failed, operation));
      }
      connection.rollback();
      connection.setAutoCommit(true);

      SQLException killed = failure(statement, "SELECT pg_terminate_backend(pg_backend_pid())");
      assertEquals(
          List.of("OUTCOME_UNKNOWN", "unknown", "postgresql"), judged(killed, Operation.of("write", "execute", "none")));
    }
    SQLException refused =
        assertThrows(SQLException.class, () -> DriverManager.getConnection("jdbc:postgresql://127.0.0.1:1/x", "u", "p"));
    assertEquals("not_started", judged(refused, Operation.of("write", "connect", "none")).get(1));
  }

  @Test
  void mariadb() throws Exception {
    try (Service service = Service.mariadb();
        Connection connection =
            DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + service.port() + "/test?user=retort");
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE account (id int PRIMARY KEY) ENGINE=InnoDB");
      statement.execute("INSERT INTO account VALUES (1)");
      Operation operation = Operation.of("write", "execute", "none");
      Report report = Report.of(failure(statement, "INSERT INTO account VALUES (1)")).withOperation(operation);
      Verdict verdict = Retort.judge(report.withSystem("mariadb"));
      assertEquals(
          List.of("UNIQUE_VIOLATION", "not_committed", List.of("1062")),
          List.of(
              verdict.envelope().code(), verdict.envelope().outcome(), verdict.diagnostic().nativeCodes()));
    }
  }

  /** A source of new connections. */
  private static DataSource source(String url, String user) {
    return (DataSource)
        Proxy.newProxyInstance(
            DriversTest.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (proxy, method, arguments) -> DriverManager.getConnection(url, user, ""));
  }

  private static final Report WRITE =
      Report.of(Operation.of("write", null, null)).withPolicy(new Policy(1L, 2L, null, null, null));
  private static final Report ONCE = WRITE.withAttempt(new Attempt(1, 1, null, null, null, null, null, null));

  private static List<Object> ended(Transactions transactions, Transactions.Work<Object> work) {
    RetortException thrown = assertThrows(RetortException.class, () -> transactions.run(ONCE, work));
    return List.of(thrown.code(), thrown.envelope().outcome(), thrown.verdict().diagnostic().phase());
  }

  private static int execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      return statement.executeUpdate(sql);
    }
  }

  private static Object ignoring(Connection connection, String sql) {
    return assertThrows(SQLException.class, () -> execute(connection, sql));
  }

  private static List<Integer> ids(DataSource source) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT id FROM account ORDER BY id")) {
      List<Integer> ids = new ArrayList<>();
      while (rows.next()) {
        ids.add(rows.getInt(1));
      }
      return ids;
    }
  }

  @Test
  void transactionsOnPostgres() throws Exception {
    try (Service service = Service.postgres()) {
      DataSource source = source("jdbc:postgresql://127.0.0.1:" + service.port() + "/postgres", "retort");
      Transactions transactions = new Transactions(source);
      transactions.run(WRITE, connection -> execute(connection, "CREATE TABLE account (id int PRIMARY KEY)"));
      AtomicInteger attempts = new AtomicInteger();
      int rows =
          transactions.run(
              WRITE,
              connection -> {
                int inserted = execute(connection, "INSERT INTO account VALUES (1)");
                // The server has failed the transaction, and would answer COMMIT with ROLLBACK.
                return attempts.incrementAndGet() == 1 ? ignoring(connection, "SELECT 1 / 0").hashCode() : inserted;
              });
      assertEquals(List.of(1, 2), List.of(rows, attempts.get()));
      assertEquals(
          List.of("UNIQUE_VIOLATION", "not_committed", "execute"),
          ended(transactions, connection -> execute(connection, "INSERT INTO account VALUES (1)")));
      assertEquals(
          List.of("COMMIT_ROLLED_BACK", "not_committed", "execute"),
          ended(transactions, connection -> ignoring(connection, "INSERT INTO account VALUES (1)")));
      List<Object> killed =
          ended(
              transactions,
              connection -> {
                execute(connection, "INSERT INTO account VALUES (2)");
                return execute(connection, "DO $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); END $$");
              });
      assertEquals("not_committed", killed.get(1));
      assertThrows(
          RetortException.class,
          () ->
              transactions.run(
                  ONCE,
                  connection -> {
                    connection.commit();
                    return null;
                  }));
      assertEquals(List.of(1), ids(source));
    }
    Transactions nowhere = new Transactions(source("jdbc:postgresql://127.0.0.1:1/x", "u"));
    assertEquals(List.of("CONNECTION_FAILED", "not_started", "acquire"), ended(nowhere, connection -> null));
  }

  @Test
  void aTransactionThatADeadlockEndedOnMariadb() throws Exception {
    try (Service service = Service.mariadb()) {
      DataSource source = source("jdbc:mariadb://127.0.0.1:" + service.port() + "/test", "retort");
      Transactions transactions = new Transactions(source);
      try (Connection rival = source.getConnection()) {
        execute(rival, "CREATE TABLE account (id int PRIMARY KEY, balance int) ENGINE=InnoDB");
        execute(rival, "INSERT INTO account VALUES (1, 1), (2, 2)");
        rival.setAutoCommit(false);
        // The heavier transaction survives a deadlock.
        execute(rival, "INSERT INTO account VALUES (7, 7), (8, 8), (9, 9)");
        execute(rival, "UPDATE account SET balance = 20 WHERE id = 2");
        List<Object> end =
            ended(
                transactions,
                connection -> {
                  execute(connection, "UPDATE account SET balance = 10 WHERE id = 1");
                  CompletableFuture<Integer> crossing =
                      CompletableFuture.supplyAsync(
                          () -> {
                            try {
                              return execute(rival, "UPDATE account SET balance = 11 WHERE id = 1");
                            } catch (SQLException error) {
                              throw new IllegalStateException(error);
                            }
                          });
                  ignoring(connection, "UPDATE account SET balance = 21 WHERE id = 2");
                  crossing.get();
                  return execute(connection, "INSERT INTO account VALUES (4, 4)");
                });
        assertEquals(List.of("COMMIT_ROLLED_BACK", "not_committed", "execute"), end);
        rival.rollback();
      }
      assertEquals(List.of(1, 2), ids(source));
    }
  }

  @Test
  void aTransactionThatDdlCommittedOnMariadb() throws Exception {
    try (Service service = Service.mariadb()) {
      DataSource source = source("jdbc:mariadb://127.0.0.1:" + service.port() + "/test", "retort");
      Transactions transactions = new Transactions(source);
      try (Connection connection = source.getConnection()) {
        execute(connection, "CREATE TABLE account (id int PRIMARY KEY, balance int) ENGINE=InnoDB");
      }
      int rows =
          transactions.run(
              WRITE,
              connection -> {
                execute(connection, "INSERT INTO account VALUES (1, 1)");
                execute(connection, "ALTER TABLE account ADD COLUMN note text");
                return execute(connection, "INSERT INTO account VALUES (2, 2, '')");
              });
      assertEquals(1, rows);
      assertEquals(
          List.of("PARTIAL_OUTCOME", "unknown", "execute"),
          ended(
              transactions,
              connection -> {
                execute(connection, "INSERT INTO account VALUES (3, 3, '')");
                execute(connection, "ALTER TABLE account DROP COLUMN note");
                return execute(connection, "INSERT INTO account VALUES (3, 3)");
              }));
      assertEquals(List.of(1, 2, 3), ids(source));
    }
  }
}
