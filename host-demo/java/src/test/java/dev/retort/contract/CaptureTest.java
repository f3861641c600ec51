package dev.retort.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CaptureTest {
  @Test
  void sqlExceptionsGiveStateCodeCountsAndAllTheirLinks() {
    SQLException next = new SQLException("duplicate key", "23505", 0);
    BatchUpdateException batch = new BatchUpdateException("batch failed", "23505", 1062, new int[] {1, -3});
    batch.setNextException(next);
    batch.addSuppressed(new IllegalStateException("rollback failed"));
    RuntimeException outer = new RuntimeException("could not execute batch", batch);
    assertEquals(
        Map.of(
            "class", "java.lang.RuntimeException",
            "message", "could not execute batch",
            "cause",
                Map.of(
                    "class", "java.sql.BatchUpdateException",
                    "message", "batch failed",
                    "sqlState", "23505",
                    "errorCode", 1062,
                    "updateCounts", List.of(1, -3),
                    "nextException",
                        Map.of("class", "java.sql.SQLException", "message", "duplicate key", "sqlState", "23505"),
                    "suppressed",
                        List.of(Map.of("class", "java.lang.IllegalStateException", "message", "rollback failed")))),
        Retort.capture(outer));
  }

  @Test
  void cyclesDepthNumberAndTextAreBounded() throws Exception {
    SQLException first = new SQLException("first");
    SQLException second = new SQLException("second", first);
    first.setNextException(second);
    assertEquals("first", ((Map<?, ?>) Retort.capture(first)).get("message"));
    Throwable deep = new Exception("bottom");
    for (int level = 0; level < 5000; level++) {
      deep = new Exception("m".repeat(100_000), deep);
    }
    assertTrue(Json.MAPPER.writeValueAsString(Retort.capture(deep)).length() < 300_000);
    SQLException wide = new SQLException("head");
    for (int index = 0; index < 5000; index++) {
      wide.addSuppressed(new Exception("other"));
    }
    assertTrue(Json.MAPPER.writeValueAsString(Retort.capture(wide)).length() < 10_000);
  }

  @Test
  void gettersThatThrowArePassedOver() {
    Exception hostile =
        new Exception() {
          private static final long serialVersionUID = 1;

          @Override
          public String getMessage() {
            throw new IllegalStateException("no");
          }
        };
    assertEquals(Map.of("class", hostile.getClass().getName()), Retort.capture(hostile));
    assertNull(Retort.capture(null));
    assertEquals(Map.of("condition", "POOL_BUSY"), Retort.capture(new ConditionException("POOL_BUSY")));
  }
}
