package dev.retort.contract;

/**
 * One finding of an argument check.
 *
 * @param argument the argument's published name
 * @param rule the rule it breaks, as a JSON Schema keyword
 */
public record Violation(String argument, String rule) {}
