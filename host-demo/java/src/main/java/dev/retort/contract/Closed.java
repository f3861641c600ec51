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
  private static final Pattern TRACE_ID = Pattern.compile("[A-Za-z0-9._:-]{1,64}");
  private static final String NO_TRACE = "0".repeat(32);

  /** One of the two verdicts. Texts as in the contract's table of codes. */
  record Row(String code, String category, String outcome, String next, String reason, String message) {}

  static final Row READ =
      new Row(
          "DATABASE_ERROR",
          "permanent",
          "not_committed",
          "stop",
          "unrecognised",
          "The database reported an error that a retry does not mend.");
  static final Row WRITE =
      new Row(
          "OUTCOME_UNKNOWN",
          "unknown_outcome",
          "unknown",
          "escalate",
          "outcome_unknown",
          "It is not known whether the operation took effect. Do not repeat it before that is known.");

  private Closed() {}

  /** The verdict on a report that the module could not judge. */
  static Verdict verdict(Report report) {
    String effect = report.operation() == null ? null : report.operation().effect();
    return verdict(effect, report.context() == null ? null : report.context().traceId());
  }

  private static Verdict verdict(JsonNode report) {
    return verdict(
        report.path("operation").path("effect").textValue(), report.path("context").path("trace_id").textValue());
  }

  private static Verdict verdict(String effect, String claimed) {
    Row row = "read".equals(effect) ? READ : WRITE;
    String trace = claimed != null && TRACE_ID.matcher(claimed).matches() ? claimed : NO_TRACE;
    Map<String, Object> attempt = new LinkedHashMap<>();
    attempt.put("error.type", row.code);
    attempt.put("db.system.name", "_OTHER");
    attempt.put("db.response.status_code", "_OTHER");
    attempt.put("retort.attempt.number", 1);
    attempt.put("retort.category", row.category);
    attempt.put("retort.outcome", row.outcome);
    attempt.put("retort.retryable", false);
    attempt.put("retort.next", row.next);
    attempt.put("retort.final", true);
    return new Verdict(
        new Verdict.Envelope(
            row.code, row.category, false, null, row.outcome, trace, row.message, row.next, null, null, null, null, null),
        new Verdict.Decision(row.next, null, "operation", "cancel_then_discard", row.reason, 0, null),
        new Verdict.Diagnostic(
            trace, null, null, row.code, "_OTHER", null, "module_fault", "nothing", List.of(), "unknown", false,
            "unknown", "none", "unknown", "", List.of(), null, null, 1, null, null, null, null, null, null),
        attempt);
  }

  /** What each function gives where the module could not; empty: there is nothing that would be safe. */
  static String text(String name, String text) {
    return switch (name) {
      case "evaluate" -> write(verdict(read(text)));
      case "evaluate-many" -> write(each(read(text)));
      case "reconcile" -> write(verdict(NullNode.instance));
      case "budget" -> "{\"tokens\":0}";
      case "redact" -> write(ordered("text", "[unread]", "findings", whole(text)));
      case "inspect" -> write(ordered("findings", whole(text)));
      case "render" -> write(toolFailure());
      default -> "";
    };
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
    return List.of(ordered("kind", "unread", "start", 0, "end", end));
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
