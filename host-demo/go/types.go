package contract

// Report is one error, and all that the host knows of the operation that met it. Every word may be left empty; an
// unknown word gets the cautious reading.
type Report struct {
	// Error is what [Capture] gives, or any value that encodes to JSON.
	Error      any         `json:"error"`
	System     string      `json:"system,omitempty"`
	Driver     string      `json:"driver,omitempty"`
	Operation  Operation   `json:"operation"`
	Attempt    Attempt     `json:"attempt"`
	Cancel     string      `json:"cancel,omitempty"`
	Violations []Violation `json:"violations,omitempty"`
	Context    Context     `json:"context"`
	Policy     Policy      `json:"policy"`
	// Seed is a random number, the only source of jitter; 0: one is drawn.
	Seed uint32 `json:"seed"`
}

// Operation is what was being done when the error came.
type Operation struct {
	// Effect: read, idempotent_write, write (default).
	Effect string `json:"effect,omitempty"`
	// Phase: validate, authorize, acquire, connect, send, execute, fetch, commit, rollback, done, unknown (default).
	Phase string `json:"phase,omitempty"`
	// Transaction: none, open, committing, committed, rolled_back, failed, prepared, unknown (default).
	Transaction string `json:"transaction,omitempty"`
	// Unit: statement (default), many, batch, procedure, ddl.
	Unit      string `json:"unit,omitempty"`
	StepsDone uint32 `json:"steps_done,omitempty"`
	// Origin says who wrote the statement: tool (default) or model.
	Origin       string  `json:"origin,omitempty"`
	OperationKey string  `json:"operation_key,omitempty"`
	Dedupe       string  `json:"dedupe,omitempty"`
	KeyExpiresMS *uint32 `json:"key_expires_ms,omitempty"`
	Receipt      string  `json:"receipt,omitempty"`
	Fenced       bool    `json:"fenced,omitempty"`
	Replays      string  `json:"replays,omitempty"`
	// KeyConstraint and Statement are restricted: never published.
	KeyConstraint string  `json:"key_constraint,omitempty"`
	Statement     string  `json:"statement,omitempty"`
	OpIndex       *uint32 `json:"op_index,omitempty"`
}

// Attempt says which try of the operation met the error, and what is left. Times in milliseconds.
type Attempt struct {
	Number             uint32  `json:"number,omitempty"`
	Max                *uint32 `json:"max,omitempty"`
	ElapsedMS          *uint32 `json:"elapsed_ms,omitempty"`
	DeadlineMS         *uint32 `json:"deadline_ms,omitempty"`
	ExpectedMS         *uint32 `json:"expected_ms,omitempty"`
	ServerRetryAfterMS *uint32 `json:"server_retry_after_ms,omitempty"`
	Tokens             *uint32 `json:"tokens,omitempty"`
	// Prior is the joined outcome of earlier attempts.
	Prior string `json:"prior,omitempty"`
}

// Violation is one finding of the host's own argument check.
type Violation struct {
	Argument string `json:"argument"`
	Rule     string `json:"rule"`
}

// Context says who asked: the host's word, never the model's.
type Context struct {
	TraceID       string `json:"trace_id,omitempty"`
	Traceparent   string `json:"traceparent,omitempty"`
	OperationID   string `json:"operation_id,omitempty"`
	AttemptID     string `json:"attempt_id,omitempty"`
	Tool          string `json:"tool,omitempty"`
	ToolVersion   string `json:"tool_version,omitempty"`
	PolicyVersion string `json:"policy_version,omitempty"`
	Boundary      string `json:"boundary,omitempty"`
	Reference     string `json:"reference,omitempty"`
	Authorized    bool   `json:"authorized,omitempty"`
}

// Policy holds the numbers that backoff works with.
type Policy struct {
	BaseMS           *uint32 `json:"base_ms,omitempty"`
	CapMS            *uint32 `json:"cap_ms,omitempty"`
	MaxAttempts      *uint32 `json:"max_attempts,omitempty"`
	Capacity         *uint32 `json:"capacity,omitempty"`
	ConcealConflicts bool    `json:"conceal_conflicts,omitempty"`
}

// Verdict is what the error means, for each of its readers.
type Verdict struct {
	// Envelope is for the model, and safe to publish.
	Envelope Envelope `json:"envelope"`
	// Decision is for the program.
	Decision Decision `json:"decision"`
	// Diagnostic is for the operator: restricted, yet without credentials, row values or SQL literals.
	Diagnostic Diagnostic `json:"diagnostic"`
	// Attempt holds flat OpenTelemetry attributes.
	Attempt map[string]any `json:"attempt"`
}

// Envelope is the public error: nothing in it comes from the driver's text.
type Envelope struct {
	Code         string      `json:"code"`
	Category     string      `json:"category"`
	Retryable    bool        `json:"retryable"`
	RetryAfterMS *uint32     `json:"retry_after_ms,omitempty"`
	Outcome      string      `json:"outcome"`
	TraceID      string      `json:"trace_id"`
	Message      string      `json:"message"`
	Next         string      `json:"next"`
	OperationKey string      `json:"operation_key,omitempty"`
	CheckAfterMS *uint32     `json:"check_after_ms,omitempty"`
	OpIndex      *uint32     `json:"op_index,omitempty"`
	Arguments    []Violation `json:"arguments,omitempty"`
	Reference    string      `json:"reference,omitempty"`
}

// Decision is what the program does.
type Decision struct {
	Action  string  `json:"action"`
	DelayMS *uint32 `json:"delay_ms,omitempty"`
	Scope   string  `json:"scope"`
	// Cleanup is done before any envelope leaves the host: none, rollback, discard_connection, cancel_then_discard.
	Cleanup      string  `json:"cleanup"`
	Reason       string  `json:"reason"`
	AttemptsLeft uint32  `json:"attempts_left"`
	TokensLeft   *uint32 `json:"tokens_left,omitempty"`
}

// Diagnostic is the restricted record, found by trace id.
type Diagnostic struct {
	TraceID              string   `json:"trace_id"`
	OperationID          string   `json:"operation_id,omitempty"`
	AttemptID            string   `json:"attempt_id,omitempty"`
	Code                 string   `json:"code"`
	System               string   `json:"system"`
	Driver               string   `json:"driver,omitempty"`
	Rule                 string   `json:"rule"`
	Proof                string   `json:"proof"`
	NativeCodes          []string `json:"native_codes"`
	Phase                string   `json:"phase"`
	PhaseConflict        bool     `json:"phase_conflict"`
	Transaction          string   `json:"transaction"`
	Cancel               string   `json:"cancel"`
	Connection           string   `json:"connection"`
	Message              string   `json:"message"`
	Causes               []string `json:"causes"`
	StatementFingerprint string   `json:"statement_fingerprint,omitempty"`
	StatementSummary     string   `json:"statement_summary,omitempty"`
	AttemptNumber        uint32   `json:"attempt_number"`
	ElapsedMS            *uint32  `json:"elapsed_ms,omitempty"`
	DeadlineMS           *uint32  `json:"deadline_ms,omitempty"`
	Tool                 string   `json:"tool,omitempty"`
	ToolVersion          string   `json:"tool_version,omitempty"`
	PolicyVersion        string   `json:"policy_version,omitempty"`
	Boundary             string   `json:"boundary,omitempty"`
}
