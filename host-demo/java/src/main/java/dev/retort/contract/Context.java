package dev.retort.contract;

/** Who asked: the host's word, never the model's. */
public record Context(
    String traceId,
    String traceparent,
    String operationId,
    String attemptId,
    String tool,
    String toolVersion,
    String policyVersion,
    String boundary,
    String reference,
    Boolean authorized) {

  static final Context EMPTY = new Context(null, null, null, null, null, null, null, null, null, null);

  /** A caller that may know what exists. */
  public static Context ofAuthorized() {
    return new Context(null, null, null, null, null, null, null, null, null, true);
  }

  /** The same caller under another trace. */
  public Context withTraceId(String traceId) {
    return new Context(
        traceId, traceparent, operationId, attemptId, tool, toolVersion, policyVersion, boundary, reference,
        authorized);
  }
}
