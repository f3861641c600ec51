package dev.retort.contract;

import java.util.List;
import java.util.Map;

/**
 * What the error means, for each of its readers.
 *
 * @param envelope for the model; safe to publish
 * @param decision for the program
 * @param diagnostic for the operator; restricted, yet without credentials, row values or SQL literals
 * @param attempt flat OpenTelemetry attributes
 */
public record Verdict(Envelope envelope, Decision decision, Diagnostic diagnostic, Map<String, Object> attempt) {

  /** The public error: nothing in it comes from the driver's text. */
  public record Envelope(
      String code,
      String category,
      boolean retryable,
      Long retryAfterMs,
      String outcome,
      String traceId,
      String message,
      String next,
      String operationKey,
      Long checkAfterMs,
      Integer opIndex,
      List<Violation> arguments,
      String reference) {}

  /**
   * What the program does.
   *
   * @param cleanup done before any envelope leaves the host: none, rollback, discard_connection, cancel_then_discard
   */
  public record Decision(
      String action,
      Long delayMs,
      String scope,
      String cleanup,
      String reason,
      int attemptsLeft,
      Integer tokensLeft) {}

  /** The restricted record, found by trace id. */
  public record Diagnostic(
      String traceId,
      String operationId,
      String attemptId,
      String code,
      String system,
      String driver,
      String rule,
      String proof,
      List<String> nativeCodes,
      String phase,
      boolean phaseConflict,
      String transaction,
      String cancel,
      String connection,
      String message,
      List<String> causes,
      String statementFingerprint,
      String statementSummary,
      int attemptNumber,
      Long elapsedMs,
      Long deadlineMs,
      String tool,
      String toolVersion,
      String policyVersion,
      String boundary) {}
}
