package dev.retort.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
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
}
