package dev.retort.contract;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Failing closed: what this package answers where the module cannot. Nothing here makes a retry look safe. */
final class Closed {
  private static final Pattern TRACE_ID = Pattern.compile("[A-Za-z0-9._:/@+#-]{1,128}");
  private static final Pattern KEY = Pattern.compile("[!-~]{1,256}");
  private static final Pattern SELECT = Pattern.compile("\\s*select\\b.*", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  /** How long to wait before the operation key is looked up. */
  private static final long CHECK_AFTER_MS = 1000;

  /** One of the two verdicts. Texts as in the contract's table of codes. */
  record Row(String code, String category, String outcome, String message) {}

  static final Row READ =
      new Row(
          "DATABASE_ERROR",
          "permanent",
          "not_committed",
          "The database reported an error that a retry does not mend.");
  static final Row WRITE =
      new Row(
          "OUTCOME_UNKNOWN",
          "unknown_outcome",
          "unknown",
          "It is not known whether the operation took effect. Do not repeat it before that is known.");

  private Closed() {}

  /** The verdict on a report that the module could not judge. */
  static Verdict verdict(Report report) {
    return verdict(Json.MAPPER.<JsonNode>valueToTree(report));
  }

  private static Verdict verdict(JsonNode report) {
    JsonNode operation = report.path("operation");
    boolean isRead = "read".equals(operation.path("effect").textValue()) && selects(operation.path("statement"));
    String key = isRead ? null : matching(KEY, operation.path("operation_key"));
    return verdict(isRead ? READ : WRITE, key, matching(TRACE_ID, report.path("context").path("trace_id")));
  }

  /** An earlier verdict that could not be judged anew: a write, whose outcome stays open. */
  private static Verdict reconciled(JsonNode given) {
    JsonNode earlier = given.path("verdict");
    String key = matching(KEY, given.path("operation").path("operation_key"));
    key = key == null ? matching(KEY, earlier.path("envelope").path("operation_key")) : key;
    key = key == null ? matching(KEY, earlier.path("operation_key")) : key;
    return verdict(WRITE, key, matching(TRACE_ID, given.path("context").path("trace_id")));
  }

  private static Verdict verdict(Row row, String key, String claimed) {
    String next = row == READ ? "stop" : key == null ? "escalate" : "reconcile";
    String trace = claimed == null ? Tracker.traceId() : claimed;
    Long check = key == null ? null : CHECK_AFTER_MS;
    Map<String, Object> attempt =
        ordered(
            "error.type", row.code,
            "db.system.name", "_OTHER",
            "db.response.status_code", "_OTHER",
            "retort.attempt.number", 1,
            "retort.category", row.category,
            "retort.outcome", row.outcome,
            "retort.retryable", false,
            "retort.next", next,
            "retort.final", true);
    return new Verdict(
        new Verdict.Envelope(
            row.code, row.category, false, null, row.outcome, trace, row.message, next, key, check, null, null, null),
        new Verdict.Decision(next, check, "operation", "cancel_then_discard", "tool_fault", 0, null),
        new Verdict.Diagnostic(
            trace, null, null, row.code, "_OTHER", null, "host/fault", "nothing", List.of(), "unknown", false,
            "unknown", "none", "unknown", "", List.of(), null, null, 1, null, null, null, null, null, null),
        attempt);
  }

  /** What each function gives where the module could not. */
  static String text(Function function, String text) {
    return switch (function) {
      case EVALUATE -> write(verdict(read(text)));
      case EVALUATE_MANY -> write(each(read(text)));
      case RECONCILE -> write(reconciled(read(text)));
      case SUMMARISE -> write(noRecord());
      case BUDGET -> "{\"tokens\":0}";
      case REDACT -> write(ordered("text", "[withheld]", "findings", whole(text)));
      case INSPECT -> write(ordered("findings", whole(text)));
      case FINGERPRINT ->
          write(ordered("fingerprint", "0".repeat(16), "shape", "", "operation", "", "summary", ""));
      case RENDER -> write(toolFailure());
      case CODES -> "[]";
      case VERSION -> "";
    };
  }

  /** A fold that claims nothing. */
  private static Map<String, Object> noRecord() {
    return ordered(
        "retort.attempts", 0,
        "retort.total_delay_ms", 0,
        "error.type", WRITE.code,
        "retort.category", WRITE.category,
        "retort.outcome", WRITE.outcome,
        "retort.duplicates_possible", true,
        "retort.final", true);
  }

  /** Only what shows nothing else than a SELECT reads. */
  private static boolean selects(JsonNode statement) {
    return statement.isMissingNode() || statement.isNull() || matching(SELECT, statement) != null;
  }

  private static String matching(Pattern pattern, JsonNode value) {
    String text = value.textValue();
    return text != null && pattern.matcher(text).matches() ? text : null;
  }

  private static List<Verdict> each(JsonNode reports) {
    List<Verdict> verdicts = new ArrayList<>();
    if (reports.isArray()) {
      reports.forEach(report -> verdicts.add(verdict(report)));
    } else {
      verdicts.add(verdict(NullNode.instance));
    }
    return verdicts;
  }

  private static Map<String, Object> toolFailure() {
    Verdict.Envelope envelope = verdict(NullNode.instance).envelope();
    Map<String, Object> block = ordered("type", "text", "text", write(envelope));
    return ordered("content", List.of(block), "isError", true, "_meta", ordered("dev.retort/error", envelope));
  }

  private static List<Map<String, Object>> whole(String text) {
    String inner = read(text).path("text").textValue();
    int end = (inner == null ? text : inner).getBytes(StandardCharsets.UTF_8).length;
    return List.of(ordered("kind", "unreadable", "start", 0, "end", end));
  }

  private static Map<String, Object> ordered(Object... members) {
    Map<String, Object> map = new LinkedHashMap<>();
    for (int index = 0; index + 1 < members.length; index += 2) {
      map.put((String) members[index], members[index + 1]);
    }
    return map;
  }

  private static JsonNode read(String text) {
    try {
      return Json.MAPPER.readTree(text);
    } catch (JsonProcessingException | IllegalArgumentException error) {
      return NullNode.instance;
    }
  }

  private static String write(Object value) {
    try {
      return Json.MAPPER.writeValueAsString(value);
    } catch (JsonProcessingException error) {
      return "";
    }
  }
}
