package contract

import (
	"context"
	"time"
)

// Run runs work as one operation and repeats it as decisions say: after their delay, within their attempts, and not
// beyond the context's deadline. The report says what is known of the operation: effect, key, limits, who asks. Adapters
// find the operation in the context that work gets.
//
// The error is a typed one, as of [Check], with the last verdict; nil after a success.
func Run(ctx context.Context, report Report, work func(ctx context.Context) error) error {
	followed, tracker := Follow(ctx, report)
	for {
		err := work(followed)
		if err == nil {
			err = tracker.unnoticed()
		}
		if err == nil {
			return nil
		}
		verdict := tracker.Judge(ctx, err)
		if !verdict.Envelope.Retryable || !wait(ctx, verdict.Decision) {
			return verdict.Err()
		}
		tracker.again(verdict)
	}
}

// wait waits as long as the decision says; false where the context ends before.
func wait(ctx context.Context, decision Decision) bool {
	var delay time.Duration
	if decision.DelayMS != nil {
		delay = time.Duration(*decision.DelayMS) * time.Millisecond
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
