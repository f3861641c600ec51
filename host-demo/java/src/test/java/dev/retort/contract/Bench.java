package dev.retort.contract;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Measures start-up and a warm verdict in processor time, since the machine may be busy. Prints one JSON object.
 *
 * <p>{@code java -cp … dev.retort.contract.Bench}
 */
final class Bench {
  private Bench() {}

  public static void main(String[] arguments) throws IOException {
    String report = Files.readString(Path.of("..", "bench", "report.json"));
    long start = processorTime();
    Retort.evaluate(report);
    double first = (processorTime() - start) / 1e6;
    double best = Double.MAX_VALUE;
    for (int round = 0; round < 25; round++) {
      best = Math.min(best, microseconds(report, 2000));
    }
    System.out.printf(Locale.ROOT, "{\"host\":\"java\",\"first_call_ms\":%.1f,\"json_us\":%.1f}%n", first, best);
  }

  private static double microseconds(String report, int calls) {
    long start = processorTime();
    for (int call = 0; call < calls; call++) {
      Retort.evaluate(report);
    }
    return (processorTime() - start) / 1e3 / calls;
  }

  private static long processorTime() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }
}
