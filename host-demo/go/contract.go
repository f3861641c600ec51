// Package contract turns raw driver errors into safe public error envelopes: what happened, what became of the write,
// and whether the same call may be made again. The logic is the WebAssembly module that every host of Retort runs, so
// the same report gives the same bytes.
//
// [Evaluate] takes and gives JSON; [Judge] takes an error and what is known of the operation. Both are total and safe
// for concurrent use. Where the module fails, they fail closed: OUTCOME_UNKNOWN for a write, DATABASE_ERROR for a read.
package contract

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
)

// Evaluate takes a report and gives a verdict, both as JSON. The context's end does not end the judging.
func Evaluate(_ context.Context, report string) string { return call("evaluate", report) }

// EvaluateMany takes an array of reports and gives an array of verdicts.
func EvaluateMany(reports string) string { return call("evaluate-many", reports) }

// Reconcile judges an earlier verdict anew, with what its receipt says.
func Reconcile(reconciliation string) string { return call("reconcile", reconciliation) }

// Summarise folds the attempt records of one operation into one operation record.
func Summarise(attempts string) string { return call("summarise", attempts) }

// Budget takes {"tokens", "event", "capacity"?} and gives {"tokens"}.
func Budget(change string) string { return call("budget", change) }

// Redact takes {"text", "level"?} and gives {"text", "findings"}.
func Redact(text string) string { return call("redact", text) }

// Inspect takes {"text"} and gives {"findings"}.
func Inspect(text string) string { return call("inspect", text) }

// Fingerprint takes {"text", "dialect"?} and gives {"fingerprint", "shape", "operation", "summary"}.
func Fingerprint(statement string) string { return call("fingerprint", statement) }

// Render takes {"envelope" or "verdict", "as": mcp | problem | status | text} and gives the rendered text.
func Render(envelope string) string { return call("render", envelope) }

// Codes gives the whole table of public codes; none where the module fails.
func Codes() string { return callWithout("codes") }

// Version gives the module's version; "" where it fails.
func Version() string { return callWithout("version") }

// Judge judges one report. It mints a trace id and a seed where the report has none.
func Judge(ctx context.Context, report Report) Verdict {
	report = report.completed()
	text, err := json.Marshal(report)
	if err != nil {
		report.Error = Capture(nil)
		text, _ = json.Marshal(report)
	}
	var verdict Verdict
	if err := json.Unmarshal([]byte(Evaluate(ctx, string(text))), &verdict); err != nil {
		return closedVerdict(report)
	}
	return verdict
}

// Check judges one report and gives the verdict as a typed error: [*AuthError], [*NotFoundError], [*ConflictError],
// [*QueryError] or [*UnknownOutcomeError].
func Check(ctx context.Context, report Report) error { return Judge(ctx, report).Err() }

func call(name, text string) string {
	machine, err := compiled()
	if err != nil {
		return closedText(name, text)
	}
	return machine.callOrClose(name, text)
}

func callWithout(name string) string {
	machine, err := compiled()
	if err != nil {
		return closedText(name, "")
	}
	output, err := machine.call(name, nil)
	if err != nil {
		return closedText(name, "")
	}
	return output
}

// callOrClose fails closed.
func (e *engine) callOrClose(name, text string) string {
	output, err := e.call(name, &text)
	if err != nil {
		return closedText(name, text)
	}
	return output
}

func (r Report) completed() Report {
	if r.Context.TraceID == "" && r.Context.Traceparent == "" {
		r.Context.TraceID = mintTraceID()
	}
	if r.Seed == 0 {
		var random [4]byte
		_, _ = rand.Read(random[:])
		r.Seed = binary.LittleEndian.Uint32(random[:])
	}
	return r
}
