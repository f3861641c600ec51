package contract

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
)

// closedRow is what a fault of the module is answered with. Texts as in the contract's table of codes.
type closedRow struct{ code, category, outcome, message string }

// checkAfterMS is how long to wait before the operation key is looked up.
const checkAfterMS uint32 = 1000

var (
	closedRead = closedRow{
		"DATABASE_ERROR", "permanent", "not_committed", "The database reported an error that a retry does not mend.",
	}
	closedWrite = closedRow{
		"OUTCOME_UNKNOWN", "unknown_outcome", "unknown",
		"It is not known whether the operation took effect. Do not repeat it before that is known.",
	}
	traceIDs  = regexp.MustCompile(`^[A-Za-z0-9._:/@+#-]{1,128}$`)
	keys      = regexp.MustCompile(`^[!-~]{1,256}$`)
	selecting = regexp.MustCompile(`(?i)^\s*select\b`)
)

// noRecord is a fold that claims nothing.
var noRecord = map[string]any{
	"retort.attempts": 0, "retort.total_delay_ms": 0, "error.type": closedWrite.code,
	"retort.category": closedWrite.category, "retort.outcome": closedWrite.outcome,
	"retort.duplicates_possible": true, "retort.final": true,
}

// closedVerdict is the verdict on a report that the module could not judge: never retryable. Only what says read and shows
// nothing else than a SELECT is a read.
func closedVerdict(report Report) Verdict {
	operation := report.Operation
	row, next, key := closedWrite, "escalate", ""
	var checkAfter *uint32
	switch isRead := operation.Effect == "read" && (operation.Statement == "" || selecting.MatchString(operation.Statement)); {
	case isRead:
		row, next = closedRead, "stop"
	case keys.MatchString(operation.OperationKey):
		wait := checkAfterMS
		next, key, checkAfter = "reconcile", operation.OperationKey, &wait
	}
	trace := report.Context.TraceID
	if !traceIDs.MatchString(trace) {
		trace = mintTraceID()
	}
	return Verdict{
		Envelope: Envelope{
			Code: row.code, Category: row.category, Outcome: row.outcome, TraceID: trace, Message: row.message, Next: next,
			OperationKey: key, CheckAfterMS: checkAfter,
		},
		Decision: Decision{
			Action: next, DelayMS: checkAfter, Scope: "operation", Cleanup: "cancel_then_discard", Reason: "tool_fault",
		},
		Diagnostic: Diagnostic{
			TraceID: trace, Code: row.code, System: "_OTHER", Rule: "host/fault", Proof: "nothing", NativeCodes: []string{},
			Phase: "unknown", Transaction: "unknown", Cancel: "none", Connection: "unknown", Causes: []string{}, AttemptNumber: 1,
		},
		Attempt: map[string]any{
			"error.type": row.code, "db.system.name": "_OTHER", "db.response.status_code": "_OTHER",
			"retort.attempt.number": 1, "retort.category": row.category, "retort.outcome": row.outcome,
			"retort.retryable": false, "retort.next": next, "retort.final": true,
		},
	}
}

// closedText is what each function gives where the module could not.
func closedText(name, text string) string {
	switch name {
	case "evaluate":
		return encode(closedVerdict(claimed([]byte(text))))
	case "evaluate-many":
		var reports []json.RawMessage
		if json.Unmarshal([]byte(text), &reports) != nil {
			reports = []json.RawMessage{nil}
		}
		verdicts := make([]Verdict, len(reports))
		for index, report := range reports {
			verdicts[index] = closedVerdict(claimed(report))
		}
		return encode(verdicts)
	case "reconcile":
		return encode(closedVerdict(reconciled([]byte(text))))
	case "summarise":
		return encode(noRecord)
	case "budget":
		return `{"tokens":0}`
	case "redact":
		return encode(map[string]any{"text": "[withheld]", "findings": whole(text)})
	case "inspect":
		return encode(map[string]any{"findings": whole(text)})
	case "fingerprint":
		return `{"fingerprint":"` + strings.Repeat("0", 16) + `","shape":"","operation":"","summary":""}`
	case "render":
		envelope := closedVerdict(Report{}).Envelope
		content := []any{map[string]any{"type": "text", "text": encode(envelope)}}
		meta := map[string]any{"dev.retort/error": envelope}
		return encode(map[string]any{"content": content, "isError": true, "_meta": meta})
	case "codes":
		return "[]"
	default:
		return ""
	}
}

// claimed reads what the closed verdict needs of a report, each part for itself.
func claimed(text []byte) (report Report) {
	part(text, &report.Operation.Effect, "operation", "effect")
	part(text, &report.Operation.OperationKey, "operation", "operation_key")
	part(text, &report.Context.TraceID, "context", "trace_id")
	// A statement that is no text is none that selects.
	var statement json.RawMessage
	if part(text, &statement, "operation", "statement"); statement != nil && json.Unmarshal(statement, &report.Operation.Statement) != nil {
		report.Operation.Statement = "?"
	}
	return report
}

// reconciled is an earlier verdict that could not be judged anew: a write, whose outcome stays open.
func reconciled(text []byte) Report {
	report := claimed(text)
	report.Operation.Effect = ""
	for _, path := range [][]string{{"verdict", "envelope", "operation_key"}, {"verdict", "operation_key"}} {
		if report.Operation.OperationKey == "" {
			part(text, &report.Operation.OperationKey, path...)
		}
	}
	return report
}

// part reads one member of nested objects; what is not there, or of another kind, changes nothing.
func part(text []byte, into any, path ...string) {
	for _, name := range path {
		var members map[string]json.RawMessage
		_ = json.Unmarshal(text, &members)
		text = members[name]
	}
	_ = json.Unmarshal(text, into)
}

// whole finds everything in a text that nobody has looked at.
func whole(text string) []any {
	var inner struct{ Text *string }
	if json.Unmarshal([]byte(text), &inner) == nil && inner.Text != nil {
		text = *inner.Text
	}
	return []any{map[string]any{"kind": "unreadable", "start": 0, "end": len(text)}}
}

func mintTraceID() string {
	var random [16]byte
	_, _ = rand.Read(random[:])
	return hex.EncodeToString(random[:])
}

func encode(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
