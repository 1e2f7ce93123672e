package notifier

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/pronto-lab/openclawd/coordination"
)

// shownCall is a call as people see it before they decide: its tool, and its arguments as they are. whole is false if something is missing.
func shownCall(in coordination.Language, asked *coordination.CallApprovalRequested) (text string, whole bool) {
	tool, _ := visible(asked.Tool, stepLength)
	text = "`" + strings.ReplaceAll(tool, "`", "'") + "`\n"
	arguments := withoutEscapes(string(asked.Arguments))
	shown, n := visible(arguments, argumentsLength)
	if n > 0 {
		text += "```json\n" + harmless(shown) + "\n```\n"
	}
	if n > 0 && n == len(arguments) {
		return text, true
	}
	missing := in.Say("**%[2]d바이트 중 %[1]d바이트만 표시됨.** 전체를 본 뒤 Task-Hub의 Inbox 또는 `openclawd approvals show %[3]s`에서 결정하세요\n",
		"**%d of %d bytes shown.** Look at all of it and decide in Task-Hub's Inbox, or with `openclawd approvals show %s`\n")
	return text + fmt.Sprintf(missing, n, max(len(arguments), asked.ArgumentsBytes), asked.ApprovalID), false
}

// escapes matches an escape of JSON: whole, so that a backslash which is escaped begins no other.
var escapes = regexp.MustCompile(`\\(u003c|u003e|u0026|.)`)

// withoutEscapes undoes what the log escapes for HTML, which people would have to decode: <, > and &.
func withoutEscapes(text string) string {
	return escapes.ReplaceAllStringFunc(text, func(escape string) string {
		switch escape {
		case `\u003c`:
			return "<"
		case `\u003e`:
			return ">"
		case `\u0026`:
			return "&"
		}
		return escape
	})
}

// visible is the beginning of a JSON text in at most so many characters, and how many bytes of the text that shows. Characters that one
// does not see, and what would end a code block, are written as escapes of JSON, which mean the same.
func visible(text string, limit int) (shown string, n int) {
	var b strings.Builder
	room, marks := limit, 0 // marks in a row, up to here
	for i, r := range text {
		if marks++; r != '`' {
			marks = 0
		}
		one := string(r)
		if marks == codeMarks || !isVisible(r) {
			one, marks = escaped(r), 0
		}
		if room -= len([]rune(one)); room < 0 {
			return b.String(), i
		}
		b.WriteString(one)
	}
	return b.String(), len(text)
}

// codeMarks is how many marks in a row end a code block.
const codeMarks = 3

func isVisible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func escaped(r rune) (text string) {
	for _, unit := range utf16.AppendRune(nil, r) {
		text += fmt.Sprintf(`\u%04x`, unit)
	}
	return text
}
