package contract

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Tracker follows one operation through its attempts: how far it has got, what is open, and what its errors mean. The
// adapters move it along ([Track] for database/sql, the module pgx); where there is none, the tool's code does. All
// methods are safe for concurrent use and do nothing on nil, so that adapters need not ask whether anybody follows.
//
// It follows one connection at a time: statements that run side by side need operations of their own.
type Tracker struct {
	mutex    sync.Mutex
	report   Report
	start    time.Time
	state    state
	failures []failure
}

type state struct {
	phase, transaction, unit string
	steps                    uint32
	// isRolledBack: a COMMIT was answered with a rollback, perhaps without anybody noticing.
	isRolledBack bool
}

// failure is an error with what it meant when it came: what is done afterwards must not blur it.
type failure struct {
	err     error
	verdict Verdict
}

var atFirst = state{phase: "unknown", transaction: "unknown"}

type trackerKey struct{}

// Follow begins an operation. The report says what is known of it beforehand; the context leads adapters to it, and its
// deadline is the operation's where the report has none.
func Follow(ctx context.Context, report Report) (context.Context, *Tracker) {
	tracker := &Tracker{report: report.completed(), start: time.Now(), state: atFirst}
	tracker.report.Attempt.Number = max(1, report.Attempt.Number)
	if deadline, hasDeadline := ctx.Deadline(); hasDeadline && report.Attempt.DeadlineMS == nil {
		tracker.report.Attempt.DeadlineMS = milliseconds(time.Until(deadline))
	}
	return context.WithValue(ctx, trackerKey{}, tracker), tracker
}

// Current gives the operation that the context belongs to; nil where nobody follows one.
func Current(ctx context.Context) *Tracker {
	tracker, _ := ctx.Value(trackerKey{}).(*Tracker)
	return tracker
}

// Acquiring says: a pooled connection is waited for.
func (t *Tracker) Acquiring() { t.waitFor("acquire") }

// Connecting says: a connection is being opened.
func (t *Tracker) Connecting() { t.waitFor("connect") }

// Acquired says: a connection is there. From here on nothing is known to be unsent, unless it is said.
func (t *Tracker) Acquired() { t.move(func(s *state) { s.phase = "unknown" }) }

// Executing says: a statement is sent and waited for. Unit is what it may touch; "" for one statement.
func (t *Tracker) Executing(unit string) {
	t.move(func(s *state) {
		s.leaveCommitted()
		s.phase, s.unit = "execute", unit
	})
}

// Fetching says: the rows are being read.
func (t *Tracker) Fetching() { t.move(func(s *state) { s.phase = "fetch" }) }

// Committing says: COMMIT is being written.
func (t *Tracker) Committing() {
	t.move(func(s *state) { s.phase, s.transaction = "commit", "committing" })
}

// RollingBack says: ROLLBACK is being written.
func (t *Tracker) RollingBack() { t.move(func(s *state) { s.phase = "rollback" }) }

// Done says: the server confirmed everything; what fails from here on is only the result.
func (t *Tracker) Done() {
	t.move(func(s *state) {
		s.phase = "done"
		if s.transaction != "none" {
			s.transaction = "committed"
		}
	})
}

// Begun says: a transaction is open.
func (t *Tracker) Begun() {
	t.move(func(s *state) {
		s.leaveCommitted()
		s.transaction, s.isRolledBack = "open", false
	})
}

// Autocommit says: every statement is its own transaction.
func (t *Tracker) Autocommit() { t.move(func(s *state) { s.transaction = "none" }) }

// Applied says: the server confirmed a statement in autocommit.
func (t *Tracker) Applied() { t.move(func(s *state) { s.steps++ }) }

// Failed says: the server declared the transaction failed.
func (t *Tracker) Failed() { t.move(func(s *state) { s.transaction = "failed" }) }

// Unclear says: a statement may have opened or ended a transaction.
func (t *Tracker) Unclear() { t.move(func(s *state) { s.transaction = "unknown" }) }

// RolledBack says: the server confirmed ROLLBACK. After a COMMIT without an answer that says nothing.
func (t *Tracker) RolledBack() {
	t.move(func(s *state) {
		if s.transaction != "committing" {
			s.transaction = "rolled_back"
		}
	})
}

// CommitRolledBack says: the server answered COMMIT with a rollback.
func (t *Tracker) CommitRolledBack() {
	t.move(func(s *state) { s.transaction, s.isRolledBack = "rolled_back", true })
}

// Met judges an error where it comes up, before anything is done about it, and gives the cleanup that it asks for: none,
// rollback, discard_connection, cancel_then_discard. A judgement lasts for the attempt, also for errors that wrap this one.
func (t *Tracker) Met(ctx context.Context, err error) (cleanup string) {
	if t == nil || err == nil {
		return "none"
	}
	return t.Judge(ctx, err).Decision.Cleanup
}

// Judge says what an error of the operation means.
func (t *Tracker) Judge(ctx context.Context, err error) Verdict {
	if judged, isJudged := Judged(err); isJudged {
		return judged.Verdict
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, known := range t.failures {
		if errors.Is(err, known.err) {
			return known.verdict
		}
	}
	verdict := Judge(ctx, t.reportOn(ctx, err))
	t.failures = append(t.failures, failure{err, verdict})
	return verdict
}

func (t *Tracker) reportOn(ctx context.Context, err error) Report {
	report := t.report
	report.Error = Capture(err)
	report.Operation.Phase, report.Operation.Transaction = t.state.phase, t.state.transaction
	report.Operation.StepsDone += t.state.steps
	if report.Operation.Unit == "" {
		report.Operation.Unit = t.state.unit
	}
	report.Attempt.ElapsedMS = milliseconds(time.Since(t.start))
	if report.Cancel == "" && ctx.Err() != nil {
		// Whether the server was told, nobody knows here.
		report.Cancel = "requested"
	}
	return report
}

// again begins the next attempt, which cannot forget what the last one left behind.
func (t *Tracker) again(last Verdict) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.report.Attempt.Number++
	t.report.Attempt.Prior = last.Envelope.Outcome
	t.report.Attempt.Tokens = last.Decision.TokensLeft
	t.state, t.failures = atFirst, nil
}

// unnoticed is the error that nobody raised: a COMMIT that rolled back.
func (t *Tracker) unnoticed() error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.state.isRolledBack {
		return ConditionError("COMMIT_ROLLED_BACK")
	}
	return nil
}

func (t *Tracker) move(change func(*state)) {
	if t == nil {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	change(&t.state)
}

// waitFor: where another connection is at work, an error may be that one's, and must not look as if nothing was sent.
func (t *Tracker) waitFor(phase string) {
	t.move(func(s *state) {
		s.leaveCommitted()
		s.phase = phase
		switch s.transaction {
		case "none", "open", "failed":
			s.phase = "unknown"
		}
	})
}

// leaveCommitted: what comes after a COMMIT, also after one without an answer, is a further step of the operation.
func (s *state) leaveCommitted() {
	switch s.transaction {
	case "committed", "committing", "prepared":
		s.steps++
		s.transaction = "unknown"
	}
}

func milliseconds(duration time.Duration) *uint32 {
	number := uint32(min(max(0, duration.Milliseconds()), 1<<32-1))
	return &number
}
