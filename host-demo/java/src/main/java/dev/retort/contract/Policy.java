package dev.retort.contract;

/** The numbers that backoff works with; times in milliseconds. */
public record Policy(Long baseMs, Long capMs, Integer maxAttempts, Integer capacity, Boolean concealConflicts) {}
