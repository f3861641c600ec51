package dev.retort.contract;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;

/**
 * JDBC transactions that say by themselves how far an operation has got, clean up as decisions say, are repeated where
 * that is safe, and are not fooled by a COMMIT that rolled back.
 */
public final class Transactions {
  private static final String FAILED = "25P02";
  /** MySQL's and MariaDB's for a savepoint that is not there. */
  private static final String NO_SAVEPOINT = "42000";

  /** The class of states that say: the server has rolled the transaction back. */
  private static final String ROLLBACK = "40";

  private static final Set<String> ENDS = Set.of("commit", "rollback", "setAutoCommit", "abort", "close");

  private final DataSource source;

  /** Takes connections from a pool, or from any other source. */
  public Transactions(DataSource source) {
    this.source = source;
  }

  /** What is done within a transaction. */
  @FunctionalInterface
  public interface Work<T> {
    /** Does it; the transaction is ended by {@link #run}. */
    T with(Connection connection) throws Exception;
  }

  /**
   * Runs work as one operation in one transaction, commits it, and repeats it as decisions say.
   *
   * @param known what is known of the operation: effect, key, limits, who asks
   * @throws RetortException the last verdict, by category
   */
  public <T> T run(Report known, Work<T> work) {
    return Retort.run(known, tracker -> attempt(tracker, work));
  }

  private <T> T attempt(Tracker tracker, Work<T> work) throws Exception {
    tracker.acquiring();
    Connection connection = source.getConnection();
    // Nothing is committed before COMMIT is written, not even where the beginning fails.
    tracker.executing();
    tracker.begun();
    try {
      connection.setAutoCommit(false);
      T value = work(tracker, connection, work);
      tracker.committing();
      connection.commit();
      tracker.done();
      connection.setAutoCommit(true);
      return value;
    } catch (Throwable thrown) {
      cleanUp(tracker.judge(thrown).decision().cleanup(), tracker, connection);
      throw thrown;
    } finally {
      connection.close();
    }
  }

  private static <T> T work(Tracker tracker, Connection connection, Work<T> work) throws Exception {
    Savepoint first = savepoint(connection);
    Set<String> states = ConcurrentHashMap.newKeySet();
    T value;
    try {
      value = work.with(unending(connection, states));
    } catch (Exception thrown) {
      if (fateOf(connection, first, states) == Fate.COMMITTED) {
        tracker.applied();
      }
      throw thrown;
    }
    if (fateOf(connection, first, states) == Fate.ROLLED_BACK) {
      throw new ConditionException("COMMIT_ROLLED_BACK");
    }
    return value;
  }

  private static Savepoint savepoint(Connection connection) throws SQLException {
    return connection.getMetaData().supportsSavepoints() ? connection.setSavepoint() : null;
  }

  private enum Fate {
    OPEN,
    COMMITTED,
    ROLLED_BACK
  }

  /**
   * A first savepoint that can no longer be released says that the server has ended the transaction: rolled it back
   * (PostgreSQL after any error, MySQL and MariaDB after a deadlock), where COMMIT would look like a success, or committed
   * it (DDL on MySQL and MariaDB).
   */
  private static Fate fateOf(Connection connection, Savepoint first, Set<String> states) {
    if (first == null) {
      return Fate.OPEN;
    }
    try {
      connection.releaseSavepoint(first);
      return Fate.OPEN;
    } catch (SQLFeatureNotSupportedException error) {
      return Fate.OPEN;
    } catch (SQLException error) {
      boolean isCommitted =
          NO_SAVEPOINT.equals(error.getSQLState()) && states.stream().noneMatch(state -> state.startsWith(ROLLBACK));
      return isCommitted ? Fate.COMMITTED : Fate.ROLLED_BACK;
    }
  }

  private static void cleanUp(String cleanup, Tracker tracker, Connection connection) {
    try {
      if (Set.of("none", "rollback").contains(cleanup)) {
        tracker.rollingBack();
        connection.rollback();
        tracker.rolledBack();
        connection.setAutoCommit(true);
      } else {
        connection.abort(Runnable::run);
      }
    } catch (SQLException error) {
      abort(connection);
    }
  }

  /** Its own failure must not hide the error that it follows. */
  private static void abort(Connection connection) {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException error) {
      return;
    }
  }

  /** The connection, whose transaction is not the work's to end. The states of its statements' errors are kept. */
  private static Connection unending(Connection connection, Set<String> states) {
    return (Connection)
        Proxy.newProxyInstance(
            Transactions.class.getClassLoader(),
            new Class<?>[] {Connection.class},
            (proxy, method, arguments) -> {
              boolean endsAll = arguments == null || !(arguments[0] instanceof Savepoint);
              if (ENDS.contains(method.getName()) && endsAll) {
                throw new IllegalStateException(method.getName() + " is not called within Transactions.run");
              }
              Object made = invoke(method, connection, arguments, states);
              return made instanceof Statement ? noting(method.getReturnType(), made, states) : made;
            });
  }

  private static Object noting(Class<?> kind, Object statement, Set<String> states) {
    return Proxy.newProxyInstance(
        Transactions.class.getClassLoader(),
        new Class<?>[] {kind},
        (proxy, method, arguments) -> invoke(method, statement, arguments, states));
  }

  private static Object invoke(Method method, Object target, Object[] arguments, Set<String> states) throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException error) {
      if (error.getCause() instanceof SQLException failed && failed.getSQLState() != null) {
        states.add(failed.getSQLState());
      }
      throw error.getCause();
    }
  }

  /**
   * Commits a transaction that is run by hand. PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK, which
   * pgjdbc passes over in silence; so the transaction is asked first, at the price of a round trip.
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
