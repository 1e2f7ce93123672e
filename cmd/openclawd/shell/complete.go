package shell

import (
	"slices"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

// keywords are the SQL keywords for completion.
var keywords = strings.Fields(`ALL AND AS ASC BETWEEN BY CASE CAST CROSS DESC DISTINCT ELSE END EXCEPT EXISTS EXPLAIN FROM GROUP HAVING IN INNER
	INTERSECT IS JOIN LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OVER PARTITION QUERY PLAN RECURSIVE SELECT THEN UNION USING VALUES WHEN WHERE WITH`)

// Words are the completions: keywords, and the names of tables and columns.
func Words(tables []console.Table) []string {
	words := slices.Concat(keywords, commands)
	for _, t := range tables {
		words = append(words, t.Name)
		for _, c := range t.Columns {
			words = append(words, c.Name)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// Complete lists completions of the word before the cursor. pos counts characters.
func Complete(words []string, line string, pos int) (head string, completions []string, tail string) {
	typed := []rune(line)
	pos = min(max(pos, 0), len(typed))
	begin := pos
	for begin > 0 && inName(typed[begin-1]) {
		begin--
	}
	if begin == 1 && typed[0] == '.' {
		begin = 0 // a command
	}
	word := string(typed[begin:pos])
	head, tail = string(typed[:begin]), string(typed[pos:])
	if word == "" {
		return head, nil, tail
	}
	for _, w := range words {
		if len(w) >= len(word) && strings.EqualFold(w[:len(word)], word) {
			completions = append(completions, w)
		}
	}
	return head, completions, tail
}

func inName(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
