package contract

import "strings"

// Statement is what a statement's first words tell of it. No parser: what is unclear is several.
type Statement struct {
	// Verb is the first word, in capitals.
	Verb string
	// Unit is what it may touch, as in [Operation]; "" for one statement.
	Unit string
	// IsSeveral: a text of several statements, which may begin and end transactions.
	IsSeveral bool
}

var units = map[string]string{
	"ALTER": "ddl", "CREATE": "ddl", "DROP": "ddl", "RENAME": "ddl", "TRUNCATE": "ddl",
	"CALL": "procedure", "DO": "procedure",
}

// ReadStatement reads a statement's first word.
func ReadStatement(text string) Statement {
	text = withoutComments(text)
	end := strings.IndexFunc(text, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' })
	if end < 0 {
		end = len(text)
	}
	statement := Statement{Verb: strings.ToUpper(text[:end])}
	statement.Unit = units[statement.Verb]
	if strings.Contains(strings.TrimRight(text, "; \t\r\n"), ";") {
		statement.Unit, statement.IsSeveral = "batch", true
	}
	return statement
}

// withoutComments gives the text after leading space and comments.
func withoutComments(text string) string {
	for {
		text = strings.TrimLeft(text, "; \t\r\n")
		opening, closing := "", ""
		switch {
		case strings.HasPrefix(text, "--"):
			opening, closing = "--", "\n"
		case strings.HasPrefix(text, "/*"):
			opening, closing = "/*", "*/"
		default:
			return text
		}
		_, text, _ = strings.Cut(text[len(opening):], closing)
	}
}
