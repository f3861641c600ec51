package dev.retort.contract;

/**
 * What was being done when the error came.
 *
 * @param effect read, idempotent_write, write (default)
 * @param phase validate, authorize, acquire, connect, send, execute, fetch, commit, rollback, done, unknown (default)
 * @param transaction none, open, committing, committed, rolled_back, failed, prepared, unknown (default)
 * @param unit statement (default), many, batch, procedure, ddl
 * @param origin who wrote the statement: tool (default) or model
 * @param keyConstraint restricted: the operation key's own unique constraint
 * @param statement restricted: fingerprinted, never published
 */
public record Operation(
    String effect,
    String phase,
    String transaction,
    String unit,
    Integer stepsDone,
    String origin,
    String operationKey,
    String dedupe,
    Long keyExpiresMs,
    String receipt,
    Boolean fenced,
    String replays,
    String keyConstraint,
    String statement,
    Integer opIndex) {

  /** An operation of which only effect, phase and transaction are known. */
  public static Operation of(String effect, String phase, String transaction) {
    return new Operation(
        effect, phase, transaction, null, null, null, null, null, null, null, null, null, null, null, null);
  }

  /** The same operation over another unit. */
  public Operation withUnit(String unit) {
    return new Operation(
        effect, phase, transaction, unit, stepsDone, origin, operationKey, dedupe, keyExpiresMs, receipt, fenced,
        replays, keyConstraint, statement, opIndex);
  }

  /** The same operation under a key. */
  public Operation withKey(String operationKey, String dedupe) {
    return new Operation(
        effect, phase, transaction, unit, stepsDone, origin, operationKey, dedupe, keyExpiresMs, receipt, fenced,
        replays, keyConstraint, statement, opIndex);
  }

  /** The same operation, at a place of a batch, counted from 0. */
  public Operation withOpIndex(int opIndex) {
    return new Operation(
        effect, phase, transaction, unit, stepsDone, origin, operationKey, dedupe, keyExpiresMs, receipt, fenced,
        replays, keyConstraint, statement, opIndex);
  }

  /** The same operation, as far as it has got. */
  Operation at(String phase, String transaction, int steps) {
    int done = stepsDone == null ? steps : stepsDone + steps;
    return new Operation(
        effect, phase, transaction, unit, done, origin, operationKey, dedupe, keyExpiresMs, receipt, fenced, replays,
        keyConstraint, statement, opIndex);
  }
}
