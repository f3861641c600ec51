// Package pgxcontract lets pgx tell an operation how far it has got: connections, pools, transactions and batches stay
// pgx's own.
//
//	config, err := pgxpool.ParseConfig(url)
//	pgxcontract.Track(config)
//	pool, err := pgxpool.NewWithConfig(ctx, config)
//
// pgx itself returns pgx.ErrTxCommitRollback where COMMIT rolled back, and its pool takes no connection back that is in a
// transaction. What is added: phase and transaction, COMMIT_ROLLED_BACK also for a COMMIT sent as a statement, and the
// end of a connection where the verdict asks for it.
package pgxcontract

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"retort.dev/contract"
)

// ending is how long cancelling and closing a connection may take.
const ending = 5 * time.Second

// The states of a connection's transaction, as PostgreSQL reports them.
const (
	idle     = 'I'
	isFailed = 'E'
)

// changeless are commands that leave nothing behind in the database.
var changeless = map[string]bool{
	"SET": true, "SHOW": true, "RESET": true, "EXPLAIN": true, "LISTEN": true, "UNLISTEN": true, "DISCARD": true,
}

// Track makes the connections of a pool report to operations, beside a tracer that the configuration has already.
func Track(config *pgxpool.Config) { TrackConn(config.ConnConfig) }

// TrackConn makes a connection report to operations, beside a tracer that the configuration has already.
func TrackConn(config *pgx.ConnConfig) {
	if config.Tracer == nil {
		config.Tracer = tracer{}
		return
	}
	config.Tracer = multitracer.New(config.Tracer, tracer{})
}

// tracer is called by pgx with the context of the call that it is about.
type tracer struct{}

var (
	_ pgx.BatchTracer       = tracer{}
	_ pgx.ConnectTracer     = tracer{}
	_ pgx.CopyFromTracer    = tracer{}
	_ pgx.PrepareTracer     = tracer{}
	_ pgx.QueryTracer       = tracer{}
	_ pgxpool.AcquireTracer = tracer{}
)

type statementKey struct{}

// TraceAcquireStart is called by pgxpool.
func (tracer) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	contract.Current(ctx).Acquiring()
	return ctx
}

// TraceAcquireEnd is called by pgxpool.
func (tracer) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	acquired(ctx, data.Err)
}

// TraceConnectStart is called by pgx.
func (tracer) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	contract.Current(ctx).Connecting()
	return ctx
}

// TraceConnectEnd is called by pgx.
func (tracer) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	acquired(ctx, data.Err)
}

// TraceQueryStart is called by pgx, with transaction commands too.
func (tracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	statement := contract.ReadStatement(data.SQL)
	// With parameters the protocol takes one statement only.
	statement.IsSeveral = statement.IsSeveral && len(data.Args) == 0
	return started(ctx, conn, statement)
}

// TraceQueryEnd is called by pgx.
func (tracer) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	ended(ctx, conn, data.CommandTag, data.Err)
}

// TraceBatchStart is called by pgx.
func (tracer) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return started(ctx, conn, contract.Statement{Unit: "batch"})
}

// TraceBatchQuery is called by pgx.
func (tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd is called by pgx.
func (tracer) TraceBatchEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchEndData) {
	ended(ctx, conn, pgconn.CommandTag{}, data.Err)
}

// TraceCopyFromStart is called by pgx.
func (tracer) TraceCopyFromStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	return started(ctx, conn, contract.Statement{Verb: "COPY", Unit: "many"})
}

// TraceCopyFromEnd is called by pgx.
func (tracer) TraceCopyFromEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceCopyFromEndData) {
	ended(ctx, conn, data.CommandTag, data.Err)
}

// TracePrepareStart is called by pgx.
func (tracer) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return ctx
}

// TracePrepareEnd is called by pgx.
func (tracer) TracePrepareEnd(ctx context.Context, conn *pgx.Conn, data pgx.TracePrepareEndData) {
	if data.Err != nil {
		met(ctx, conn, data.Err)
	}
}

func acquired(ctx context.Context, err error) {
	tracker := contract.Current(ctx)
	if err != nil {
		tracker.Met(ctx, err)
		return
	}
	tracker.Acquired()
}

func started(ctx context.Context, conn *pgx.Conn, statement contract.Statement) context.Context {
	tracker := contract.Current(ctx)
	status := conn.PgConn().TxStatus()
	tracker.Executing(statement.Unit)
	switch {
	case statement.IsSeveral || statement.Verb == "PREPARE" && status != idle:
		// PREPARE TRANSACTION leaves the decision to somebody else.
		tracker.Unclear()
	case statement.Verb == "COMMIT" || statement.Verb == "END":
		tracker.Committing()
	case statement.Verb == "ROLLBACK" || statement.Verb == "ABORT":
		tracker.RollingBack()
	case status == isFailed:
		tracker.Failed()
	case status == idle && statement.Verb != "BEGIN" && statement.Verb != "START":
		tracker.Autocommit()
	default:
		// Nothing is committed before COMMIT is written, not even where BEGIN fails.
		tracker.Begun()
	}
	return context.WithValue(ctx, statementKey{}, statement)
}

func ended(ctx context.Context, conn *pgx.Conn, tag pgconn.CommandTag, err error) {
	tracker := contract.Current(ctx)
	if err != nil {
		met(ctx, conn, err)
		return
	}
	statement, _ := ctx.Value(statementKey{}).(contract.Statement)
	isCommit := statement.Verb == "COMMIT" || statement.Verb == "END"
	isOpen := conn.PgConn().TxStatus() != idle
	switch {
	case isCommit && tag.String() == "ROLLBACK":
		tracker.CommitRolledBack()
	case isCommit:
		tracker.Done()
	case !isOpen && tag.String() == "ROLLBACK":
		tracker.RolledBack()
	case isOpen:
		// Also after ROLLBACK TO, which mends a failed transaction.
		tracker.Begun()
		tracker.Fetching()
	default:
		tracker.Fetching()
		if !changeless[statement.Verb] {
			tracker.Applied()
		}
	}
}

// met judges an error at once, and ends the connection where the verdict says so: what is closed no pool takes back.
func met(ctx context.Context, conn *pgx.Conn, err error) {
	cleanup := contract.Current(ctx).Met(ctx, err)
	if cleanup == "none" || cleanup == "rollback" || conn.IsClosed() {
		return
	}
	limited, stop := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer stop()
	if cleanup == "cancel_then_discard" {
		_ = conn.PgConn().CancelRequest(limited)
	}
	_ = conn.Close(limited)
}
