package dev.retort.contract;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Follows one operation through its attempts: how far it has got, what is open, and what its errors mean. {@link
 * Transactions} moves it along by itself; other code says where it is.
 */
public final class Tracker {
  private static final Set<String> AT_WORK = Set.of("none", "open", "failed");
  private static final Set<String> COMMITTED = Set.of("committed", "committing", "prepared");
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int LONGEST_CHAIN = 16;

  private final Report known;
  private final long start = System.nanoTime();
  private final Map<Throwable, Verdict> judged = new IdentityHashMap<>();
  private int number;
  private String prior;
  private Integer tokens;
  private String phase = "unknown";
  private String transaction = "unknown";
  private int stepsDone;

  /** Begins an operation, of which the report says what is known beforehand: effect, key, limits, who asks. */
  public Tracker(Report known) {
    Context context = known.context() == null ? Context.EMPTY : known.context();
    this.known = context.traceId() == null && context.traceparent() == null ? known.withContext(context.withTraceId(traceId())) : known;
    Attempt attempt = limits();
    number = attempt.number() == null ? 1 : attempt.number();
    prior = attempt.prior();
    tokens = attempt.tokens();
  }

  static String traceId() {
    byte[] trace = new byte[16];
    RANDOM.nextBytes(trace);
    return HexFormat.of().formatHex(trace);
  }

  /** A pooled connection is waited for. Where another one is at work, an error may be that one's. */
  public synchronized void acquiring() {
    leaveCommitted();
    phase = AT_WORK.contains(transaction) ? "unknown" : "acquire";
  }

  /** A connection is there: from here on nothing is known to be unsent, unless it is said. */
  public synchronized void acquired() {
    phase = "unknown";
  }

  /** A statement is sent and waited for. */
  public synchronized void executing() {
    leaveCommitted();
    phase = "execute";
  }

  /** The rows are being read. */
  public synchronized void fetching() {
    phase = "fetch";
  }

  /** COMMIT is being written. */
  public synchronized void committing() {
    phase = "commit";
    transaction = "committing";
  }

  /** ROLLBACK is being written. */
  public synchronized void rollingBack() {
    phase = "rollback";
  }

  /** The server confirmed everything: what fails from here on is only the result. */
  public synchronized void done() {
    phase = "done";
    if (!transaction.equals("none")) {
      transaction = "committed";
    }
  }

  /** A transaction is open. */
  public synchronized void begun() {
    leaveCommitted();
    transaction = "open";
  }

  /** Every statement is its own transaction. */
  public synchronized void autocommit() {
    transaction = "none";
  }

  /** The server confirmed a statement in autocommit. */
  public synchronized void applied() {
    stepsDone++;
  }

  /** The server confirmed ROLLBACK. After a COMMIT without an answer that says nothing. */
  public synchronized void rolledBack() {
    if (!transaction.equals("committing")) {
      transaction = "rolled_back";
    }
  }

  /**
   * What an error of the operation means. Judged where it comes up, it is not blurred by what is done about it
   * afterwards: the verdict lasts for the attempt, also for exceptions that wrap this one.
   */
  public synchronized Verdict judge(Throwable thrown) {
    Throwable cause = thrown;
    for (int depth = 0; depth < LONGEST_CHAIN && cause != null; depth++) {
      Verdict known = cause instanceof RetortException typed ? typed.verdict() : judged.get(cause);
      if (known != null) {
        return known;
      }
      cause = cause.getCause();
    }
    Verdict verdict = Retort.judge(report(thrown));
    judged.put(thrown, verdict);
    return verdict;
  }

  /** Begins the next attempt, which cannot forget what the last one left behind. */
  synchronized void again(Verdict last) {
    number++;
    prior = last.envelope().outcome();
    tokens = last.decision().tokensLeft();
    phase = "unknown";
    transaction = "unknown";
    stepsDone = 0;
    judged.clear();
  }

  private Report report(Throwable thrown) {
    Attempt limits = limits();
    Attempt attempt =
        new Attempt(
            number, limits.max(), (System.nanoTime() - start) / 1_000_000, limits.deadlineMs(), limits.expectedMs(),
            limits.serverRetryAfterMs(), tokens, prior);
    Operation operation = known.operation() == null ? Operation.of(null, null, null) : known.operation();
    return known
        .withError(Capture.of(thrown))
        .withOperation(operation.at(phase, transaction, stepsDone))
        .withAttempt(attempt);
  }

  private Attempt limits() {
    return known.attempt() == null ? Attempt.EMPTY : known.attempt();
  }

  /** What comes after a COMMIT, also after one without an answer, is a further step of the operation. */
  private void leaveCommitted() {
    if (COMMITTED.contains(transaction)) {
      stepsDone++;
      transaction = "unknown";
    }
  }
}
