package contract

import (
	"encoding/json"
	"regexp"
	"strings"
)

// closedRow is what a fault of the module is answered with. Texts as in the contract's table of codes.
type closedRow struct{ code, category, outcome, next, reason, message string }

var (
	closedRead = closedRow{
		"DATABASE_ERROR", "permanent", "not_committed", "stop", "unrecognised",
		"The database reported an error that a retry does not mend.",
	}
	closedWrite = closedRow{
		"OUTCOME_UNKNOWN", "unknown_outcome", "unknown", "escalate", "outcome_unknown",
		"It is not known whether the operation took effect. Do not repeat it before that is known.",
	}
	traceID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)
	noTrace = strings.Repeat("0", 32)
)

// closedVerdict is the verdict on a report that the module could not judge: never retryable.
func closedVerdict(report Report) Verdict {
	row := closedWrite
	if report.Operation.Effect == "read" {
		row = closedRead
	}
	trace := noTrace
	if traceID.MatchString(report.Context.TraceID) {
		trace = report.Context.TraceID
	}
	return Verdict{
		Envelope: Envelope{
			Code: row.code, Category: row.category, Outcome: row.outcome, TraceID: trace, Message: row.message, Next: row.next,
		},
		Decision: Decision{Action: row.next, Scope: "operation", Cleanup: "cancel_then_discard", Reason: row.reason},
		Diagnostic: Diagnostic{
			TraceID: trace, Code: row.code, System: "_OTHER", Rule: "module_fault", Proof: "nothing", NativeCodes: []string{},
			Phase: "unknown", Transaction: "unknown", Cancel: "none", Connection: "unknown", Causes: []string{}, AttemptNumber: 1,
		},
		Attempt: map[string]any{
			"error.type": row.code, "db.system.name": "_OTHER", "db.response.status_code": "_OTHER",
			"retort.attempt.number": 1, "retort.category": row.category, "retort.outcome": row.outcome,
			"retort.retryable": false, "retort.next": row.next, "retort.final": true,
		},
	}
}

// closedText is what each function gives where the module could not; "": there is nothing that would be safe.
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
		return encode(closedVerdict(Report{}))
	case "budget":
		return `{"tokens":0}`
	case "redact":
		return encode(map[string]any{"text": "[unread]", "findings": whole(text)})
	case "inspect":
		return encode(map[string]any{"findings": whole(text)})
	case "render":
		envelope := closedVerdict(Report{}).Envelope
		content := []any{map[string]any{"type": "text", "text": encode(envelope)}}
		meta := map[string]any{"dev.retort/error": envelope}
		return encode(map[string]any{"content": content, "isError": true, "_meta": meta})
	default:
		return ""
	}
}

// claimed reads what the closed verdict needs of a report, each part for itself.
func claimed(text []byte) (report Report) {
	var parts struct{ Operation, Context json.RawMessage }
	_ = json.Unmarshal(text, &parts)
	var operation struct{ Effect string }
	_ = json.Unmarshal(parts.Operation, &operation)
	var context struct {
		TraceID string `json:"trace_id"`
	}
	_ = json.Unmarshal(parts.Context, &context)
	report.Operation.Effect, report.Context.TraceID = operation.Effect, context.TraceID
	return report
}

// whole finds everything in a text that nobody has looked at.
func whole(text string) []any {
	var inner struct{ Text *string }
	if json.Unmarshal([]byte(text), &inner) == nil && inner.Text != nil {
		text = *inner.Text
	}
	return []any{map[string]any{"kind": "unread", "start": 0, "end": len(text)}}
}

func encode(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
