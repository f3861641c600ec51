// Package drivers tests the capture of real drivers' errors on real servers. It is a module of its own, so that the
// contract's module depends on no driver.
package drivers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/lib/pq"

	"retort.dev/contract"
)

// judged gives code, outcome, and the native codes that the tables know.
func judged(err error, system, driver string, operation contract.Operation) string {
	verdict := contract.Judge(context.Background(), contract.Report{
		Error: contract.Capture(err), System: system, Driver: driver, Operation: operation,
	})
	return fmt.Sprintf("%s %s %v", verdict.Envelope.Code, verdict.Envelope.Outcome, verdict.Diagnostic.NativeCodes)
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

var (
	autocommit = contract.Operation{Effect: "write", Phase: "execute", Transaction: "none"}
	open       = contract.Operation{Effect: "write", Phase: "execute", Transaction: "open"}
	committing = contract.Operation{Effect: "write", Phase: "commit", Transaction: "committing"}
	acquiring  = contract.Operation{Effect: "write", Phase: "acquire", Transaction: "none"}
)

func TestPgx(t *testing.T) {
	port, ctx := startPostgres(t), context.Background()
	url := fmt.Sprintf("postgres://retort@127.0.0.1:%d/postgres", port)
	pool, err := pgxpool.New(ctx, url+"?pool_max_conns=4")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	mustExec := func(statement string) {
		if _, err := pool.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	mustExec("CREATE TABLE account (id int PRIMARY KEY, balance int CHECK (balance >= 0))")
	mustExec("INSERT INTO account VALUES (1, 10)")

	_, err = pool.Exec(ctx, "INSERT INTO account VALUES (1, 10)")
	expect(t, "duplicate key", judged(err, "postgresql", "pgx", autocommit), "UNIQUE_VIOLATION not_committed [23505]")
	wrapped := fmt.Errorf("transfer: %w", errors.Join(errors.New("while booking"), err))
	expect(t, "wrapped and joined", judged(wrapped, "postgresql", "pgx", autocommit), "UNIQUE_VIOLATION not_committed [23505]")

	transaction, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = transaction.Exec(ctx, "SELECT 1 / 0"); err == nil {
		t.Fatal("no error")
	}
	err = transaction.Commit(ctx)
	if !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Fatalf("got %v", err)
	}
	expect(t, "a COMMIT that rolled back", judged(err, "postgresql", "pgx", committing), "COMMIT_ROLLED_BACK not_committed []")

	err = pool.QueryRow(ctx, "SELECT id FROM account WHERE id = 99").Scan(new(int))
	reading := contract.Operation{Effect: "read", Phase: "fetch", Transaction: "none"}
	report := contract.Report{Error: contract.Capture(err), System: "postgresql", Operation: reading, Context: contract.Context{Authorized: true}}
	expect(t, "no rows", contract.Judge(ctx, report).Envelope.Code, "NOT_FOUND")

	go func() {
		for range 100 {
			time.Sleep(50 * time.Millisecond)
			killed, _ := pool.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'INSERT%pg_sleep%' AND state = 'active'")
			if killed.RowsAffected() == 1 {
				return
			}
		}
	}()
	_, err = pool.Exec(ctx, "INSERT INTO account SELECT 2, 10 FROM (SELECT pg_sleep(30)) AS slow")
	expect(t, "killed in mid-write", judged(err, "postgresql", "pgx", autocommit), "OUTCOME_UNKNOWN unknown [57P01]")

	hasty, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err = pool.Exec(hasty, "INSERT INTO account SELECT 3, 10 FROM (SELECT pg_sleep(30)) AS slow")
	if got := judged(err, "postgresql", "pgx", autocommit); !strings.HasPrefix(got, "OUTCOME_UNKNOWN unknown") {
		t.Errorf("ended context: got %s", got)
	}

	_, err = pgx.Connect(ctx, "postgres://retort:hunter2@127.0.0.1:1/postgres")
	expect(t, "refused", judged(err, "postgresql", "pgx", acquiring), "CONNECTION_FAILED not_started []")
	if captured := fmt.Sprint(contract.Capture(err)); strings.Contains(captured, "hunter2") {
		t.Error("the capture holds the password")
	}
}

func TestPq(t *testing.T) {
	port := startPostgres(t)
	db, err := sql.Open("postgres", fmt.Sprintf("postgres://retort@127.0.0.1:%d/postgres?sslmode=disable", port))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE account (id int PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	transaction, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = transaction.Exec("INSERT INTO account VALUES (1), (1)"); err == nil {
		t.Fatal("no error")
	}
	expect(t, "duplicate key", judged(err, "postgresql", "lib/pq", open), "UNIQUE_VIOLATION not_committed [23505]")
	err = transaction.Commit()
	expect(t, "a COMMIT that rolled back", judged(err, "postgresql", "lib/pq", committing), "COMMIT_ROLLED_BACK not_committed []")
	expect(t, "a second COMMIT", fmt.Sprint(contract.Capture(transaction.Commit()).(map[string]any)["code"]), "ErrTxDone")
}

func TestMysql(t *testing.T) {
	port := startMariadb(t)
	db, err := sql.Open("mysql", fmt.Sprintf("retort@tcp(127.0.0.1:%d)/test", port))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE account (id int PRIMARY KEY, balance int) ENGINE=InnoDB"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("INSERT INTO account VALUES (1, 1), (1, 1)")
	expect(t, "duplicate key", judged(err, "mariadb", "go-sql-driver", open), "UNIQUE_VIOLATION not_committed [1062]")
	if _, err := db.Exec("INSERT INTO account VALUES (1, 1)"); err != nil {
		t.Fatal(err)
	}
	rival, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rival.Rollback() }()
	if _, err := rival.Exec("UPDATE account SET balance = 2 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("UPDATE account SET balance = 3 WHERE id = 1")
	expect(t, "lock timeout", judged(err, "mariadb", "go-sql-driver", autocommit), "LOCK_TIMEOUT not_committed [1205]")
}
