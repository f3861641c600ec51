package drivers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"retort.dev/contract"
	"retort.dev/contract/pgxcontract"
)

func write(attempts uint32) contract.Report {
	soon := uint32(1)
	return contract.Report{
		Operation: contract.Operation{Effect: "write"},
		Attempt:   contract.Attempt{Max: &attempts},
		Policy:    contract.Policy{BaseMS: &soon, CapMS: &soon},
	}
}

func ended(err error) string {
	judged, isJudged := contract.Judged(err)
	if !isJudged {
		return fmt.Sprint(err)
	}
	return judged.Envelope().Code + " " + judged.Envelope().Outcome
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until repeats an attempt, for as long as a test may take.
func until(t *testing.T, isDone func() bool) {
	for range 500 {
		if isDone() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("it does not come to pass")
}

func TestPgxTellsItsOperationHowFarItHasGot(t *testing.T) {
	url := fmt.Sprintf("postgres://retort@127.0.0.1:%d/postgres?pool_max_conns=2", startPostgres(t))
	config, err := pgxpool.ParseConfig(url)
	must(t, err)
	pgxcontract.Track(config)
	ctx := context.Background()
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(t, err)
	defer pool.Close()
	admin, err := sql.Open("postgres", url[:len(url)-len("pool_max_conns=2")]+"sslmode=disable")
	must(t, err)
	defer admin.Close()
	_, err = admin.Exec("CREATE TABLE account (id int PRIMARY KEY)")
	must(t, err)
	rows := func() (count int) {
		must(t, admin.QueryRow("SELECT count(*) FROM account").Scan(&count))
		return count
	}
	// A killed backend is seen for a moment longer, and must not be taken for the next one.
	killed := 0
	kill := func() {
		until(t, func() bool {
			const running = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'INSERT%pg_sleep%' AND state = 'active' AND pid <> $1"
			if admin.QueryRow(running, killed).Scan(&killed) != nil {
				return false
			}
			_, err := admin.Exec("SELECT pg_terminate_backend($1)", killed)
			return err == nil
		})
	}
	const slowly = "INSERT INTO account SELECT 90 FROM (SELECT pg_sleep(30)) AS slow"

	t.Run("a COMMIT that rolled back is repeated", func(t *testing.T) {
		var attempts int
		err := contract.Run(ctx, write(3), func(ctx context.Context) error {
			attempts++
			transaction, err := pool.Begin(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = transaction.Rollback(ctx) }()
			if _, err := transaction.Exec(ctx, "INSERT INTO account VALUES (1)"); err != nil {
				return err
			}
			if attempts == 1 {
				_, _ = transaction.Exec(ctx, "SELECT 1 / 0")
			}
			return transaction.Commit(ctx)
		})
		expect(t, "end", fmt.Sprint(err, attempts, rows()), "<nil> 2 1")
	})
	t.Run("a COMMIT that nobody saw roll back", func(t *testing.T) {
		err := contract.Run(ctx, write(1), func(ctx context.Context) error {
			connection, err := pool.Acquire(ctx)
			if err != nil {
				return err
			}
			defer connection.Release()
			for _, statement := range []string{"BEGIN", "SELECT 1 / 0", "COMMIT"} {
				_, _ = connection.Exec(ctx, statement)
			}
			return nil
		})
		expect(t, "end", ended(err), "COMMIT_ROLLED_BACK not_committed")
	})
	t.Run("a duplicate key, after ROLLBACK, wrapped", func(t *testing.T) {
		err := contract.Run(ctx, write(1), func(ctx context.Context) error {
			transaction, err := pool.Begin(ctx)
			if err != nil {
				return err
			}
			_, err = transaction.Exec(ctx, "INSERT INTO account VALUES (1)")
			_ = transaction.Rollback(ctx)
			return fmt.Errorf("booking: %w", err)
		})
		var conflict *contract.ConflictError
		if expect(t, "end", ended(err), "UNIQUE_VIOLATION not_committed"); !errors.As(err, &conflict) {
			t.Errorf("got %T", err)
		}
	})
	t.Run("after an applied statement", func(t *testing.T) {
		err := contract.Run(ctx, write(1), func(ctx context.Context) error {
			if _, err := pool.Exec(ctx, "INSERT INTO account VALUES (2)"); err != nil {
				return err
			}
			_, err := pool.Exec(ctx, "INSERT INTO account VALUES (2)")
			return err
		})
		expect(t, "end", ended(err), "PARTIAL_OUTCOME unknown")
	})
	t.Run("killed in mid-write", func(t *testing.T) {
		go kill()
		err := contract.Run(ctx, write(3), func(ctx context.Context) error {
			_, err := pool.Exec(ctx, slowly)
			return err
		})
		expect(t, "end", ended(err), "OUTCOME_UNKNOWN unknown")
	})
	t.Run("killed in a transaction", func(t *testing.T) {
		go kill()
		err := contract.Run(ctx, write(1), func(ctx context.Context) error {
			transaction, err := pool.Begin(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = transaction.Rollback(ctx) }()
			_, err = transaction.Exec(ctx, slowly)
			return err
		})
		judged, isJudged := contract.Judged(err)
		if !isJudged || judged.Envelope().Outcome != "not_committed" || judged.Verdict.Diagnostic.Transaction != "open" {
			t.Errorf("got %+v", judged)
		}
	})
	t.Run("no connection in time", func(t *testing.T) {
		var held []*pgxpool.Conn
		for range 2 {
			connection, err := pool.Acquire(ctx)
			must(t, err)
			held = append(held, connection)
		}
		hasty, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		err := contract.Run(hasty, write(1), func(ctx context.Context) error {
			_, err := pool.Exec(ctx, "INSERT INTO account VALUES (3)")
			return err
		})
		judged, isJudged := contract.Judged(err)
		if !isJudged || judged.Envelope().Outcome != "not_started" || judged.Verdict.Diagnostic.Phase != "acquire" {
			t.Errorf("got %+v", judged)
		}
		for _, connection := range held {
			connection.Release()
		}
	})
	expect(t, "rows", fmt.Sprint(rows()), "2")
}

// tracked is a pool with two accounts, and what tells that no connection is on loan.
func tracked(t *testing.T, driver, source string) (*sql.DB, *contract.DB) {
	pool, err := sql.Open(driver, source)
	must(t, err)
	t.Cleanup(func() {
		until(t, func() bool { return pool.Stats().InUse == 0 })
		_ = pool.Close()
	})
	_, err = pool.Exec("CREATE TABLE account (id int PRIMARY KEY, balance int)")
	must(t, err)
	_, err = pool.Exec("INSERT INTO account VALUES (1, 1), (2, 2)")
	must(t, err)
	return pool, contract.Track(pool)
}

func balances(t *testing.T, db *contract.DB) (all []int) {
	t.Helper()
	rows, err := db.QueryContext(context.Background(), "SELECT balance FROM account ORDER BY id")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var balance int
		must(t, rows.Scan(&balance))
		all = append(all, balance)
	}
	must(t, rows.Err())
	return all
}

// within runs statements in a transaction, going on after each failure, and commits.
func within(db *contract.DB, statements ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		transaction, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = transaction.Rollback() }()
		for _, statement := range statements {
			_, _ = transaction.ExecContext(ctx, statement)
		}
		return transaction.Commit()
	}
}

func TestDatabaseSqlOnPostgresTellsItsOperationHowFarItHasGot(t *testing.T) {
	pool, db := tracked(t, "postgres", fmt.Sprintf("postgres://retort@127.0.0.1:%d/postgres?sslmode=disable", startPostgres(t)))
	ctx := context.Background()
	const duplicate = "INSERT INTO account VALUES (1, 1)"

	err := contract.Run(ctx, write(1), func(ctx context.Context) error {
		_, err := db.ExecContext(ctx, duplicate)
		return err
	})
	expect(t, "duplicate key", ended(err), "UNIQUE_VIOLATION not_committed")
	err = contract.Run(ctx, write(1), within(db, "INSERT INTO account VALUES (3, 3)", duplicate))
	expect(t, "a COMMIT that rolled back", ended(err), "COMMIT_ROLLED_BACK not_committed")
	err = contract.Run(ctx, write(1), within(db, "INSERT INTO account VALUES (3, 3)", "SAVEPOINT here", duplicate, "ROLLBACK TO here"))
	expect(t, "a COMMIT after ROLLBACK TO", fmt.Sprint(err), "<nil>")

	var pid int
	err = contract.Run(ctx, write(1), func(ctx context.Context) error {
		transaction, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		rows, err := transaction.QueryContext(ctx, "SELECT pg_backend_pid()")
		if err != nil {
			return err
		}
		rows.Next()
		_ = rows.Scan(&pid)
		_ = rows.Close()
		if _, err := pool.ExecContext(ctx, "SELECT pg_terminate_backend($1)", pid); err != nil {
			return err
		}
		return transaction.Commit()
	})
	if judged, isJudged := contract.Judged(err); !isJudged || judged.Envelope().Outcome != "unknown" || judged.Verdict.Diagnostic.Phase != "commit" {
		t.Errorf("killed before COMMIT: got %+v", judged)
	}
	expect(t, "balances", fmt.Sprint(balances(t, db)), "[1 2 3]")
}

func TestDatabaseSqlOnMariadbSendsNothingIntoATransactionThatADeadlockEnded(t *testing.T) {
	pool, db := tracked(t, "mysql", fmt.Sprintf("retort@tcp(127.0.0.1:%d)/test", startMariadb(t)))
	ctx := context.Background()

	err := contract.Run(ctx, write(1), within(db, "INSERT INTO account VALUES (1, 1)", "INSERT INTO account VALUES (3, 3)"))
	expect(t, "a COMMIT after a failed statement", fmt.Sprint(err), "<nil>")

	rival, err := pool.Begin()
	must(t, err)
	defer func() { _ = rival.Rollback() }()
	// The heavier transaction survives a deadlock.
	for _, statement := range []string{"INSERT INTO account VALUES (7, 7), (8, 8), (9, 9)", "UPDATE account SET balance = 20 WHERE id = 2"} {
		_, err = rival.Exec(statement)
		must(t, err)
	}
	crossing := make(chan error, 1)
	err = contract.Run(ctx, write(1), func(ctx context.Context) error {
		transaction, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = transaction.Rollback() }()
		if _, err := transaction.ExecContext(ctx, "UPDATE account SET balance = 10 WHERE id = 1"); err != nil {
			return err
		}
		go func() {
			_, err := rival.Exec("UPDATE account SET balance = 11 WHERE id = 1")
			crossing <- err
		}()
		if _, err := transaction.ExecContext(ctx, "UPDATE account SET balance = 21 WHERE id = 2"); err == nil {
			return errors.New("no deadlock")
		}
		_, _ = transaction.ExecContext(ctx, "INSERT INTO account VALUES (4, 4)")
		return transaction.Commit()
	})
	expect(t, "a COMMIT after a deadlock", ended(err), "COMMIT_ROLLED_BACK not_committed")
	must(t, <-crossing)
	must(t, rival.Rollback())
	expect(t, "balances", fmt.Sprint(balances(t, db)), "[1 2 3]")
}

func TestDatabaseSqlOnMariadbStopsAStatementWhoseContextHasEnded(t *testing.T) {
	pool, db := tracked(t, "mysql", fmt.Sprintf("retort@tcp(127.0.0.1:%d)/test", startMariadb(t)))
	const slowly = "INSERT INTO account SELECT 3, sleep(30)"
	running := func() (count int) {
		must(t, pool.QueryRow("SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'INSERT%sleep%'").Scan(&count))
		return count
	}
	alone := func(ctx context.Context) error {
		_, err := db.ExecContext(ctx, slowly)
		return err
	}
	inside := func(ctx context.Context) error {
		transaction, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = transaction.Rollback() }()
		_, err = transaction.ExecContext(ctx, slowly)
		return err
	}
	for outcome, work := range map[string]func(context.Context) error{
		"OUTCOME_UNKNOWN unknown": alone, "CANCELLED not_committed": inside,
	} {
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			until(t, func() bool { return running() == 1 })
			cancel()
		}()
		expect(t, "end", ended(contract.Run(ctx, write(1), work)), outcome)
		until(t, func() bool { return running() == 0 })
	}
	expect(t, "balances", fmt.Sprint(balances(t, db)), "[1 2]")
}
