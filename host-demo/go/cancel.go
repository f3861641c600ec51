package contract

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

const (
	// cancelling is how long telling a server to stop a statement may take.
	cancelling = 2 * time.Second

	// knownThreads bounds how many connections' threads are remembered.
	knownThreads = 1024

	threadIs = "SELECT CONNECTION_ID(), @@hostname, @@port"
	hostIs   = "SELECT @@hostname, @@port"
)

// thread is a connection's thread on a server of MySQL or MariaDB. Its number says nothing on another server, as behind a
// balancer.
type thread struct {
	id, port uint64
	hostname string
}

// threads tells the servers of a pool over github.com/go-sql-driver/mysql which statement to stop: that driver only closes
// its connection when a context ends, and the server goes on. Drivers for PostgreSQL send the server's own cancel request.
type threads struct {
	pool  *sql.DB
	mutex sync.Mutex
	known map[any]thread
}

// threadsOf gives nothing for other drivers.
func threadsOf(pool *sql.DB) *threads {
	if fmt.Sprintf("%T", pool.Driver()) != "*mysql.MySQLDriver" {
		return nil
	}
	return &threads{pool: pool, known: map[any]thread{}}
}

// of gives a connection's thread, asking each connection once; nothing where the context never ends.
func (t *threads) of(ctx context.Context, connection *sql.Conn) (found thread, isKnown bool) {
	if t == nil || ctx.Done() == nil {
		return thread{}, false
	}
	var raw any
	if connection.Raw(func(driven any) error { raw = driven; return nil }) != nil {
		return thread{}, false
	}
	t.mutex.Lock()
	found, isKnown = t.known[raw]
	t.mutex.Unlock()
	if isKnown {
		return found, true
	}
	if connection.QueryRowContext(ctx, threadIs).Scan(&found.id, &found.hostname, &found.port) != nil {
		return thread{}, false
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.known) >= knownThreads {
		clear(t.known)
	}
	t.known[raw] = found
	return found, true
}

// stop ends what still runs in a thread, over another connection to the same server. Whether it did is not known: the
// statement may have finished meanwhile.
func (t *threads) stop(running thread) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelling)
	defer cancel()
	connection, err := t.pool.Conn(ctx)
	if err != nil {
		return
	}
	defer connection.Close()
	here := thread{id: running.id}
	if connection.QueryRowContext(ctx, hostIs).Scan(&here.hostname, &here.port) == nil && here == running {
		_, _ = connection.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", running.id))
	}
}
