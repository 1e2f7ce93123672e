package search

import "strings"

// Tokens is what FTS5 indexes of a text, without the mark at its end.
func Tokens(text string) []string {
	var t tokenizer
	t.text(text)
	return strings.Fields(strings.ReplaceAll(string(t.b), fieldEnd, ""))
}

// FTS is what FTS5 is asked for.
func FTS(w Words) string {
	var b strings.Builder
	w.match(&b)
	return b.String()
}

// Version of the files that are made.
const Version = version
