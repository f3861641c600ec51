package dev.retort.contract;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/** Ends transactions without being fooled. */
public final class Transactions {
  private static final String FAILED = "25P02";

  private Transactions() {}

  /**
   * Commits. PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK, which pgjdbc passes over in silence;
   * so the transaction is asked first, at the price of a round trip.
   *
   * @throws ConditionException COMMIT_ROLLED_BACK where the transaction had failed; it is rolled back then
   * @throws SQLException what the driver throws
   */
  public static void commit(Connection connection) throws SQLException {
    if ("PostgreSQL".equals(connection.getMetaData().getDatabaseProductName()) && hasFailed(connection)) {
      connection.rollback();
      throw new ConditionException("COMMIT_ROLLED_BACK");
    }
    connection.commit();
  }

  private static boolean hasFailed(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("SELECT 1");
      return false;
    } catch (SQLException error) {
      if (FAILED.equals(error.getSQLState())) {
        return true;
      }
      throw error;
    }
  }
}
