package dev.retort.contract;

/** The functions of the interface {@code json}: text in, text out, the same bytes on every host. */
public enum Function {
  /** A report in, a verdict out. */
  EVALUATE,
  /** An array of reports in, an array of verdicts out. */
  EVALUATE_MANY,
  /** An earlier verdict and what its receipt says in, a verdict out. */
  RECONCILE,
  /** The attempt records of one operation in, one operation record out. */
  SUMMARISE,
  /** {@code {"tokens", "event", "capacity"?}} in, {@code {"tokens"}} out. */
  BUDGET,
  /** {@code {"text", "level"?}} in, {@code {"text", "findings"}} out. */
  REDACT,
  /** {@code {"text"}} in, {@code {"findings"}} out. */
  INSPECT,
  /** {@code {"text", "dialect"?}} in, {@code {"fingerprint", "shape", "operation", "summary"}} out. */
  FINGERPRINT,
  /** {@code {"envelope" or "verdict", "as": mcp | problem | status | text}} in, the rendered text out. */
  RENDER,
  /** The whole table of public codes; takes no text. */
  CODES,
  /** The module's version, empty where it fails; takes no text. */
  VERSION;

  /** The function's name in the contract. */
  final String word = name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');

  /** The function of that name. */
  static Function of(String word) {
    return valueOf(word.toUpperCase(java.util.Locale.ROOT).replace('-', '_'));
  }

  boolean takesText() {
    return this != CODES && this != VERSION;
  }
}
