package coordination

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// DefaultTitle is the title of a work session without a better one.
const DefaultTitle = "협업 작업"

// maxTitle limits a title, in characters.
const maxTitle = 64

// Priorities of title candidates; the lowest wins, then the earliest. TitleOfTask is for a task's own words.
const (
	TitleOfTask = iota - 2
	titleLabel
	titleGoal
	titleSpawn
	titleSend
	titleContinuation
	titleResponse
	titleOther   = 9
	titleNamesID = 10 // of a sentence about a task that it names by id: without it, it says little
)

// TitleCandidate is an event's candidate for the title of its work session.
type TitleCandidate struct {
	Text     string
	Priority int // -2 is best
}

// TitleOf returns an event's title candidate: the name of the task that it starts, its label, else the goal that its text states, else
// the beginning of the text. It is not ok if none has title words: ids, outcomes and silent replies have none.
func TitleOf(r *Record, roster *Roster) (TitleCandidate, bool) {
	if title := taskTitle(r, roster); title != "" {
		return TitleCandidate{title, TitleOfTask}, true
	}
	if label := labelTitle(r.Label, roster); label != "" {
		return TitleCandidate{cut(label, maxTitle), titleLabel}, true
	}
	text := Words(r)
	if isPrompt(text) {
		return TitleCandidate{}, false
	}
	if r.Type == TypeA2ASpawnResult && Text(r) == "" {
		return TitleCandidate{}, false
	}
	title, isGoal := TitleIn(text, roster)
	switch {
	case title == "":
		return TitleCandidate{}, false
	case isGoal:
		return TitleCandidate{title, titleGoal}, true
	case namesID(text):
		return TitleCandidate{title, titleNamesID}, true
	}
	return TitleCandidate{title, titlePriority(r.Type)}, true
}

// TitleIn returns the title of a text: its stated goal, else its first quoted words, else its beginning. It is "" without title words:
// ids, outcomes and silent replies have none.
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

// namesID reports whether the part of a text that a title is made from has an id after its first word.
func namesID(text string) bool {
	text = head(TrimJS(text), titleSource)
	at := ownID.FindStringIndex(text)
	return at != nil && at[0] > 0
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
	mentionTag    = regexp.MustCompile(`<(?:@[!&]?|#)\d+>|<@[UW][0-9A-Z]{7,24}>`)
	idTitle       = regexp.MustCompile(`(?i)^(?:(?:task|ws)_[\w-]+|(?:plan|run|conv|job)[_:-][\w:.-]*\d[\w:.-]*|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{13,}|agent:\S+|[0-9a-f]{16,}|\d+)$`)
)

// taskTitle returns the name of the task that an event starts: its title, else the first line of its description with words; "" for
// other events.
func taskTitle(r *Record, roster *Roster) string {
	if !namesTask(r) {
		return ""
	}
	return TaskTitle(firstText(r.Title, r.Description), roster)
}

// TaskTitle returns the name of a task with this description: its first line, "" without title words.
func TaskTitle(description string, roster *Roster) string {
	line, _, _ := strings.Cut(TrimJS(description), "\n")
	title := cut(TrimJS(titleText(line, roster)), maxTitle)
	if isSilent(title) || isTitleID(title) || isGenericTitle(title) {
		return ""
	}
	return title
}

// namesTask reports whether an event starts a task and describes it. Imported logs have tasks without words.
func namesTask(r *Record) bool {
	return (r.Type == TypeTaskStarted || r.Type == TypeTaskBacklogAdded) && (r.Title != "" || r.Description != "")
}

// labelTitle returns a label as words, or "" if it is too short, generic or an id.
func labelTitle(label string, roster *Roster) string {
	const shortest = 3
	if label == "" || isTitleID(label) {
		return ""
	}
	label = cutWords(label, ownID, func(string) string { return "" })
	words := titleText(strings.NewReplacer("-", " ", "_", " ").Replace(label), roster)
	if utf8.RuneCountInString(words) < shortest || isGenericTitle(words) {
		return ""
	}
	return words
}

// statedGoal returns the line after "[goal]", up to the next tag.
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

// titleText returns text on one line without Markdown, ids and addressees.
func titleText(text string, roster *Roster) string {
	text = withoutAddress(head(text, titleSource), roster)
	text = collapseSpace(plainText(ForPeople(text, roster).Text))
	return strings.TrimRight(strings.TrimLeft(text, ":,;!?-–— "), ":,;–— ")
}

// withoutAddress removes mentions at the beginning and the end of a text, and others without a known name. Those within a sentence
// become names.
func withoutAddress(text string, roster *Roster) string {
	if !strings.Contains(text, "<") {
		return text
	}
	return cutWords(addressed(text, roster), mentionTag, func(string) string { return "" })
}

// addressed replaces mentions within a sentence by names.
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

// bareTitle removes the system's words around a task's own.
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

// titleSource limits the text that a title is made from, in bytes.
const titleSource = 2 << 10

// head returns at most limit bytes of text, cut between characters.
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
