package contract

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func number(value uint32) *uint32 { return &value }

// following is a write whose retries come at once.
func following(effect string) Report {
	return Report{Operation: Operation{Effect: effect}, Policy: Policy{BaseMS: number(1), CapMS: number(2)}}
}

func outcome(err error) string {
	judged, isJudged := Judged(err)
	if !isJudged {
		return fmt.Sprint(err)
	}
	return judged.Envelope().Code + " " + judged.Envelope().Outcome
}

func TestRunRepeatsAsDecisionsSayAndForgetsNothing(t *testing.T) {
	var attempts int
	err := Run(context.Background(), following("write"), func(ctx context.Context) error {
		attempts++
		if attempts < 3 {
			return ConditionError("POOL_BUSY")
		}
		return nil
	})
	if err != nil || attempts != 3 {
		t.Errorf("got %v after %d attempts", err, attempts)
	}
	attempts = 0
	err = Run(context.Background(), following("write"), func(ctx context.Context) error {
		attempts++
		Current(ctx).Acquiring()
		return ConditionError("POOL_BUSY")
	})
	judged, _ := Judged(err)
	if outcome(err) != "POOL_BUSY not_started" || judged.Envelope().Retryable || attempts != 3 || judged.Verdict.Diagnostic.AttemptNumber != 3 {
		t.Errorf("got %s after %d attempts", outcome(err), attempts)
	}
}

func TestRunNeverRepeatsAWriteThatMayHaveTakenEffect(t *testing.T) {
	var attempts int
	err := Run(context.Background(), following("write"), func(ctx context.Context) error {
		attempts++
		tracker := Current(ctx)
		tracker.Executing("")
		tracker.Autocommit()
		return fmt.Errorf("booking: %w", context.DeadlineExceeded)
	})
	var unknown *UnknownOutcomeError
	if !errors.As(err, &unknown) || attempts != 1 {
		t.Errorf("got %v after %d attempts", err, attempts)
	}
}

func TestRunStopsAtTheContextsDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	report := following("read")
	report.Policy = Policy{BaseMS: number(10 * 60_000), CapMS: number(20 * 60_000)}
	var attempts int
	err := Run(ctx, report, func(context.Context) error {
		attempts++
		return ConditionError("POOL_BUSY")
	})
	judged, isJudged := Judged(err)
	if !isJudged || attempts != 1 || judged.Envelope().Retryable || judged.Verdict.Decision.Reason != "deadline" {
		t.Errorf("got %+v after %d attempts", judged, attempts)
	}
	ended, end := context.WithCancel(context.Background())
	attempts = 0
	_ = Run(ended, following("read"), func(context.Context) error {
		attempts++
		end()
		return ConditionError("POOL_BUSY")
	})
	if attempts != 1 {
		t.Errorf("%d attempts after the context had ended", attempts)
	}
}

func TestWhatIsDoneAfterAnErrorDoesNotBlurIt(t *testing.T) {
	ctx, tracker := Follow(context.Background(), following("write"))
	lost := errors.New("connection reset")
	tracker.Committing()
	if cleanup := tracker.Met(ctx, lost); cleanup != "discard_connection" && cleanup != "cancel_then_discard" {
		t.Errorf("got %s", cleanup)
	}
	tracker.RollingBack()
	tracker.RolledBack()
	if verdict := tracker.Judge(ctx, fmt.Errorf("wrapped: %w", lost)); verdict.Envelope.Outcome != "unknown" {
		t.Errorf("got %+v", verdict.Envelope)
	}
	if verdict := tracker.Judge(ctx, errors.New("another")); verdict.Envelope.Outcome != "unknown" {
		t.Errorf("got %+v", verdict.Envelope)
	}
}

func TestAStepThatWasAppliedIsNotForgotten(t *testing.T) {
	ctx, tracker := Follow(context.Background(), following("write"))
	tracker.Executing("")
	tracker.Autocommit()
	tracker.Applied()
	tracker.Acquiring()
	if verdict := tracker.Judge(ctx, ConditionError("POOL_BUSY")); verdict.Envelope.Outcome != "unknown" {
		t.Errorf("got %+v", verdict.Envelope)
	}
}

func TestNobodyNeedsToFollow(t *testing.T) {
	nobody := Current(context.Background())
	nobody.Executing("")
	nobody.Done()
	if cleanup := nobody.Met(context.Background(), errors.New("any")); nobody != nil || cleanup != "none" {
		t.Errorf("got %s", cleanup)
	}
}

func TestAStatementsFirstWordsAreRead(t *testing.T) {
	for text, want := range map[string]Statement{
		"insert into t values (1);":       {Verb: "INSERT"},
		"-- why\n/* what */ COMMIT":       {Verb: "COMMIT"},
		"CREATE TABLE t (id int)":         {Verb: "CREATE", Unit: "ddl"},
		"call transfer()":                 {Verb: "CALL", Unit: "procedure"},
		"BEGIN; INSERT INTO t VALUES (1)": {Verb: "BEGIN", Unit: "batch", IsSeveral: true},
		"--":                              {},
		"/* open":                         {},
	} {
		if got := ReadStatement(text); got != want {
			t.Errorf("%s: got %+v", text, got)
		}
	}
}
