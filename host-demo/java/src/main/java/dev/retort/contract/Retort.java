package dev.retort.contract;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.security.SecureRandom;

/**
 * Turns raw driver errors into safe public error envelopes: what happened, what became of the write, and whether the
 * same call may be made again. The logic is the WebAssembly module that every host of Retort runs, so the same report
 * gives the same bytes. Every function is safe for concurrent use.
 *
 * <p>Where the module fails, the functions fail closed: OUTCOME_UNKNOWN for a write, DATABASE_ERROR for a read.
 */
public final class Retort {
  private static final Retort OF_THIS_PROCESS = new Retort(Engine.ofCore());
  private static final SecureRandom RANDOM = new SecureRandom();

  private final Engine engine;

  Retort(Engine engine) {
    this.engine = engine;
  }

  /** A report in, a verdict out, both as JSON. */
  public static String evaluate(String report) {
    return call(Function.EVALUATE, report);
  }

  /** Calls a function of the interface {@code json}; where it takes no text, {@code ""} will do. */
  public static String call(Function function, String text) {
    return OF_THIS_PROCESS.answer(function, text);
  }

  /** Judges one report. Mints a trace id and a seed where the report has none. */
  public static Verdict judge(Report report) {
    return OF_THIS_PROCESS.verdict(report);
  }

  /**
   * Throws the verdict on a report.
   *
   * @throws RetortException always one of its subclasses, by category
   */
  public static void check(Report report) {
    throw RetortException.of(judge(report));
  }

  /** One attempt of an operation. */
  @FunctionalInterface
  public interface Work<T> {
    /** Does it, and tells the tracker how far it has got. */
    T attempt(Tracker tracker) throws Exception;
  }

  /**
   * Runs work as one operation and repeats it as decisions say: after their delay, within their attempts and deadline.
   *
   * @param known what is known of the operation: effect, key, limits, who asks
   * @throws RetortException the last verdict, by category
   */
  public static <T> T run(Report known, Work<T> work) {
    Tracker tracker = new Tracker(known);
    while (true) {
      try {
        return work.attempt(tracker);
      } catch (Exception thrown) {
        Verdict verdict = tracker.judge(thrown);
        if (!verdict.envelope().retryable() || !isWaitedFor(verdict.decision())) {
          throw RetortException.of(verdict);
        }
        tracker.again(verdict);
      }
    }
  }

  /** Waits as long as the decision says; false where the thread is interrupted meanwhile. */
  private static boolean isWaitedFor(Verdict.Decision decision) {
    try {
      Thread.sleep(decision.delayMs() == null ? 0 : decision.delayMs());
      return true;
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Any exception as plain values that the contract reads. */
  public static Object capture(Throwable thrown) {
    return Capture.of(thrown);
  }

  Verdict verdict(Report report) {
    Report complete = completed(report);
    try {
      return Json.MAPPER.readValue(answer(Function.EVALUATE, Json.MAPPER.writeValueAsString(complete)), Verdict.class);
    } catch (JsonProcessingException error) {
      return Closed.verdict(complete);
    }
  }

  String answer(Function function, String text) {
    try {
      return engine.call(function, text);
    } catch (Engine.Fault fault) {
      return Closed.text(function, text);
    }
  }

  private static Report completed(Report report) {
    Context context = report.context() == null ? Context.EMPTY : report.context();
    if (context.traceId() == null && context.traceparent() == null) {
      context = context.withTraceId(Tracker.traceId());
    }
    Long seed = report.seed() == null ? Long.valueOf(Integer.toUnsignedLong(RANDOM.nextInt())) : report.seed();
    return report.withContext(context).withSeed(seed);
  }
}
