package dev.retort.contract;

/** A condition that the host itself found out, such as {@code COMMIT_ROLLED_BACK} or {@code POOL_BUSY}. */
public final class ConditionException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String condition;

  /** Names a published code. */
  public ConditionException(String condition) {
    super(condition);
    this.condition = condition;
  }

  /** The published code. */
  public String condition() {
    return condition;
  }
}
