package coordination

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// OriginUnblock is the origin of a request by openclawd, in an agent's name, to unblock its task.
const OriginUnblock = "unblock"

// Words returns the words that an event's agent or person wrote: its message, else its reply preview, else a sentence about the result of
// a spawn. It is "" for bookkeeping such as a run's prompt or a job's content, messages that openclawd wrote in an agent's name, and
// missing answers. ForPeople makes it readable.
//
// Titles, summaries, last messages and display texts are all made from it.
func Words(r *Record) string {
	if !speaks(r) {
		return ""
	}
	text := Text(r)
	if r.Type == TypeA2ASpawnResult && (text == "" || spawnAccepted.MatchString(text)) {
		return spawnSentence(r)
	}
	if !hasWords(text) {
		return ""
	}
	return text
}

// Said returns Words, unless they are a prompt of openclawd or of OpenClaw, which keep agents working: these are neither a
// title nor what was last said in a conversation.
func Said(r *Record) string {
	for _, family := range [...]string{"continuation.", "unblock.", "resume_reminder.", "backlog.", "zombie."} {
		if strings.HasPrefix(r.Type, family) {
			return ""
		}
	}
	words := Words(r)
	if isPrompt(words) {
		return ""
	}
	return words
}

// Prompt is what openclawd asks in the name of an agent.
type Prompt string

const (
	PromptUnblock     Prompt = "unblock"      // of an agent: to unblock the task of another one
	PromptUnblockLast Prompt = "unblock_last" // likewise, for the last time
	PromptEscalation  Prompt = "escalation"   // of a lead: to decide what becomes of a task
	PromptOther       Prompt = "other"
)

// PromptOf returns what a text that begins with the tag of a prompt asks, "" if an agent or a person wrote it.
func PromptOf(text string) Prompt {
	if !isPrompt(text) {
		return ""
	}
	text = TrimJS(text[len(relayTag.FindString(text)):])
	for _, known := range [...]struct {
		begin  string
		prompt Prompt
	}{
		{"[Unblock request ", PromptUnblock},
		{"[ESCALATION] Agent ", PromptUnblockLast},
		{"[ESCALATION] ", PromptEscalation},
	} {
		if strings.HasPrefix(text, known.begin) {
			return known.prompt
		}
	}
	return PromptOther
}

// isPrompt reports whether a text begins with the tag of a prompt.
func isPrompt(text string) bool {
	const longest = 256 // bytes of a relay tag, blanks and a prompt's tag
	start := head(text, longest)
	if !strings.Contains(start, "[") {
		return false
	}
	start = start[len(relayTag.FindString(start)):]
	return promptTags.MatchString(start)
}

// Text returns any text of an event: its message, else its reply preview.
func Text(r *Record) string { return firstText(r.Message, r.ReplyPreview) }

// WordsOrText returns Words, else Text, for readers that monitor the system.
func WordsOrText(r *Record) string { return firstText(Words(r), Text(r)) }

// MessageText returns WordsOrText on one line.
func MessageText(r *Record) string { return collapseSpace(WordsOrText(r)) }

// speaks reports whether an agent or person wrote the text of an event.
func speaks(r *Record) bool {
	return !Internal(r.Type) && !strings.HasPrefix(r.Type, "a2a.job.") && r.Origin != OriginUnblock
}

// hasWords reports whether a text is more than silent words.
func hasWords(text string) bool {
	if len(text) > longestSilence {
		return true
	}
	text = TrimJS(text)
	for _, silent := range [...]string{"", "NO_REPLY", "REPLY_SKIP", "ANNOUNCE_SKIP", "[completed]"} {
		if strings.EqualFold(text, silent) {
			return false
		}
	}
	return TrimJS(silentWord.ReplaceAllString(text, "")) != ""
}

func spawnSentence(r *Record) string {
	switch r.Facts.Status {
	case SpawnAccepted:
		return "하위 에이전트가 작업을 맡아 진행하고 있습니다"
	case SpawnError:
		if r.Error == "" {
			return "하위 에이전트를 시작하지 못했습니다"
		}
		return "하위 에이전트를 시작하지 못했습니다: " + collapseSpace(r.Error)
	}
	return ""
}

// ForPeople prepares a text for display: cleaned by Clean, without tags of our prompts and words for missing answers. An id becomes its
// kind, where a particle needs a noun, an agent's name, or its last four characters.
func ForPeople(text string, roster *Roster) Display {
	d := Clean(text, roster)
	d.Text, d.Reason = withoutMarks(d.Text, roster), withoutMarks(d.Reason, roster)
	return d
}

// LineForPeople is ForPeople on one line, without Markdown, cut at limit characters with "...".
func LineForPeople(text string, roster *Roster, limit int) string {
	return cut(collapseSpace(plainText(ForPeople(text, roster).Text)), limit)
}

var (
	// promptTags match the tags of openclawd's prompts.
	promptTags = regexp.MustCompile(`(?i)^(?:\s*\[(?:Continue|Define steps|Stuck|No progress|Backlog|ESCALATION|Unblock request [^\]\n]{1,20}|` +
		`Still blocked\?|Restart|Approved|Rejected|Cancelled|Resumed)\])+\s*`)
	// outcomeTag matches the tag of an outcome that a text quotes; one at its beginning is its outcome.
	outcomeTag = regexp.MustCompile(`(?i)\[\s*outcome\s*\]\s*`)
	// brokenMention matches what looks like a mention and is none that Discord writes.
	brokenMention = regexp.MustCompile(`<@[!&]?([^<>\s]{0,64})>?`)
	relayTag      = regexp.MustCompile(`^\s*\[([A-Za-z0-9_-]{1,64})\]: `)

	// silentWord matches the words by which an agent declines to answer.
	silentWord = regexp.MustCompile(`(?i:\[\s*(?:NO_REPLY_NEEDED|NOTIFICATION|NO_REPLY|REPLY_SKIP|ANNOUNCE_SKIP)\s*\])|` +
		`\b(?:NO_REPLY_NEEDED|NO_REPLY|REPLY_SKIP|ANNOUNCE_SKIP)\b\.?`)

	ownID      = regexp.MustCompile(`\b(?:task|plan|ws)_(?:[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]*`)
	sessionID  = regexp.MustCompile(`\bagent:([A-Za-z0-9_-]{1,64})(?::[A-Za-z0-9_.@/+-]+)+`)
	uuid       = regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?:\.[a-z]+[0-9]*)?\b`)
	snowflake  = regexp.MustCompile(`\b[0-9]{17,20}\b`)
	strayMarks = strings.NewReplacer("()", "", "[]", "", "``", "", `""`, "", "''", "")
)

// longestSilence limits a text of silent words, in bytes.
const longestSilence = 256

// withoutMarks removes the parts of a text meant for programs.
func withoutMarks(text string, roster *Roster) string {
	if strings.Contains(text, "[") {
		if m := relayTag.FindStringSubmatch(text); m != nil && roster.knows(m[1]) {
			text = text[len(m[0]):]
		}
		text = outcomeTag.ReplaceAllString(promptTags.ReplaceAllString(text, ""), "")
	}
	if strings.Contains(text, "<@") {
		text = brokenMention.ReplaceAllString(text, "@$1")
	}
	if strings.ContainsAny(text, "[_") && silentWord.MatchString(text) {
		text = cutWords(text, silentWord, func(string) string { return "" })
	}
	if strings.Contains(text, "agent:") {
		text = cutWords(text, sessionID, func(key string) string { return roster.Name(sessionID.FindStringSubmatch(key)[1]) })
	}
	if strings.Contains(text, "task_") || strings.Contains(text, "plan_") || strings.Contains(text, "ws_") {
		text = cutWords(text, ownID, func(string) string { return "" })
	}
	if strings.Count(text, "-") >= 4 {
		text = cutWords(text, uuid, lastFour)
	}
	if hasLongNumber(text) {
		text = cutWords(text, snowflake, lastFour)
	}
	return TrimJS(text)
}

func lastFour(id string) string { return "…" + id[len(id)-4:] }

func hasLongNumber(text string) bool {
	const shortest = 17
	digits := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			digits = 0
		} else if digits++; digits == shortest {
			return true
		}
	}
	return false
}

// cutWords replaces the matches of a pattern. Removing one also removes the quotes or parentheses around it and the particle after it,
// or, with a particle that needs it, puts the noun of the id in its place. File names and parts of paths stay.
func cutWords(text string, pattern *regexp.Regexp, with func(word string) string) string {
	return replaceWords(text, pattern, func(word string) (put, spoken string) {
		put = with(word)
		return put, put
	})
}

// replaceWords is cutWords with words that are spoken otherwise than they are written, which decides the form of a particle.
func replaceWords(text string, pattern *regexp.Regexp, with func(word string) (put, spoken string)) string {
	found := pattern.FindAllStringIndex(text, -1)
	if len(found) == 0 {
		return text
	}
	b := make([]byte, 0, len(text))
	from := 0
	for _, at := range found {
		start, end := at[0], at[1]
		if start < from || inPath(text, start, end) {
			continue
		}
		word := text[start:end]
		b = append(b, text[from:start]...)
		b, end = unwrap(b, text, end)
		suffix := suffixOf(text[end:])
		noun := nounOf(word)
		put, spoken := with(word)
		from = end + suffix.length
		switch {
		case put != "":
			b = append(append(b, put...), suffix.after(spoken)...)
		case noun != "" && suffix.isKorean():
			b = appendNoun(b, noun)
			b = append(b, suffix.after(string(b))...)
		default:
			b, from = closeGap(b, text, from)
		}
	}
	return strayMarks.Replace(string(append(b, text[from:]...)))
}

// inPath reports whether text[start:end] is part of a path or file name.
func inPath(text string, start, end int) bool {
	return start > 0 && strings.IndexByte(`/\`, text[start-1]) >= 0 || end < len(text) && text[end] == '/' || strings.HasPrefix(text[end:], ".md")
}

// unwrap removes the quotes or parentheses around a removed word, at the end of b and at text[end:].
func unwrap(b []byte, text string, end int) ([]byte, int) {
	const open, closed = "(`\"'", ")`\"'"
	if len(b) == 0 || end >= len(text) {
		return b, end
	}
	if i := strings.IndexByte(open, b[len(b)-1]); i >= 0 && text[end] == closed[i] {
		return b[:len(b)-1], end + 1
	}
	return b, end
}

// closeGap joins b and text[from:] without a doubled blank or comma.
func closeGap(b []byte, text string, from int) (before []byte, next int) {
	before = bytes.TrimRight(b, " ")
	rest := text[from:]
	switch {
	case len(before) == 0 || strings.IndexByte("\n:,;(", before[len(before)-1]) >= 0:
		rest = strings.TrimLeft(rest, " :,;")
		if len(before) > 0 && strings.IndexByte("\n(", before[len(before)-1]) < 0 && rest != "" && rest[0] != '\n' {
			before = append(before, ' ')
		}
	case rest != "" && strings.IndexByte(" \n.,:;!?)", rest[0]) < 0 && len(before) < len(b):
		before = append(before, ' ')
	}
	return before, len(text) - len(rest)
}

// nounOf returns the kind of thing that an id names.
func nounOf(id string) string {
	switch {
	case strings.HasPrefix(id, "task_"):
		return "작업"
	case strings.HasPrefix(id, "plan_"):
		return "계획"
	case strings.HasPrefix(id, "ws_"):
		return "작업 세션"
	}
	return ""
}

// appendNoun writes a noun, unless b ends with it.
func appendNoun(b []byte, noun string) []byte {
	if before := strings.TrimRight(string(b), " "); noun != "" && strings.HasSuffix(before, noun) {
		return b[:len(before)]
	}
	return append(b, noun...)
}

// suffix is a particle or title written directly after a name or an id.
type suffix struct {
	particle string // a Korean particle, or "'s"; ""
	length   int    // bytes of all of it, including 님, 씨, 아, 야
}

// Particles by their forms after a consonant and after a vowel. Vocatives and invariable ones have a single form.
var (
	pairedParticles = [...][2]string{{"을", "를"}, {"이", "가"}, {"은", "는"}, {"과", "와"}, {"으로", "로"}, {"이랑", "랑"}, {"이나", "나"}}
	plainParticles  = [...]string{"의", "에서", "에게서", "에게", "에", "한테서", "한테", "께서", "께", "도", "만", "부터", "까지", "처럼", "보다", "마다", "이든", "라도"}
	politeWords     = [...]string{"님", "씨"}
	vocatives       = [...]string{"아", "야"}
)

// isKorean reports whether the suffix has a particle, which needs a noun.
func (s suffix) isKorean() bool {
	return s.particle != "" && s.particle[0] >= utf8.RuneSelf && !strings.HasPrefix(s.particle, "’") || strings.HasPrefix(s.particle, "(")
}

// suffixOf parses the suffix at the start of text; zero if the word continues.
func suffixOf(text string) suffix {
	for _, s := range []string{"'s", "’s"} {
		if rest, is := strings.CutPrefix(text, s); is && wordEnds(rest) {
			return suffix{s, len(s)}
		}
	}
	title := 0
	bare := strings.TrimPrefix(text, " ")
	for _, h := range politeWords {
		if rest, is := strings.CutPrefix(bare, h); is && (wordEnds(rest) || particleOf(rest) != "") {
			title = len(text) - len(rest)
			text = rest
			break
		}
	}
	if p := particleOf(text); p != "" {
		return suffix{p, title + len(p)}
	}
	for _, v := range vocatives {
		if rest, is := strings.CutPrefix(text, v); is && title == 0 && wordEnds(rest) {
			return suffix{"", len(v)}
		}
	}
	return suffix{"", title}
}

// particleOf returns the particles at the start of text, "" if the word continues. The open form "을(를)" counts as one.
func particleOf(text string) string {
	if rest := afterParticle(text); len(rest) < len(text) {
		if wordEnds(rest) {
			return text[:len(text)-len(rest)]
		}
		if more := particleOf(rest); more != "" {
			return text[:len(text)-len(rest)+len(more)]
		}
	}
	return ""
}

// afterParticle returns the text after the longest particle at its start; all of it without one.
func afterParticle(text string) string {
	longest := 0
	try := func(p string) {
		if len(p) > longest && strings.HasPrefix(text, p) {
			longest = len(p)
		}
	}
	try("(으)로")
	for _, pair := range pairedParticles {
		for i, p := range pair {
			try(p)
			try(p + "(" + pair[1-i] + ")")
		}
	}
	for _, p := range plainParticles {
		try(p)
	}
	return text[longest:]
}

// wordEnds reports whether no word continues in rest.
func wordEnds(rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !IsWordRune(next)
}

// after returns the suffix adapted to another word: without vocatives, with the fitting form.
func (s suffix) after(word string) string {
	for _, pair := range pairedParticles {
		for i, p := range pair {
			rest, is := strings.CutPrefix(s.particle, p+"("+pair[1-i]+")")
			if !is {
				rest, is = strings.CutPrefix(s.particle, p)
			}
			if is && (rest == "" || afterParticle(rest) != rest) {
				return particleFor(word, pair) + rest
			}
		}
	}
	if rest, is := strings.CutPrefix(s.particle, "(으)로"); is {
		return particleFor(word, pairedParticles[4]) + rest
	}
	return s.particle
}

// particleFor selects the form of a particle. After ㄹ it is 로.
func particleFor(word string, pair [2]string) string {
	if last, _ := utf8.DecodeLastRuneInString(word); pair[1] == "로" && last >= '가' && last <= '힣' && (last-'가')%28 == 8 {
		return pair[1]
	}
	return particle(word, pair[0], pair[1])
}

// knows reports whether the team has an agent of this name.
func (r *Roster) knows(agentID string) bool {
	id := strings.ToLower(agentID)
	return r != nil && (r.Main[id] || r.Utility[id])
}
