package dev.retort.contract;

/** A verdict as an exception. Its message is the envelope's constant text; it has no cause, as causes leak. */
@SuppressWarnings("serial")
public class RetortException extends RuntimeException {
  private final transient Verdict verdict;

  RetortException(Verdict verdict) {
    super(verdict.envelope().code() + ": " + verdict.envelope().message());
    this.verdict = verdict;
  }

  /** The exception of the class that fits the verdict's category. */
  public static RetortException of(Verdict verdict) {
    return switch (verdict.envelope().category()) {
      case "authorization" -> new AuthException(verdict);
      case "not_found" -> new NotFoundException(verdict);
      case "conflict" -> new ConflictException(verdict);
      case "unknown_outcome" -> new UnknownOutcomeException(verdict);
      default -> new QueryException(verdict);
    };
  }

  /** The whole verdict. */
  public Verdict verdict() {
    return verdict;
  }

  /** What may be published. */
  public Verdict.Envelope envelope() {
    return verdict.envelope();
  }

  /** The public code. */
  public String code() {
    return verdict.envelope().code();
  }

  /** Refused: the kind that HTTP answers with 401 or 403. */
  public static final class AuthException extends RetortException {
    AuthException(Verdict verdict) {
      super(verdict);
    }
  }

  /** What was asked for does not exist. */
  public static final class NotFoundException extends RetortException {
    NotFoundException(Verdict verdict) {
      super(verdict);
    }
  }

  /** The data's present state is in the way. */
  public static final class ConflictException extends RetortException {
    ConflictException(Verdict verdict) {
      super(verdict);
    }

    /** The operation of a batch that failed, counted from 0; {@code null} where it is not known. */
    public Integer opIndex() {
      return envelope().opIndex();
    }
  }

  /** Malformed, not possible now, or not possible at all; no effect is left in doubt. */
  public static final class QueryException extends RetortException {
    QueryException(Verdict verdict) {
      super(verdict);
    }
  }

  /** Nobody knows whether the write took effect: never repeat it blindly. */
  public static final class UnknownOutcomeException extends RetortException {
    UnknownOutcomeException(Verdict verdict) {
      super(verdict);
    }
  }
}
