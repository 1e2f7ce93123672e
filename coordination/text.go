package coordination

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Display is a message for display.
type Display struct {
	Text   string  // Markdown kept
	State  Outcome // "" unless the message reports an outcome
	Reason string  // of State blocked or no_reply, if the message has it
}

// Clean makes a message readable: Discord mentions become names, or "@…" and the last four digits if unknown; an outcome prefix becomes
// State and Reason; secrets are masked. A nil roster knows no names.
func Clean(text string, roster *Roster) Display {
	var d Display
	outcome, rest, found := cutOutcome(text)
	if found {
		text, d.State = rest, outcome
		if outcome == OutcomeBlocked || outcome == OutcomeNoReply {
			d.Reason = Mask(resolveMentions(outcomeReason(rest), roster))
		}
	}
	d.Text = Mask(resolveMentions(TrimJS(text), roster))
	return d
}

// cutOutcome splits "[outcome] blocked: why" into outcome and text.
func cutOutcome(text string) (outcome Outcome, rest string, found bool) {
	const tag = "[outcome]"
	text = TrimJS(text)
	if len(text) < len(tag) || !strings.EqualFold(text[:len(tag)], tag) {
		return "", text, false
	}
	body := TrimJS(text[len(tag):])
	word, rest, found := strings.Cut(body, ":")
	switch strings.ToLower(TrimJS(word)) {
	case "blocked", "failed", "error", "abandoned":
		outcome = OutcomeBlocked
	case "no_reply":
		outcome = OutcomeNoReply
	case "done", "ok", "completed", "success":
		outcome = OutcomeDone
	default:
		return "", body, true
	}
	if rest = TrimJS(rest); rest == "" {
		rest = OutcomeSentence(outcome)
	}
	return outcome, rest, found || outcome != ""
}

// OutcomeSentence describes an outcome without details.
func OutcomeSentence(outcome Outcome) string {
	switch outcome {
	case OutcomeBlocked:
		return "메시지가 전달되지 않았습니다"
	case OutcomeNoReply:
		return "응답을 받지 못했습니다"
	}
	return "완료되었습니다"
}

// outcomeReason returns the final parentheses of an outcome's text, or, without them, the text if it is not the usual sentence.
func outcomeReason(text string) string {
	const usual = "응답을 받지 못했습니다"
	text = TrimJS(text)
	if strings.HasSuffix(text, ")") {
		if open := matchingParenthesis(text); open > 0 {
			return TrimJS(text[open+1 : len(text)-1])
		}
	}
	if strings.HasSuffix(strings.TrimSuffix(text, "."), usual) {
		return ""
	}
	return text
}

// matchingParenthesis returns the index of the parenthesis that the last byte closes, or -1.
func matchingParenthesis(text string) int {
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// maxMention limits a mention, including an emoji's name, in bytes.
const maxMention = 80

// resolveMentions replaces <@id>, <@!id>, <@&id> and <#id> by names, and <:emoji:id> by :emoji:.
func resolveMentions(text string, roster *Roster) string {
	open := strings.IndexByte(text, '<')
	if open < 0 {
		return text
	}
	var b strings.Builder
	for open >= 0 {
		b.WriteString(text[:open])
		text = text[open:]
		if end := strings.IndexByte(text[:min(len(text), maxMention)], '>'); end > 0 {
			if name, ok := mentionText(text[1:end], roster); ok {
				b.WriteString(name)
				text = text[end+1:]
				open = strings.IndexByte(text, '<')
				continue
			}
		}
		b.WriteByte('<')
		text = text[1:]
		open = strings.IndexByte(text, '<')
	}
	b.WriteString(text)
	return b.String()
}

func mentionText(inside string, roster *Roster) (name string, ok bool) {
	sign, id := "@", ""
	switch {
	case strings.HasPrefix(inside, "@!"), strings.HasPrefix(inside, "@&"):
		id = inside[2:]
	case strings.HasPrefix(inside, "@"):
		id = inside[1:]
	case strings.HasPrefix(inside, "#"):
		sign, id = "#", inside[1:]
	default:
		emoji, number, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(inside, "a"), ":"), ":")
		return ":" + emoji + ":", strings.Contains(inside, ":") && emoji != "" && isDigits(number) && !strings.ContainsFunc(emoji, unicode.IsSpace)
	}
	if !isDigits(id) && (sign == "#" || !isSlackUser(id)) {
		return "", false
	}
	if name := roster.mention(id); name != "" {
		return sign + name, true
	}
	return sign + "…" + id[max(0, len(id)-4):], true
}

// isSlackUser reports whether a text has the form of a user's id in Slack, which is no number.
func isSlackUser(s string) bool {
	const shortest, longest = 8, 25
	if len(s) < shortest || len(s) > longest || s[0] != 'U' && s[0] != 'W' {
		return false
	}
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'A' || s[i] > 'Z') {
			return false
		}
	}
	return true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// collapseSpace trims text and replaces every run of white space by one space.
func collapseSpace(text string) string {
	if isCollapsed(text) {
		return text
	}
	return strings.Join(strings.FieldsFunc(text, isSpaceJS), " ")
}

// isCollapsed reports whether text surely needs no collapsing. Hangul is fast; characters near the wider spaces need a closer check.
func isCollapsed(text string) bool {
	previous := byte(' ')
	for i := range len(text) {
		switch b := text[i]; {
		case b == ' ' && previous == ' ', b < ' ', b == 0xC2, b >= 0xE1 && b <= 0xE3, b == 0xEF:
			return false
		default:
			previous = b
		}
	}
	return previous != ' ' || text == ""
}

// cut shortens text to at most limit characters including the dots, without separating a character from its marks. Below four characters
// only dots remain.
func cut(text string, limit int) string {
	const dots = "..."
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	if limit <= len(dots) {
		return dots[:max(0, limit)]
	}
	return strings.TrimRightFunc(Head(text, limit-len(dots)), isSpaceJS) + dots
}

// Beginning shortens a text to at most limit characters including the dots.
func Beginning(text string, limit int) string {
	const dots = "..."
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return Head(text, limit-len(dots)) + dots
}

// Quoted masks and shortens a value that a refusal quotes.
func Quoted(value string) string {
	const most = 100 // bytes
	value = strings.ToValidUTF8(Mask(value), "\uFFFD")
	if len(value) <= most {
		return value
	}
	return Clip(value, most) + "..."
}

// Clip keeps at most so many bytes of a text, without splitting a character.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// Clipped is the beginning of a text, in whole characters and at most so many bytes, with dots behind it if it was cut.
func Clipped(text string, most int) string {
	if text = strings.ToValidUTF8(text, "\uFFFD"); len(text) > most {
		text = Clip(text, most) + "…"
	}
	return text
}

// Shown shortens a text that is shown in a message to 80 characters.
func Shown(text string) string {
	const shown = 80
	if runes := []rune(text); len(runes) > shown {
		return string(runes[:shown]) + "..."
	}
	return text
}

// Head returns at most limit characters of a text, without separating a character from its marks.
func Head(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	end := max(0, limit)
	for end > 0 && (joins(runes[end]) || runes[end-1] == zeroWidthJoiner || splitsFlag(runes, end)) {
		end--
	}
	return string(runes[:end])
}

const zeroWidthJoiner = '\u200D'

// joins reports whether r belongs to the character before it.
func joins(r rune) bool {
	return r == zeroWidthJoiner || unicode.Is(unicode.M, r) || // combining marks, variation selectors
		r >= 0x1F3FB && r <= 0x1F3FF || // skin tones
		r >= 0x1160 && r <= 0x11FF || // conjoining Hangul vowels and finals
		r >= 0xE0020 && r <= 0xE007F // flag tags
}

// splitsFlag reports whether end is between the two letters of a flag.
func splitsFlag(runes []rune, end int) bool {
	isLetter := func(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }
	letters := 0
	for i := end - 1; i >= 0 && isLetter(runes[i]); i-- {
		letters++
	}
	return isLetter(runes[end]) && letters%2 == 1
}
