package coordination

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// DefaultTitle is the title of a work session of which nothing better is known.
const DefaultTitle = "협업 작업"

// maxTitle is how many characters a title may have.
const maxTitle = 64

// Priorities of title candidates; the lowest wins, among equals the earliest.
const (
	titleTask = iota - 2
	titleLabel
	titleGoal
	titleSpawn
	titleSend
	titleContinuation
	titleResponse
	titleOther = 9
)

// TitleCandidate is a title that one event offers for its work session.
type TitleCandidate struct {
	Text     string
	Priority int // -2 is best
}

// TitleOf is the title that an event offers: what the task that it begins is called, its label, else the goal that its text states, else what
// its text begins with. It is not ok for an event without words for a title: an id, an outcome or a silent reply is none.
func TitleOf(r *Record, roster *Roster) (TitleCandidate, bool) {
	if title := taskTitle(r, roster); title != "" {
		return TitleCandidate{cut(title, maxTitle), titleTask}, true
	}
	if label := labelTitle(r.Label, roster); label != "" {
		return TitleCandidate{cut(label, maxTitle), titleLabel}, true
	}
	outcome, text, _ := cutOutcome(firstText(r.Message, r.ReplyPreview))
	if outcome != "" || isSilent(text) || isTitleID(text) {
		return TitleCandidate{}, false
	}
	priority := titlePriority(r.Type)
	if goal, ok := statedGoal(text); ok {
		text, priority = goal, titleGoal
	} else if quoted := quotedTitle.FindStringSubmatch(collapseSpace(text)); quoted != nil {
		text = quoted[1]
	}
	text = bareTitle(titleText(text, roster))
	if text == "" || isSilent(text) || isTitleID(text) || isGenericTitle(text) || spawnAccepted.MatchString(text) {
		return TitleCandidate{}, false
	}
	return TitleCandidate{cut(text, maxTitle), priority}, true
}

// MessageText is what an event says in one line; see Said.
func MessageText(r *Record) string { return collapseSpace(Said(r)) }

// Said is what an event says, as it was written: its message, else its reply preview, else a sentence about how a spawn
// went. It is "" for events that say nothing.
func Said(r *Record) string {
	if text := firstText(r.Message, r.ReplyPreview); text != "" || r.Type != TypeA2ASpawnResult {
		return text
	}
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

func titlePriority(typ string) int {
	switch typ {
	case TypeA2ASpawn:
		return titleSpawn
	case TypeA2ASend:
		return titleSend
	case TypeContinuationSent:
		return titleContinuation
	case TypeA2AResponse:
		return titleResponse
	}
	return titleOther
}

var (
	goalTag       = regexp.MustCompile(`(?i)\[goal\]\s*:?`)
	nextTag       = regexp.MustCompile(`\[[\pL\pN][\pL\pN _-]*\]`)
	quotedTitle   = regexp.MustCompile(`"([^"]{4,160})"`)
	taskPreface   = regexp.MustCompile(`(?i)^(?:a\s+)?(?:subagent task|cron job)\b[\s:,]*`)
	resultSuffix  = regexp.MustCompile(`[\s,]*\bjust (?i:completed successfully|timed out|failed\b.*|finished\b.*)[\s.!]*$`)
	spawnAccepted = regexp.MustCompile(`(?i)^spawn accepted`)
	runSuffix     = regexp.MustCompile(`\s*[-–—]\s*run\s+[\w:-]+\s*$`)
	mentionTag    = regexp.MustCompile(`<(?:@[!&]?|#)\d+>`)
	idTitle       = regexp.MustCompile(`(?i)^(?:(?:task|ws)_[\w-]+|(?:plan|run|conv|job)[_:-][\w:.-]*\d[\w:.-]*|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{13,}|agent:\S+|[0-9a-f]{16,}|\d+)$`)
	idInTitle     = regexp.MustCompile(`\b(?:task|ws)_[A-Za-z0-9][\w-]{5,}`)
)

// taskTitle is what the task that an event begins is called: its title, else the first line of its description that says something. It is "" for
// other events.
func taskTitle(r *Record, roster *Roster) string {
	if !namesTask(r) {
		return ""
	}
	line, _, _ := strings.Cut(firstText(r.Title, r.Description), "\n")
	title := TrimJS(titleText(line, roster))
	if isSilent(title) || isTitleID(title) || isGenericTitle(title) {
		return ""
	}
	return title
}

// namesTask reports whether an event begins a task and says what it is. Tasks of imported logs have no words.
func namesTask(r *Record) bool {
	return (r.Type == TypeTaskStarted || r.Type == TypeTaskBacklogAdded) && (r.Title != "" || r.Description != "")
}

// labelTitle is a label as words, or "" if it is too short, generic or an id.
func labelTitle(label string, roster *Roster) string {
	const shortest = 3
	if label == "" || isTitleID(label) {
		return ""
	}
	words := titleText(strings.NewReplacer("-", " ", "_", " ").Replace(label), roster)
	if utf8.RuneCountInString(words) < shortest || isGenericTitle(words) {
		return ""
	}
	return words
}

// statedGoal is what follows "[goal]" up to the next tag.
func statedGoal(text string) (goal string, ok bool) {
	if !hasGoalTag(text) {
		return "", false
	}
	tag := goalTag.FindStringIndex(text)
	if tag == nil {
		return "", false
	}
	goal = text[tag[1]:]
	if next := nextTag.FindStringIndex(goal); next != nil {
		goal = goal[:next[0]]
	}
	goal = TrimJS(goal)
	return goal, goal != ""
}

// titleText is text in one line without mentions, ids and Markdown.
func titleText(text string, roster *Roster) string {
	if text = head(text, titleSource); strings.Contains(text, "<") {
		text = mentionTag.ReplaceAllString(text, " ")
	}
	text = collapseSpace(plainText(Clean(text, roster).Text))
	if strings.Contains(text, "_") {
		text = collapseSpace(idInTitle.ReplaceAllString(text, ""))
	}
	return strings.TrimLeft(text, ":,;-–— ")
}

// bareTitle takes off what the system says around a task's own words.
func bareTitle(text string) string {
	text = taskPreface.ReplaceAllString(text, "")
	if strings.Contains(text, "run ") {
		text = runSuffix.ReplaceAllString(text, "")
	}
	if strings.Contains(text, "just ") {
		text = resultSuffix.ReplaceAllString(text, "")
	}
	return strings.Trim(TrimJS(text), `"'`)
}

// titleSource is how many bytes of a text a title is made from.
const titleSource = 2 << 10

// head is the beginning of text, at most limit bytes of it, cut between characters.
func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func isTitleID(text string) bool {
	const longest = 256
	return len(text) <= longest && idTitle.MatchString(TrimJS(text))
}

func isSilent(text string) bool {
	switch text = TrimJS(text); {
	case text == "", strings.EqualFold(text, "NO_REPLY"), strings.EqualFold(text, "REPLY_SKIP"), strings.EqualFold(text, "ANNOUNCE_SKIP"):
		return true
	}
	return false
}

func isGenericTitle(text string) bool {
	return strings.EqualFold(text, "work session") || text == DefaultTitle
}
