package contract

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	reportKey  = `,"report":`
	verdictKey = `,"verdict":{"envelope":`
)

func lines(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "tests", "corpus", file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func TestEveryGoldenReportGivesItsGoldenVerdictByteForByte(t *testing.T) {
	golden := lines(t, "golden.jsonl")
	if len(golden) < 100 {
		t.Fatalf("%d cases", len(golden))
	}
	for _, line := range golden {
		// The reports' own spelling must survive, so the line is cut, not parsed.
		start, end := strings.Index(line, reportKey), strings.LastIndex(line, verdictKey)
		report, verdict := line[start+len(reportKey):end], line[end+len(`,"verdict":`):len(line)-1]
		if got := Evaluate(context.Background(), report); got != verdict {
			t.Errorf("%s\n got %s\nwant %s", line[:start], got, verdict)
		}
	}
}

func TestEveryGoldenCallGivesItsGoldenOutputByteForByte(t *testing.T) {
	for _, line := range lines(t, "golden-calls.jsonl") {
		var golden struct{ Name, Function, Input, Output string }
		if err := json.Unmarshal([]byte(line), &golden); err != nil {
			t.Fatal(err)
		}
		if got := functions[golden.Function](golden.Input); got != golden.Output {
			t.Errorf("%s\n got %s\nwant %s", golden.Name, got, golden.Output)
		}
	}
}

var functions = map[string]func(string) string{
	"evaluate":      func(text string) string { return Evaluate(context.Background(), text) },
	"evaluate-many": EvaluateMany,
	"reconcile":     Reconcile,
	"summarise":     Summarise,
	"budget":        Budget,
	"redact":        Redact,
	"inspect":       Inspect,
	"fingerprint":   Fingerprint,
	"render":        Render,
	"codes":         func(string) string { return Codes() },
	"version":       func(string) string { return Version() },
}

const writeReport = `{"error":{"code":"23505"},"system":"postgresql","operation":{"phase":"execute","transaction":"open"},"context":{"trace_id":"t-1"}}`

// trapping is a module whose evaluate is `unreachable`: memory, an allocator, the function and its cabi_post.
func trapping() []byte {
	part := func(id byte, items ...[]byte) []byte {
		content := append([]byte{byte(len(items))}, bytes.Join(items, nil)...)
		return append(binary.AppendUvarint([]byte{id}, uint64(len(content))), content...)
	}
	export := func(name string, kind, index byte) []byte {
		return append(append([]byte{byte(len(name))}, name...), kind, index)
	}
	const i32 = 0x7f
	return bytes.Join([][]byte{
		[]byte("\x00asm\x01\x00\x00\x00"),
		part(1, []byte{0x60, 4, i32, i32, i32, i32, 1, i32}, []byte{0x60, 2, i32, i32, 1, i32}, []byte{0x60, 1, i32, 0}),
		part(3, []byte{0}, []byte{1}, []byte{2}),
		part(5, []byte{0, 1}),
		part(7,
			export("memory", 2, 0), export("cabi_realloc", 0, 0),
			export(exported+"evaluate", 0, 1), export("cabi_post_"+exported+"evaluate", 0, 2)),
		// Bodies: i32.const 16; unreachable; nothing.
		part(10, []byte{4, 0, 0x41, 16, 0x0b}, []byte{3, 0, 0x00, 0x0b}, []byte{2, 0, 0x0b}),
	}, nil)
}

func TestAModuleThatDoesNotServeFailsClosed(t *testing.T) {
	empty := []byte("\x00asm\x01\x00\x00\x00")
	broken, err := newEngine(context.Background(), empty)
	if err != nil {
		t.Fatal(err)
	}
	minted := regexp.MustCompile("[0-9a-f]{32}")
	replayed := 0
	for _, line := range lines(t, "faults.jsonl") {
		var fault struct{ Name, Function, Input, Output string }
		if err := json.Unmarshal([]byte(line), &fault); err != nil {
			t.Fatal(err)
		}
		got := minted.ReplaceAllString(broken.callOrClose(fault.Function, fault.Input), strings.Repeat("0", 32))
		var gotten, want any
		if json.Unmarshal([]byte(fault.Output), &want) != nil || json.Unmarshal([]byte(got), &gotten) != nil || !reflect.DeepEqual(gotten, want) {
			t.Errorf("%s: got %s", fault.Name, got)
		}
		replayed++
	}
	if replayed <= 20 {
		t.Errorf("%d faults", replayed)
	}
}

func TestATrapFailsClosedAndItsInstanceIsNotKept(t *testing.T) {
	machine, err := newEngine(context.Background(), trapping())
	if err != nil {
		t.Fatal(err)
	}
	text := writeReport
	if _, err := machine.call("evaluate", &text); !errors.Is(err, errFault) || len(machine.idle) != 0 {
		t.Errorf("got %v, %d idle", err, len(machine.idle))
	}
	if got := machine.callOrClose("evaluate", writeReport); !strings.Contains(got, `"rule":"host/fault"`) {
		t.Errorf("got %s", got)
	}
	if got := Evaluate(context.Background(), writeReport); !strings.Contains(got, `"code":"UNIQUE_VIOLATION"`) {
		t.Errorf("got %s", got)
	}
}

func TestTheClosedVerdictsUseTheContractsOwnTexts(t *testing.T) {
	for _, row := range []closedRow{closedRead, closedWrite} {
		want := fmt.Sprintf(`"code":%q,"category":%q,`, row.code, row.category)
		if !strings.Contains(Codes(), want) || !strings.Contains(Codes(), row.message) {
			t.Errorf("%s is not in the table", row.code)
		}
	}
}

func TestMemoryIsBoundedAndThePeakOfALargeReportIsNotKept(t *testing.T) {
	machine, err := newEngine(context.Background(), core)
	if err != nil {
		t.Fatal(err)
	}
	large := `{"error":{"message":"` + strings.Repeat("m", LongestText-100) + `"}}`
	if _, err := machine.call("evaluate", &large); err != nil {
		t.Error(err)
	}
	if len(machine.idle) != 0 {
		t.Error("the large instance is kept")
	}
	tooLong := strings.Repeat("m", LongestText+1)
	if _, err := machine.call("evaluate", &tooLong); !errors.Is(err, errFault) {
		t.Errorf("got %v", err)
	}
	instance, err := machine.take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, isGrown := instance.module.Memory().Grow(memoryPages); isGrown {
		t.Error("memory grows beyond its limit")
	}
}

func TestMoreMemoryThanAnInstanceMayHaveFailsClosed(t *testing.T) {
	ctx := context.Background()
	many := "[" + strings.TrimSuffix(strings.Repeat(writeReport+",", 20_000), ",") + "]"
	if got := strings.Count(EvaluateMany(many), `"rule":"host/fault"`); got != 20_000 {
		t.Errorf("%d constant verdicts", got)
	}
	if got := Evaluate(ctx, writeReport); strings.Contains(got, "host/fault") {
		t.Errorf("the next call gave %s", got)
	}
}

func TestConcurrentCallsGiveTheSameBytes(t *testing.T) {
	want := Evaluate(context.Background(), writeReport)
	var group sync.WaitGroup
	for range 16 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 200 {
				if got := Evaluate(context.Background(), writeReport); got != want {
					t.Error("other bytes")
					return
				}
			}
		}()
	}
	group.Wait()
}

func TestAnEndedContextDoesNotEndTheJudging(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	verdict := Judge(ctx, Report{Error: Capture(ctx.Err()), Operation: Operation{Phase: "execute", Transaction: "none"}})
	if verdict.Envelope.Outcome != "unknown" || verdict.Diagnostic.Rule == "host/fault" {
		t.Errorf("got %+v", verdict)
	}
}

func TestEachCategoryHasItsTypedError(t *testing.T) {
	place := uint32(4)
	check := func(condition string) error {
		return Check(context.Background(), Report{
			Error:     Capture(ConditionError(condition)),
			Operation: Operation{Phase: "execute", Transaction: "none", OpIndex: &place},
			Context:   Context{Authorized: true},
		})
	}
	var auth *AuthError
	var missing *NotFoundError
	var conflict *ConflictError
	var query *QueryError
	var unknown *UnknownOutcomeError
	for condition, target := range map[string]any{
		"NOT_AUTHORIZED": &auth, "NOT_FOUND": &missing, "VERSION_CONFLICT": &conflict,
		"CONTRACT_BROKEN": &query, "OUTCOME_UNKNOWN": &unknown,
	} {
		err := check(condition)
		judged, isJudged := Judged(err)
		if !errors.As(err, target) || !isJudged || judged.Envelope().Code != condition {
			t.Errorf("%s gave %T", condition, err)
		}
	}
	if conflict.Code != "VERSION_CONFLICT" || conflict.OpIndex == nil || *conflict.OpIndex != place {
		t.Errorf("got %+v", conflict)
	}
}

func TestJudgeMintsATraceAndASeed(t *testing.T) {
	first, second := Judge(context.Background(), Report{}), Judge(context.Background(), Report{})
	if len(first.Envelope.TraceID) != 32 || first.Envelope.TraceID == second.Envelope.TraceID {
		t.Errorf("got %s and %s", first.Envelope.TraceID, second.Envelope.TraceID)
	}
}

// processorTime is what this process has used so far: the machine may be busy with other things.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func benchReport(b *testing.B) string {
	text, err := os.ReadFile(filepath.Join("..", "bench", "report.json"))
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

func BenchmarkEvaluate(b *testing.B) {
	report := benchReport(b)
	Evaluate(context.Background(), report)
	start := processorTime(b)
	for b.Loop() {
		Evaluate(context.Background(), report)
	}
	b.ReportMetric(float64((processorTime(b)-start).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
}

func BenchmarkStart(b *testing.B) {
	text := benchReport(b)
	start := processorTime(b)
	for b.Loop() {
		machine, err := newEngine(context.Background(), core)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := machine.call("evaluate", &text); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime(b)-start).Nanoseconds())/1e6/float64(b.N), "cpu-ms/op")
}
