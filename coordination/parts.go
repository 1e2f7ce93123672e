package coordination

import "regexp"

// Part is a piece of a text for people: just one of its fields is set.
type Part struct {
	Text    string       `json:"text,omitempty"` // Markdown kept
	Mention *MentionPart `json:"mention,omitempty"`
	Ref     *RefPart     `json:"ref,omitempty"`
}

// MentionPart is a mention of a person or an agent in a channel.
type MentionPart struct {
	UserID  string `json:"userId"`
	AgentID string `json:"agentId,omitempty"` // "" for a person, or if unknown
	Name    string `json:"name,omitempty"`    // "" if unknown
}

// RefPart is an id that a text names.
type RefPart struct {
	Kind  string `json:"kind"` // RefTask
	ID    string `json:"id"`
	Title string `json:"title"`
}

// RefTask is the kind of a task's id.
const RefTask = "task"

// Directory knows what ids in texts mean.
type Directory interface {
	// Mentioned returns what is known of a user in a channel. UserID is always set.
	Mentioned(userID string) MentionPart
	// TaskTitle returns the title of a task, "" if unknown.
	TaskTitle(taskID string) string
}

var (
	userMention = regexp.MustCompile(`<@!?([0-9]{1,25}|[UW][0-9A-Z]{7,24})>`)
	taskID      = regexp.MustCompile(`\btask_(?:[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]*`)
	taskIDLike  = regexp.MustCompile(`task_(?:[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]*`) // in JSON the letter of an escape may precede it
)

// Marks stand in a text for its mentions and references, while the rest is made readable. Texts with such characters have no parts.
const (
	firstMark = '\uE000' // of the private use area
	lastMark  = '\uF8FF'
)

const (
	maxParted  = 64 << 10 // bytes of a text that is split
	maxParts   = 200      // mentions and references
	maxTaskIDs = 200      // different ones of an event, among
	maxIDsRead = 2_000
)

// PartsForPeople splits a text into what ForPeople would show of it, its mentions of users, and its references to tasks with a known
// title, which ForPeople cuts. It is nil without any, and for a text of more than 64 KB: then ForPeople shows it all.
// After 200 of them the rest is text.
func PartsForPeople(text string, roster *Roster, known Directory) []Part {
	if len(text) > maxParted || !userMention.MatchString(text) && !taskID.MatchString(text) || hasMark(text) {
		return nil
	}
	var marked []Part
	mark := func(p Part) string {
		marked = append(marked, p)
		return string(firstMark + rune(len(marked)-1))
	}
	isFull := func() bool { return len(marked) >= maxParts }
	_, text, _ = cutOutcome(text)
	text = userMention.ReplaceAllStringFunc(Mask(TrimJS(text)), func(written string) string {
		if isFull() {
			return written
		}
		who := known.Mentioned(userMention.FindStringSubmatch(written)[1])
		return mark(Part{Mention: &who})
	})
	text = replaceWords(text, taskID, func(id string) (put, spoken string) {
		title := known.TaskTitle(id)
		if title == "" || isFull() {
			return "", ""
		}
		return mark(Part{Ref: &RefPart{RefTask, id, title}}), title
	})
	if len(marked) == 0 {
		return nil
	}
	return unmark(ForPeople(text, roster).Text, marked)
}

func hasMark(text string) bool {
	for _, r := range text {
		if r >= firstMark && r <= lastMark {
			return true
		}
	}
	return false
}

// unmark puts the parts in the places of their marks.
func unmark(text string, marked []Part) (parts []Part) {
	from := 0
	for at, r := range text {
		if r < firstMark || r > lastMark {
			continue
		}
		if at > from {
			parts = append(parts, Part{Text: text[from:at]})
		}
		parts = append(parts, marked[r-firstMark])
		from = at + len(string(r))
	}
	if from < len(text) {
		parts = append(parts, Part{Text: text[from:]})
	}
	return parts
}

// TaskIDs lists what may be ids of tasks in a JSON text, each once: up to 200 of them, in the first 2,000 places.
func TaskIDs(text []byte) (ids []string) {
	seen := map[string]bool{}
	for _, id := range taskIDLike.FindAll(text, maxIDsRead) {
		if !seen[string(id)] {
			seen[string(id)] = true
			if ids = append(ids, string(id)); len(ids) == maxTaskIDs {
				break
			}
		}
	}
	return ids
}

// AgentNamed is the id of the only agent with this display name, "" if there is none or several.
func (r *Roster) AgentNamed(name string) (id string) {
	if r == nil || name == "" {
		return ""
	}
	for agent, shown := range r.Names {
		if shown == name {
			if id != "" {
				return ""
			}
			id = agent
		}
	}
	return id
}

// Mentioned returns what the configuration knows of a Discord user.
func (r *Roster) Mentioned(userID string) MentionPart {
	name := r.mention(userID)
	return MentionPart{UserID: userID, AgentID: r.AgentNamed(name), Name: name}
}
