package contract

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"syscall"
	"unicode/utf8"
)

const (
	deepest     = 8
	mostMembers = 512
	longestText = 64 << 10
	mostText    = 128 << 10
)

// ConditionError is a condition that the host itself found out, such as COMMIT_ROLLED_BACK: a published code.
type ConditionError string

// Error gives the condition.
func (c ConditionError) Error() string { return string(c) }

// sentinels are errors without members, by the names that the contract's tables know them under.
var sentinels = []struct {
	err  error
	name string
}{
	{sql.ErrNoRows, "ErrNoRows"},
	{sql.ErrTxDone, "ErrTxDone"},
	{sql.ErrConnDone, "ErrConnDone"},
	{driver.ErrBadConn, "ErrBadConn"},
	{context.Canceled, "Canceled"},
	{context.DeadlineExceeded, "DeadlineExceeded"},
	{os.ErrDeadlineExceeded, "ErrDeadlineExceeded"},
	{io.EOF, "EOF"},
	{io.ErrUnexpectedEOF, "ErrUnexpectedEOF"},
	{net.ErrClosed, "ErrClosed"},
}

// conditions are drivers' texts, whole, for a COMMIT that the server answered with a rollback (pgx, lib/pq).
var conditions = map[string]string{
	"commit unexpectedly resulted in rollback":                 "COMMIT_ROLLED_BACK",
	"pq: could not complete operation in a failed transaction": "COMMIT_ROLLED_BACK",
}

// systemCalls are the numbers that drivers leave beneath their network errors.
var systemCalls = map[syscall.Errno]string{
	syscall.ECONNREFUSED: "ECONNREFUSED",
	syscall.ECONNRESET:   "ECONNRESET",
	syscall.ECONNABORTED: "ECONNABORTED",
	syscall.EPIPE:        "EPIPE",
	syscall.ETIMEDOUT:    "ETIMEDOUT",
	syscall.EHOSTUNREACH: "EHOSTUNREACH",
	syscall.ENETUNREACH:  "ENETUNREACH",
	syscall.ENOENT:       "ENOENT",
	syscall.EMFILE:       "EMFILE",
}

// leftOut are fields that hold parameters, rows, statements or credentials. In lower case.
var leftOut = map[string]bool{
	"args": true, "config": true, "connstring": true, "internalquery": true, "params": true, "parameters": true,
	"password": true, "query": true, "sql": true, "stack": true, "statement": true, "values": true,
}

// Capture gives an error as plain values that the contract reads: its type, text, exported fields and codes, and what it
// wraps. It never panics; depth, members and text are bounded.
func Capture(err error) any {
	if err == nil {
		return nil
	}
	return (&capture{}).error(err, 0)
}

type capture struct{ members, text int }

func (c *capture) error(err error, depth int) (captured map[string]any) {
	captured = map[string]any{}
	// A driver's own methods may panic; what was captured before stays.
	defer func() { _ = recover() }()
	captured["type"] = strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
	if condition, isCondition := err.(ConditionError); isCondition {
		return map[string]any{"condition": string(condition)}
	}
	message := err.Error()
	if condition, isKnown := conditions[message]; isKnown {
		return map[string]any{"condition": condition}
	}
	c.put(captured, "message", message)
	c.fields(captured, reflect.ValueOf(err), depth)
	c.codes(captured, err)
	if depth < deepest {
		c.causes(captured, err, depth)
	}
	return captured
}

// codes asks the error itself, through the methods that drivers agree on.
func (c *capture) codes(captured map[string]any, err error) {
	if coded, isCoded := err.(interface{ SQLState() string }); isCoded {
		c.put(captured, "sqlState", coded.SQLState())
	}
	if safe, isSafe := err.(interface{ SafeToRetry() bool }); isSafe && safe.SafeToRetry() {
		captured["code"] = "SafeToRetry=true"
	}
	if timed, isTimed := err.(interface{ Timeout() bool }); isTimed && timed.Timeout() {
		captured["timeout"] = true
	}
	if number, isNumber := err.(syscall.Errno); isNumber {
		c.put(captured, "code", systemCalls[number])
	}
	if operation, isOperation := err.(*net.OpError); isOperation {
		captured["code"] = "OpError Op=" + operation.Op
	}
	for _, sentinel := range sentinels {
		if err == sentinel.err {
			captured["code"] = sentinel.name
		}
	}
}

func (c *capture) causes(captured map[string]any, err error, depth int) {
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		if cause := wrapper.Unwrap(); cause != nil && !c.isFull() {
			captured["cause"] = c.error(cause, depth+1)
		}
	case interface{ Unwrap() []error }:
		causes := []any{}
		for _, cause := range wrapper.Unwrap() {
			if cause != nil && !c.isFull() {
				causes = append(causes, c.error(cause, depth+1))
			}
		}
		captured["errors"] = causes
	}
}

// fields takes in exported fields: numbers, truths, texts, and errors beneath.
func (c *capture) fields(captured map[string]any, value reflect.Value, depth int) {
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		return
	}
	for index := range value.NumField() {
		field := value.Type().Field(index)
		if !field.IsExported() || leftOut[strings.ToLower(field.Name)] || c.isFull() {
			continue
		}
		if plain, isPlain := c.plain(value.Field(index), depth); isPlain {
			captured[field.Name] = plain
		}
	}
}

func (c *capture) plain(value reflect.Value, depth int) (any, bool) {
	switch value.Kind() {
	case reflect.String:
		return c.cut(value.String()), value.Len() > 0
	case reflect.Bool:
		return value.Bool(), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return value.Int(), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return value.Uint(), true
	case reflect.Array:
		// go-sql-driver keeps the SQLSTATE as [5]byte; all zero: none.
		if value.Type().Elem().Kind() != reflect.Uint8 {
			return nil, false
		}
		text := make([]byte, value.Len())
		reflect.Copy(reflect.ValueOf(text), value)
		return c.cut(string(text)), text[0] != 0 && utf8.Valid(text)
	case reflect.Interface:
		inner, isError := value.Interface().(error)
		if !isError || depth >= deepest {
			return nil, false
		}
		return c.error(inner, depth+1), true
	default:
		return nil, false
	}
}

func (c *capture) put(captured map[string]any, name, text string) {
	if text != "" {
		captured[name] = c.cut(text)
	}
}

func (c *capture) isFull() bool {
	c.members++
	return c.members > mostMembers || c.text > mostText
}

// cut keeps the head and the tail of a long text.
func (c *capture) cut(text string) string {
	most := min(longestText, max(0, mostText-c.text))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most/2], "") + strings.ToValidUTF8(text[len(text)-most/2:], "")
	}
	c.text += len(text)
	return text
}
