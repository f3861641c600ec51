package dev.retort.contract;

import java.util.List;

/**
 * One error, and all that the host knows of the operation that met it. Every member but {@code error} may be
 * {@code null}; an unknown word gets the cautious reading.
 *
 * @param error what {@link Retort#capture} gives, or any value that Jackson writes
 * @param system OpenTelemetry's {@code db.system.name} or a common alias
 * @param cancel none, requested, confirmed, failed
 * @param seed a random number of 32 bits, the only source of jitter
 */
public record Report(
    Object error,
    String system,
    String driver,
    Operation operation,
    Attempt attempt,
    String cancel,
    List<Violation> violations,
    Context context,
    Policy policy,
    Long seed) {

  /** The report on an exception of which nothing else is known. */
  public static Report of(Throwable thrown) {
    return new Report(Capture.of(thrown), null, null, null, null, null, null, null, null, null);
  }

  /** The report on an operation before anything has failed. */
  public static Report of(Operation operation) {
    return of((Throwable) null).withOperation(operation);
  }

  /** The same report on another error. */
  Report withError(Object error) {
    return new Report(error, system, driver, operation, attempt, cancel, violations, context, policy, seed);
  }

  /** The same report about another system. */
  public Report withSystem(String system) {
    return new Report(error, system, driver, operation, attempt, cancel, violations, context, policy, seed);
  }

  /** The same report about another operation. */
  public Report withOperation(Operation operation) {
    return new Report(error, system, driver, operation, attempt, cancel, violations, context, policy, seed);
  }

  /** The same report about another attempt. */
  public Report withAttempt(Attempt attempt) {
    return new Report(error, system, driver, operation, attempt, cancel, violations, context, policy, seed);
  }

  /** The same report for another caller. */
  public Report withContext(Context context) {
    return new Report(error, system, driver, operation, attempt, cancel, violations, context, policy, seed);
  }

  /** The same report under another policy. */
  public Report withPolicy(Policy policy) {
    return new Report(error, system, driver, operation, attempt, cancel, violations, context, policy, seed);
  }

  /** The same report with another seed. */
  public Report withSeed(Long seed) {
    return new Report(error, system, driver, operation, attempt, cancel, violations, context, policy, seed);
  }
}
