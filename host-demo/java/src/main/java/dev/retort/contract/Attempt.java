package dev.retort.contract;

/**
 * Which try of the operation met the error, and what is left. Times in milliseconds.
 *
 * @param number counted from 1
 * @param prior the joined outcome of earlier attempts
 */
public record Attempt(
    Integer number,
    Integer max,
    Long elapsedMs,
    Long deadlineMs,
    Long expectedMs,
    Long serverRetryAfterMs,
    Integer tokens,
    String prior) {

  static final Attempt EMPTY = new Attempt(null, null, null, null, null, null, null, null);
}
