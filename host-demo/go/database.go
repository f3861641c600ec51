package contract

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// probing is how long asking for a transaction's state before COMMIT may take.
const probing = 5 * time.Second

// DB is a database/sql pool that tells the operation in its context how far it has got. It tells waiting from executing,
// never repeats a statement by itself, gives no connection back that a failure made unusable, stops a statement on the server
// whose context has ended, and returns COMMIT_ROLLED_BACK where a transaction that the server has rolled back would look
// committed.
type DB struct {
	pool    *sql.DB
	threads *threads
}

// Track makes a pool report to operations.
func Track(pool *sql.DB) *DB { return &DB{pool, threadsOf(pool)} }

// ExecContext is as [sql.DB.ExecContext].
func (db *DB) ExecContext(ctx context.Context, statement string, arguments ...any) (sql.Result, error) {
	session, err := db.session(ctx)
	if err != nil {
		return nil, err
	}
	defer session.release()
	session.sending(statement)
	result, err := session.connection.ExecContext(ctx, statement, arguments...)
	return result, session.sent(ctx, err)
}

// QueryContext is as [sql.DB.QueryContext].
func (db *DB) QueryContext(ctx context.Context, statement string, arguments ...any) (*sql.Rows, error) {
	session, err := db.session(ctx)
	if err != nil {
		return nil, err
	}
	session.sending(statement)
	rows, err := session.connection.QueryContext(ctx, statement, arguments...)
	err = session.sent(ctx, err)
	if err != nil {
		session.release()
		return nil, err
	}
	// Releasing waits until the rows are closed.
	go session.release()
	return rows, nil
}

// BeginTx is as [sql.DB.BeginTx].
func (db *DB) BeginTx(ctx context.Context, options *sql.TxOptions) (*Tx, error) {
	session, err := db.session(ctx)
	if err != nil {
		return nil, err
	}
	session.tracker.Executing("")
	// Nothing is committed before COMMIT is written, not even where BEGIN fails.
	session.tracker.Begun()
	transaction, err := session.connection.BeginTx(ctx, options)
	if err != nil {
		defer session.release()
		return nil, session.met(ctx, err)
	}
	return &Tx{session: session, transaction: transaction}, nil
}

func (db *DB) session(ctx context.Context) (*session, error) {
	tracker := Current(ctx)
	tracker.Acquiring()
	connection, err := db.pool.Conn(ctx)
	if err != nil {
		tracker.Met(ctx, err)
		return nil, err
	}
	thread, isKnown := db.threads.of(ctx, connection)
	tracker.Acquired()
	session := &session{tracker: tracker, connection: connection}
	if isKnown {
		session.stop = func() { db.threads.stop(thread) }
	}
	return session, nil
}

// Tx is a transaction that tells its operation how far it has got.
type Tx struct {
	*session
	transaction *sql.Tx
	// isSuspect: a statement failed, and some servers roll the whole transaction back then.
	isSuspect bool
	// isLost: the server has rolled it back without being asked.
	isLost bool
	isOver bool
}

// ExecContext is as [sql.Tx.ExecContext].
func (tx *Tx) ExecContext(ctx context.Context, statement string, arguments ...any) (sql.Result, error) {
	if err := tx.before(ctx, statement); err != nil {
		return nil, err
	}
	result, err := tx.transaction.ExecContext(ctx, statement, arguments...)
	return result, tx.after(ctx, err)
}

// QueryContext is as [sql.Tx.QueryContext].
func (tx *Tx) QueryContext(ctx context.Context, statement string, arguments ...any) (*sql.Rows, error) {
	if err := tx.before(ctx, statement); err != nil {
		return nil, err
	}
	rows, err := tx.transaction.QueryContext(ctx, statement, arguments...)
	return rows, tx.after(ctx, err)
}

// Commit is as [sql.Tx.Commit]. COMMIT_ROLLED_BACK where the server has rolled the transaction back.
func (tx *Tx) Commit() error {
	ctx, cancel := context.WithTimeout(context.Background(), probing)
	defer cancel()
	if err := tx.ask(ctx); err != nil {
		return err
	}
	tx.tracker.Committing()
	err := tx.transaction.Commit()
	defer tx.end()
	if err != nil {
		return tx.met(context.Background(), err)
	}
	tx.tracker.Done()
	return nil
}

// Rollback is as [sql.Tx.Rollback].
func (tx *Tx) Rollback() error {
	if tx.isOver {
		return sql.ErrTxDone
	}
	defer tx.end()
	tx.tracker.RollingBack()
	if err := tx.transaction.Rollback(); err != nil {
		tx.isUnusable = true
		return tx.met(context.Background(), err)
	}
	tx.tracker.RolledBack()
	return nil
}

func (tx *Tx) before(ctx context.Context, statement string) error {
	read := ReadStatement(statement)
	if read.Verb != "ROLLBACK" {
		if err := tx.ask(ctx); err != nil {
			return err
		}
	}
	tx.tracker.Executing(read.Unit)
	if read.IsSeveral {
		tx.tracker.Unclear()
	}
	return nil
}

func (tx *Tx) after(ctx context.Context, err error) error {
	tx.isSuspect = err != nil
	if err != nil {
		return tx.met(ctx, err)
	}
	tx.tracker.Fetching()
	return nil
}

// ask asks, after a failed statement, whether the transaction is still open: a savepoint that can be released says so.
// What a server that has rolled it back is sent next, it would commit at once.
func (tx *Tx) ask(ctx context.Context) error {
	switch {
	case tx.isLost:
		return ConditionError("COMMIT_ROLLED_BACK")
	case tx.isOver:
		return sql.ErrTxDone
	case !tx.isSuspect:
		return nil
	}
	for _, statement := range []string{"SAVEPOINT retort", "RELEASE SAVEPOINT retort"} {
		if _, err := tx.transaction.ExecContext(ctx, statement); err != nil {
			tx.isLost = true
			_ = tx.Rollback()
			tx.tracker.CommitRolledBack()
			return ConditionError("COMMIT_ROLLED_BACK")
		}
	}
	tx.isSuspect = false
	return nil
}

func (tx *Tx) end() {
	if !tx.isOver {
		tx.isOver = true
		tx.release()
	}
}

// session is one connection on loan from the pool.
type session struct {
	tracker    *Tracker
	connection *sql.Conn
	// isUnusable: the connection must not go back to its pool.
	isUnusable bool
	// isRunning: the server may still be at work for it.
	isRunning bool
	// stop tells the server so; nothing where the driver does.
	stop func()
}

func (s *session) sending(statement string) {
	read := ReadStatement(statement)
	s.tracker.Executing(read.Unit)
	s.tracker.Autocommit()
	if read.IsSeveral {
		s.tracker.Unclear()
	}
}

func (s *session) sent(ctx context.Context, err error) error {
	if err != nil {
		return s.met(ctx, err)
	}
	s.tracker.Fetching()
	s.tracker.Applied()
	return nil
}

func (s *session) met(ctx context.Context, err error) error {
	switch s.tracker.Met(ctx, err) {
	case "none", "rollback":
	default:
		s.isUnusable = true
		s.isRunning = s.isRunning || ctx.Err() != nil
	}
	return err
}

func (s *session) release() {
	if s.isUnusable {
		// The way to tell database/sql that a connection is of no more use.
		_ = s.connection.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = s.connection.Close()
	if s.isRunning && s.stop != nil {
		s.stop()
	}
}
