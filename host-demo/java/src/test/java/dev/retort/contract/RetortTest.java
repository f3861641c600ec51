package dev.retort.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import run.endive.runtime.Instance;
import run.endive.runtime.TrapException;
import run.endive.wasm.WasmEngineException;

class RetortTest {
  private static final String WRITE =
      "{\"error\":{\"code\":\"23505\"},\"system\":\"postgresql\",\"operation\":{\"phase\":\"execute\","
          + "\"transaction\":\"open\"},\"context\":{\"trace_id\":\"t-1\"}}";

  /** An engine whose first instance traps on every call: it is told to read beyond its memory. */
  private static Engine trapping() {
    AtomicInteger instances = new AtomicInteger();
    return new Engine(
        () -> {
          Instance instance = Engine.instance();
          if (instances.getAndIncrement() == 0) {
            instance.export("retort:contract/json@0.1.0#evaluate").apply(0xFFFF_0000L, 0xFFFF);
          }
          return instance;
        });
  }

  @Test
  void everyGoldenReportGivesItsGoldenVerdictByteForByte() {
    List<Golden> cases = Golden.verdicts();
    assertTrue(cases.size() > 100, () -> cases.size() + " cases");
    for (Golden golden : cases) {
      assertEquals(golden.verdict(), Retort.evaluate(golden.report()), golden.name());
    }
  }

  @Test
  void everyGoldenCallGivesItsGoldenOutputByteForByte() throws Exception {
    for (String line : Golden.lines("golden-calls.jsonl")) {
      JsonNode call = Json.MAPPER.readTree(line);
      String output = Retort.call(Function.of(call.get("function").textValue()), call.get("input").textValue());
      assertEquals(call.get("output").textValue(), output, call.get("name").textValue());
    }
  }

  @Test
  void aTrapFailsClosedAndTheNextCallMeetsAFreshInstance() throws Exception {
    assertThrows(
        WasmEngineException.class,
        () -> Engine.instance().export("retort:contract/json@0.1.0#evaluate").apply(0xFFFF_0000L, 0xFFFF));
    Retort retort = new Retort(trapping());
    Verdict closed = Json.MAPPER.readValue(retort.answer(Function.EVALUATE, WRITE), Verdict.class);
    assertEquals(
        new Verdict.Envelope(
            "OUTCOME_UNKNOWN",
            "unknown_outcome",
            false,
            null,
            "unknown",
            "t-1",
            "It is not known whether the operation took effect. Do not repeat it before that is known.",
            "escalate",
            null,
            null,
            null,
            null,
            null),
        closed.envelope());
    assertEquals(Retort.evaluate(WRITE), retort.answer(Function.EVALUATE, WRITE));
  }

  @Test
  void everyFunctionFailsClosedAsEveryHostDoes() throws Exception {
    Retort broken =
        new Retort(
            new Engine(
                () -> {
                  throw new TrapException("no module");
                }));
    List<String> faults = Golden.lines("faults.jsonl");
    assertTrue(faults.size() > 20);
    for (String line : faults) {
      JsonNode fault = Json.MAPPER.readTree(line);
      String output = broken.answer(Function.of(fault.get("function").textValue()), fault.get("input").textValue());
      assertEquals(
          Json.MAPPER.readTree(fault.get("output").textValue()),
          Json.MAPPER.readTree(output.replaceAll("[0-9a-f]{32}", "0".repeat(32))),
          fault.get("name").textValue());
    }
    Verdict read = broken.verdict(Report.of(new Exception()).withOperation(Operation.of("read", null, null)));
    assertEquals("DATABASE_ERROR", read.envelope().code());
    assertEquals("[]", broken.answer(Function.CODES, ""));
  }

  @Test
  void theClosedVerdictsUseTheContractsOwnTexts() {
    for (Closed.Row row : List.of(Closed.READ, Closed.WRITE)) {
      assertTrue(
          Retort.call(Function.CODES, "").contains("\"code\":\"" + row.code() + "\",\"category\":\"" + row.category() + "\""), row.code());
      assertTrue(Retort.call(Function.CODES, "").contains(row.message()), row.code());
    }
  }

  @Test
  void memoryIsBoundedAndThePeakOfALargeReportIsNotKept() throws Exception {
    Engine engine = Engine.ofCore();
    engine.call(Function.EVALUATE, "{\"error\":{\"message\":\"" + "m".repeat(Engine.LONGEST_TEXT - 100) + "\"}}");
    assertEquals(0, engine.idle());
    engine.call(Function.EVALUATE, WRITE);
    assertEquals(1, engine.idle());
    assertThrows(Engine.Fault.class, () -> engine.call(Function.EVALUATE, "m".repeat(Engine.LONGEST_TEXT + 1)));
    assertEquals(-1, Engine.instance().memory().grow(Engine.MOST_MEMORY / 65536));
  }

  @Test
  void moreMemoryThanAnInstanceMayHaveFailsClosed() {
    String many = "[" + String.join(",", java.util.Collections.nCopies(20_000, WRITE)) + "]";
    assertEquals(20_000, Retort.call(Function.EVALUATE_MANY, many).split("\"rule\":\"host/fault\"", -1).length - 1);
    assertFalse(Retort.evaluate(WRITE).contains("host/fault"));
  }

  @Test
  void textsBeyondTheBasicPlaneAndLoneSurrogatesPass() {
    for (String message : List.of("\uD835\uDD4F \u00e9", "\uD800", "a\uDC00b")) {
      assertTrue(
          Retort.evaluate("{\"error\":\"" + message + "\",\"context\":{\"trace_id\":\"t\"}}").contains("\"trace_id\":\"t\""));
      assertEquals("t", Retort.judge(Report.of(new Exception(message)).withContext(Context.EMPTY.withTraceId("t"))).envelope().traceId());
    }
  }

  @Test
  void concurrentCallsGiveTheSameBytes() throws Exception {
    String expected = Retort.evaluate(WRITE);
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      Callable<String> call = () -> Retort.evaluate(WRITE);
      for (Future<String> output : threads.invokeAll(java.util.Collections.nCopies(400, call))) {
        assertEquals(expected, output.get());
      }
    } finally {
      threads.shutdown();
    }
  }

  @Test
  void eachCategoryHasItsException() {
    Map<String, Class<? extends RetortException>> kinds =
        Map.of(
            "NOT_AUTHORIZED", RetortException.AuthException.class,
            "NOT_FOUND", RetortException.NotFoundException.class,
            "VERSION_CONFLICT", RetortException.ConflictException.class,
            "CONTRACT_BROKEN", RetortException.QueryException.class,
            "OUTCOME_UNKNOWN", RetortException.UnknownOutcomeException.class);
    kinds.forEach(
        (condition, kind) -> {
          Report report =
              Report.of(new ConditionException(condition))
                  .withOperation(Operation.of("write", "execute", "none").withOpIndex(4))
                  .withContext(Context.ofAuthorized());
          RetortException thrown = assertThrows(RetortException.class, () -> Retort.check(report));
          assertInstanceOf(kind, thrown);
          assertEquals(condition, thrown.code());
          assertNull(thrown.getCause());
          if (thrown instanceof RetortException.ConflictException conflict) {
            assertEquals(4, conflict.opIndex());
          }
        });
  }

  @Test
  void aTraceAndASeedAreMinted() {
    String first = Retort.judge(Report.of(new Exception())).envelope().traceId();
    assertTrue(first.matches("[0-9a-f]{32}"), first);
    assertNotEquals(first, Retort.judge(Report.of(new Exception())).envelope().traceId());
  }

  private static Report soon(String effect) {
    return Report.of(Operation.of(effect, null, null)).withPolicy(new Policy(1L, 2L, null, null, null));
  }

  @Test
  void workIsRepeatedAsDecisionsSayAndNoAttemptIsForgotten() {
    AtomicInteger attempts = new AtomicInteger();
    String value =
        Retort.run(
            soon("write"),
            tracker -> {
              tracker.acquiring();
              if (attempts.incrementAndGet() < 3) {
                throw new ConditionException("POOL_BUSY");
              }
              return "done";
            });
    assertEquals(List.of("done", 3), List.of(value, attempts.get()));
    RetortException last =
        assertThrows(
            RetortException.QueryException.class,
            () ->
                Retort.run(
                    soon("write"),
                    tracker -> {
                      tracker.acquiring();
                      throw new ConditionException("POOL_BUSY");
                    }));
    assertEquals(
        List.of("POOL_BUSY", "not_started", false, 3),
        List.of(
            last.code(), last.envelope().outcome(), last.envelope().retryable(),
            last.verdict().diagnostic().attemptNumber()));
  }

  @Test
  void aWriteThatMayHaveTakenEffectIsNotRepeated() {
    AtomicInteger attempts = new AtomicInteger();
    assertThrows(
        RetortException.UnknownOutcomeException.class,
        () ->
            Retort.run(
                soon("write"),
                tracker -> {
                  attempts.incrementAndGet();
                  tracker.executing();
                  tracker.autocommit();
                  throw new java.net.SocketTimeoutException("Read timed out");
                }));
    assertEquals(1, attempts.get());
  }

  @Test
  void noRetryGoesBeyondTheDeadline() {
    AtomicInteger attempts = new AtomicInteger();
    Report hasty =
        soon("read")
            .withPolicy(new Policy(600_000L, 600_000L, null, null, null))
            .withAttempt(new Attempt(1, null, null, 60_000L, null, null, null, null));
    RetortException last =
        assertThrows(
            RetortException.class,
            () ->
                Retort.run(
                    hasty,
                    tracker -> {
                      attempts.incrementAndGet();
                      throw new ConditionException("POOL_BUSY");
                    }));
    assertEquals(List.of(1, "deadline"), List.of(attempts.get(), last.verdict().decision().reason()));
  }

  @Test
  void whatIsDoneAfterAnErrorDoesNotBlurIt() {
    Tracker tracker = new Tracker(soon("write"));
    Exception lost = new java.io.EOFException("lost");
    tracker.committing();
    assertEquals("unknown", tracker.judge(lost).envelope().outcome());
    tracker.rollingBack();
    tracker.rolledBack();
    assertEquals(tracker.judge(lost), tracker.judge(new RuntimeException(lost)));
    tracker.begun();
    tracker.acquiring();
    assertEquals("unknown", tracker.judge(new ConditionException("POOL_BUSY")).envelope().outcome());
  }
}
