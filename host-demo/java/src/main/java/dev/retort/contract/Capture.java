package dev.retort.contract;

import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Any exception as plain values: class, message, SQLSTATE, error code, update counts, and the exceptions it is linked
 * to. Never throws; depth, number and text are bounded, cycles and getters that throw are passed over.
 */
final class Capture {
  private static final int DEEPEST = 8;
  private static final int MOST_EXCEPTIONS = 64;
  private static final int MOST_COUNTS = 1024;
  private static final int LONGEST_TEXT = 64 << 10;
  private static final int MOST_TEXT = 128 << 10;

  private final Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
  private int text;

  private Capture() {}

  static Object of(Throwable thrown) {
    return thrown == null ? null : new Capture().exception(thrown, 0);
  }

  private Map<String, Object> exception(Throwable thrown, int depth) {
    seen.add(thrown);
    Map<String, Object> captured = new LinkedHashMap<>();
    if (thrown instanceof ConditionException condition) {
      captured.put("condition", condition.condition());
      return captured;
    }
    captured.put("class", thrown.getClass().getName());
    putText(captured, "message", read(thrown::getMessage));
    if (thrown instanceof SQLException sql) {
      putText(captured, "sqlState", read(sql::getSQLState));
      Integer code = read(sql::getErrorCode);
      if (code != null && code != 0) {
        captured.put("errorCode", code);
      }
    }
    if (thrown instanceof BatchUpdateException batch) {
      int[] counts = read(batch::getUpdateCounts);
      if (counts != null) {
        captured.put("updateCounts", Arrays.stream(counts).limit(MOST_COUNTS).boxed().toList());
      }
    }
    links(captured, thrown, depth);
    return captured;
  }

  private void links(Map<String, Object> captured, Throwable thrown, int depth) {
    if (depth >= DEEPEST) {
      return;
    }
    if (thrown instanceof SQLException sql) {
      put(captured, "nextException", read(sql::getNextException), depth);
    }
    put(captured, "cause", read(thrown::getCause), depth);
    List<Object> suppressed = new ArrayList<>();
    for (Throwable other : thrown.getSuppressed()) {
      if (isNew(other)) {
        suppressed.add(exception(other, depth + 1));
      }
    }
    if (!suppressed.isEmpty()) {
      captured.put("suppressed", suppressed);
    }
  }

  private void put(Map<String, Object> captured, String name, Throwable thrown, int depth) {
    if (thrown != null && isNew(thrown)) {
      captured.put(name, exception(thrown, depth + 1));
    }
  }

  private boolean isNew(Throwable thrown) {
    return seen.size() < MOST_EXCEPTIONS && !seen.contains(thrown);
  }

  private void putText(Map<String, Object> captured, String name, String value) {
    if (value != null && !value.isEmpty()) {
      captured.put(name, cut(value));
    }
  }

  /** Keeps the head and the tail of a long text. */
  private String cut(String value) {
    int most = Math.min(LONGEST_TEXT, Math.max(0, MOST_TEXT - text));
    String kept = value;
    if (value.length() > most) {
      kept = value.substring(0, most / 2) + value.substring(value.length() - most / 2);
    }
    text += kept.length();
    return kept;
  }

  private static <T> T read(Supplier<T> getter) {
    try {
      return getter.get();
    } catch (RuntimeException error) {
      return null;
    }
  }
}
