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

// Priorities of title candidates; the lowest wins, among equals the earliest. TitleOfTask is that of a task's own words.
const (
	TitleOfTask = iota - 2
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
		return TitleCandidate{title, TitleOfTask}, true
	}
	if label := labelTitle(r.Label, roster); label != "" {
		return TitleCandidate{cut(label, maxTitle), titleLabel}, true
	}
	text := Said(r)
	if r.Type == TypeA2ASpawnResult && Carried(r) == "" {
		return TitleCandidate{}, false
	}
	title, isGoal := TitleIn(text, roster)
	switch {
	case title == "":
		return TitleCandidate{}, false
	case isGoal:
		return TitleCandidate{title, titleGoal}, true
	}
	return TitleCandidate{title, titlePriority(r.Type)}, true
}

// TitleIn is the title that a text offers: the goal that it states, else the first words that it puts in quotes, else what it begins with. It is
// "" for a text without words for a title: an id, an outcome or a silent reply has none.
func TitleIn(text string, roster *Roster) (title string, isGoal bool) {
	outcome, text, _ := cutOutcome(text)
	if outcome != "" || isSilent(text) || isTitleID(text) {
		return "", false
	}
	if goal, ok := statedGoal(text); ok {
		text, isGoal = goal, true
	} else if quoted := quotedTitle.FindStringSubmatch(collapseSpace(head(text, titleSource))); quoted != nil {
		text = quoted[1]
	}
	text = bareTitle(titleText(text, roster))
	if text == "" || isSilent(text) || isTitleID(text) || isGenericTitle(text) || spawnAccepted.MatchString(text) {
		return "", false
	}
	return cut(text, maxTitle), isGoal
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
)

// taskTitle is what the task that an event begins is called: its title, else the first line of its description that says something. It is "" for
// other events.
func taskTitle(r *Record, roster *Roster) string {
	if !namesTask(r) {
		return ""
	}
	return TaskTitle(firstText(r.Title, r.Description), roster)
}

// TaskTitle is what a task with this description is called: the first line of it, "" where that has no words for a title.
func TaskTitle(description string, roster *Roster) string {
	line, _, _ := strings.Cut(TrimJS(description), "\n")
	title := cut(TrimJS(titleText(line, roster)), maxTitle)
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

// statedGoal is what follows "[goal]", up to the next tag and in one line.
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
	goal, _, _ = strings.Cut(TrimJS(goal), "\n")
	return goal, goal != ""
}

// titleText is text in one line without Markdown, ids and those whom it addresses.
func titleText(text string, roster *Roster) string {
	text = withoutAddress(head(text, titleSource), roster)
	text = collapseSpace(plainText(ForPeople(text, roster).Text))
	return strings.TrimLeft(text, ":,;-–— ")
}

// withoutAddress takes out of a text the mentions by which it addresses: at its beginning, at its end, and all others of which no name is known.
// One that is part of a sentence becomes the name.
func withoutAddress(text string, roster *Roster) string {
	if !strings.Contains(text, "<") {
		return text
	}
	return cutWords(addressed(text, roster), mentionTag, func(string) string { return "" })
}

// addressed puts names in the place of those mentions that are part of a sentence.
func addressed(text string, roster *Roster) string {
	var b strings.Builder
	from := 0
	for _, at := range mentionTag.FindAllStringIndex(text, -1) {
		s := suffixOf(text[at[1]:])
		name := roster.mention(strings.Trim(text[at[0]:at[1]], "<@!&#>"))
		first := TrimJS(mentionTag.ReplaceAllString(text[:at[0]], "")) == ""
		last := TrimJS(mentionTag.ReplaceAllString(text[at[1]+s.length:], "")) == ""
		if name == "" || s.particle == "" && (first || last) {
			continue
		}
		b.WriteString(text[from:at[0]])
		b.WriteString(name)
		from = at[1]
	}
	b.WriteString(text[from:])
	return b.String()
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

func isSilent(text string) bool { return !hasWords(text) }

func isGenericTitle(text string) bool {
	return strings.EqualFold(text, "work session") || text == DefaultTitle
}
