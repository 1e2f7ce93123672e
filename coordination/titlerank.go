package coordination

import "strings"

// TitleRank is the best priority that a title of this event could have, at a fraction of TitleOf's cost, for skipping worse candidates.
func TitleRank(r *Record) int {
	switch {
	case namesTask(r):
		return TitleOfTask
	case r.Label != "":
		return titleLabel
	case hasGoalTag(r.Message) || r.Message == "" && hasGoalTag(r.ReplyPreview):
		return titleGoal
	}
	return titlePriority(r.Type)
}

func hasGoalTag(text string) bool {
	for {
		i := strings.IndexByte(text, '[')
		if i < 0 {
			return false
		}
		text = text[i:]
		if len(text) >= len("[goal]") && strings.EqualFold(text[:len("[goal]")], "[goal]") {
			return true
		}
		text = text[1:]
	}
}
