package contract

import "errors"

// VerdictError is a verdict as an error. Its text is the envelope's constant one; it wraps nothing, as causes leak. The typed
// errors embed it, so that errors.As finds both them and *VerdictError itself.
type VerdictError struct {
	Verdict Verdict
}

// Error gives the public code and its constant text.
func (e *VerdictError) Error() string {
	return e.Verdict.Envelope.Code + ": " + e.Verdict.Envelope.Message
}

// Envelope gives what may be published.
func (e *VerdictError) Envelope() Envelope { return e.Verdict.Envelope }

// AuthError says: refused, the kind that HTTP answers with 401 or 403.
type AuthError struct{ base }

// NotFoundError says: what was asked for does not exist.
type NotFoundError struct{ base }

// ConflictError says: the data's present state is in the way.
type ConflictError struct {
	base
	// Code is the public code.
	Code string
	// OpIndex is the operation of a batch that failed, counted from 0.
	OpIndex *uint32
}

// QueryError says: malformed, not possible now, or not possible at all; no effect is left in doubt.
type QueryError struct{ base }

// UnknownOutcomeError says: nobody knows whether the write took effect. Never repeat it blindly.
type UnknownOutcomeError struct{ base }

type base struct{ *VerdictError }

// Unwrap gives the base of all typed errors.
func (b base) Unwrap() error { return b.VerdictError }

// Err gives the verdict as a typed error.
func (v Verdict) Err() error {
	inner := base{&VerdictError{Verdict: v}}
	switch v.Envelope.Category {
	case "authorization":
		return &AuthError{inner}
	case "not_found":
		return &NotFoundError{inner}
	case "conflict":
		return &ConflictError{inner, v.Envelope.Code, v.Envelope.OpIndex}
	case "unknown_outcome":
		return &UnknownOutcomeError{inner}
	default:
		return &QueryError{inner}
	}
}

// Judged gives the verdict that an error is or wraps: it needs no judging again.
func Judged(err error) (*VerdictError, bool) {
	var judged *VerdictError
	return judged, errors.As(err, &judged)
}
