package coordination

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// OriginUnblock is the origin of a message that openclawd writes in an agent's name: a request to unblock its task.
const OriginUnblock = "unblock"

// Said is what someone says by an event, as it was written: its message, else its reply preview, else a sentence about how a spawn went. It is ""
// for events by which no one says anything: our own book-keeping, such as what a run is asked or what a job holds, messages that openclawd has
// written in an agent's name, and answers that say that there is none. ForPeople makes it readable.
//
// Titles, summaries, last messages and display texts are all made from it.
func Said(r *Record) string {
	if !speaks(r) {
		return ""
	}
	text := Carried(r)
	if r.Type == TypeA2ASpawnResult && (text == "" || spawnAccepted.MatchString(text)) {
		return spawnSentence(r)
	}
	if !hasWords(text) {
		return ""
	}
	return text
}

// Carried is the text that an event has with it, whether someone has said it or not: its message, else its reply preview.
func Carried(r *Record) string { return firstText(r.Message, r.ReplyPreview) }

// Told is what is said by an event, else what it carries: for readers that look after the system.
func Told(r *Record) string { return firstText(Said(r), Carried(r)) }

// MessageText is the same in one line.
func MessageText(r *Record) string { return collapseSpace(Told(r)) }

// speaks reports whether what an event carries was said by someone.
func speaks(r *Record) bool {
	return !Internal(r.Type) && !strings.HasPrefix(r.Type, "a2a.job.") && r.Origin != OriginUnblock
}

// hasWords reports whether a text is more than words of silence.
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

// ForPeople is a text as pages show it to people: as Clean makes it, and without what is only there for programs. Tags of our prompts and words
// by which an answer is left out are cut; of an id remains what it is an id of, where a particle needs a noun, an agent's name or the last four
// characters.
func ForPeople(text string, roster *Roster) Display {
	d := Clean(text, roster)
	d.Text, d.Reason = withoutMarks(d.Text, roster), withoutMarks(d.Reason, roster)
	return d
}

// LineForPeople is a text in one line for people, without Markdown, cut at limit characters with "...".
func LineForPeople(text string, roster *Roster, limit int) string {
	return cut(collapseSpace(plainText(ForPeople(text, roster).Text)), limit)
}

var (
	// promptTags begin what openclawd tells agents.
	promptTags = regexp.MustCompile(`^\s*\[(?:Continue|Define steps|Stuck|No progress|Backlog|ESCALATION|Unblock request [^\]\n]{1,20}|` +
		`Still blocked\?|Restart|Approved|Rejected)\]\s*`)
	relayTag = regexp.MustCompile(`^\s*\[([A-Za-z0-9_-]{1,64})\]: `)

	// silentWord are the words by which an answer, or the wish for one, is left out.
	silentWord = regexp.MustCompile(`(?i:\[\s*(?:NO_REPLY_NEEDED|NOTIFICATION|NO_REPLY|REPLY_SKIP|ANNOUNCE_SKIP)\s*\])|` +
		`\b(?:NO_REPLY_NEEDED|NO_REPLY|REPLY_SKIP|ANNOUNCE_SKIP)\b\.?`)

	ownID      = regexp.MustCompile(`\b(?:task|plan|ws)_(?:[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]*`)
	sessionID  = regexp.MustCompile(`\bagent:([A-Za-z0-9_-]{1,64})(?::[A-Za-z0-9_.@/+-]+)+`)
	uuid       = regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?:\.[a-z]+[0-9]*)?\b`)
	snowflake  = regexp.MustCompile(`\b[0-9]{17,20}\b`)
	strayMarks = strings.NewReplacer("()", "", "[]", "", "``", "", `""`, "", "''", "")
)

// longestSilence is how many bytes a text has at most that is only words of silence.
const longestSilence = 256

// withoutMarks takes out of a text what is only there for programs.
func withoutMarks(text string, roster *Roster) string {
	if strings.Contains(text, "[") {
		if m := relayTag.FindStringSubmatch(text); m != nil && roster.knows(m[1]) {
			text = text[len(m[0]):]
		}
		text = promptTags.ReplaceAllString(text, "")
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

// cutWords replaces what a pattern finds. What is replaced by nothing takes with it the quotes or parentheses around it and the particle behind
// it, which would be left dangling; where there is one, the noun that the id stands for keeps the sentence whole. A file's name and a part of a
// path are left alone.
func cutWords(text string, pattern *regexp.Regexp, with func(word string) string) string {
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
		put := with(word)
		from = end + suffix.length
		switch {
		case put != "":
			b = append(append(b, put...), suffix.after(put)...)
		case noun != "" && suffix.isKorean():
			b = appendNoun(b, noun)
			b = append(b, suffix.after(string(b))...)
		default:
			b, from = closeGap(b, text, from)
		}
	}
	return strayMarks.Replace(string(append(b, text[from:]...)))
}

// inPath reports whether text[start:end] is part of a path or of a file's name.
func inPath(text string, start, end int) bool {
	return start > 0 && strings.IndexByte(`/\`, text[start-1]) >= 0 || end < len(text) && text[end] == '/' || strings.HasPrefix(text[end:], ".md")
}

// unwrap takes off the quotes or parentheses around a word: what was written before it ends with the one, and text[end:] begins with the other.
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

// closeGap joins what was written before a gap and text[from:], without a blank or a comma too many.
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

// nounOf is what an id is an id of.
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

// appendNoun writes a noun, unless it stands there already.
func appendNoun(b []byte, noun string) []byte {
	if before := strings.TrimRight(string(b), " "); noun != "" && strings.HasSuffix(before, noun) {
		return b[:len(before)]
	}
	return append(b, noun...)
}

// suffix is what is written directly behind a name or an id and belongs to it.
type suffix struct {
	particle string // a particle of the Korean sentence, or "'s"; ""
	length   int    // bytes of all of it, with what addresses: 님, 씨, 아, 야
}

// particles by what they are after a consonant and after a vowel. Those that address, or are the same after both, stand alone.
var (
	pairedParticles = [...][2]string{{"을", "를"}, {"이", "가"}, {"은", "는"}, {"과", "와"}, {"으로", "로"}, {"이랑", "랑"}, {"이나", "나"}}
	plainParticles  = [...]string{"의", "에서", "에게서", "에게", "에", "한테서", "한테", "께서", "께", "도", "만", "부터", "까지", "처럼", "보다", "마다", "이든", "라도"}
	politeWords     = [...]string{"님", "씨"}
	vocatives       = [...]string{"아", "야"}
)

// isKorean reports whether the suffix has a particle that needs a noun before it.
func (s suffix) isKorean() bool {
	return s.particle != "" && s.particle[0] >= utf8.RuneSelf && !strings.HasPrefix(s.particle, "’") || strings.HasPrefix(s.particle, "(")
}

// suffixOf reads what text begins with, behind a name or an id. It is nothing where a word goes on.
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

// particleOf are the particles that text begins with, "" where a word goes on. "을(를)", which leaves it open, is one.
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

// afterParticle is what follows the longest particle that text begins with; all of it where there is none.
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

// wordEnds says whether the word before is whole.
func wordEnds(rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !IsWordRune(next)
}

// after is the suffix behind another word than the one that it was written for: without what addresses, and with the particle that fits.
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

// particleFor chooses between the two forms of a particle. Behind ㄹ it is 로.
func particleFor(word string, pair [2]string) string {
	if last, _ := utf8.DecodeLastRuneInString(word); pair[1] == "로" && last >= '가' && last <= '힣' && (last-'가')%28 == 8 {
		return pair[1]
	}
	return particle(word, pair[0], pair[1])
}

// knows reports whether an agent of this name is in the team.
func (r *Roster) knows(agentID string) bool {
	id := strings.ToLower(agentID)
	return r != nil && (r.Main[id] || r.Utility[id])
}
