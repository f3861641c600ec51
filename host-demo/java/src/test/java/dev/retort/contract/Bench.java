package dev.retort.contract;

import java.lang.management.ManagementFactory;
import java.util.Locale;

/**
 * Measures start-up and a warm verdict in processor time, since the machine may be busy. Prints one JSON object.
 *
 * <p>{@code java -cp … dev.retort.contract.Bench}
 */
final class Bench {
  private static final String REPORT =
      "{\"error\":{\"class\":\"org.postgresql.util.PSQLException\",\"sqlState\":\"23505\",\"message\":\"ERROR: duplicate"
          + " key value violates unique constraint \\\"account_pkey\\\"\"},\"system\":\"postgresql\",\"operation\":"
          + "{\"effect\":\"write\",\"phase\":\"execute\",\"transaction\":\"open\"},\"context\":{\"trace_id\":\"t\"}}";

  private Bench() {}

  public static void main(String[] arguments) {
    long start = processorTime();
    Retort.evaluate(REPORT);
    double first = (processorTime() - start) / 1e6;
    double best = Double.MAX_VALUE;
    for (int round = 0; round < 25; round++) {
      best = Math.min(best, microseconds(2000));
    }
    System.out.printf(Locale.ROOT, "{\"host\":\"java\",\"first_call_ms\":%.1f,\"json_us\":%.1f}%n", first, best);
  }

  private static double microseconds(int calls) {
    long start = processorTime();
    for (int call = 0; call < calls; call++) {
      Retort.evaluate(REPORT);
    }
    return (processorTime() - start) / 1e3 / calls;
  }

  private static long processorTime() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }
}
