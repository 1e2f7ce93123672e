package coordination

import (
	"math"
	"slices"
)

// Scan is the part of classification that needs only the event's text. It may be computed on any goroutine beforehand.
type Scan struct {
	hits   termSet
	scores [categoryCount]int16
}

// ScanText finds the words that determine the topic of an event.
func ScanText(rules Rules, r *Record) Scan {
	if rules == RulesV2 {
		return scanConcepts(r)
	}
	return scanKeywords(r)
}

// Class is the classification of an event: its recipient, the sessions between which it passed, and its topic.
type Class struct {
	Role        Role
	RoleGuessed bool // no valid role was claimed
	From, To    SessionType
	Category    Category
	Secondary   []Category // further categories with a sufficient share, strongest first; always empty under RulesV1
	SubTags     []string   // never nil
	Confidence  float64    // 0 to 1, two decimals
	Source      Source
	Version     string // the rules that determined Category
	Intent      string // collabIntent
}

const (
	fallbackConfidence = 0.2
	maxConfidence      = 0.95
	maxSecondary       = 3
	tagsPerEvent       = 3
)

// Classify classifies an event. scan must come from ScanText with the same rules and record; roster is the team at
// that time, nil meaning DefaultRoster.
func Classify(rules Rules, r *Record, scan Scan, roster *Roster) Class {
	c := Class{Intent: r.CollabIntent, Version: string(rules)}
	c.From, c.To = sessionTypes(rules, r, roster)
	c.Role, c.RoleGuessed = roleOf(rules, r, c.From, c.To)

	best, second := scan.ranking()
	manual := Category(r.CollabCategory).Valid()
	if r.CategoryVersion != "" && (manual || rules == RulesV1) {
		c.Version = r.CategoryVersion
	}
	switch {
	case manual:
		c.Category, c.Confidence, c.Source = Category(r.CollabCategory), 1, SourceManual
		c.SubTags = slices.Clone(r.SubTags)
	case scan.scores[best] == 0:
		c.Category, c.Confidence, c.Source = fallbackCategory(c.Role), fallbackConfidence, SourceFallback
	default:
		c.Category = categories[best].Category
		c.Confidence = confidence(int(scan.scores[best]), int(second))
		if rules == RulesV2 {
			c.Source, c.SubTags = scan.conceptTags(best)
		} else {
			c.Source, c.SubTags = SourceRule, scan.keywordTags(best)
		}
	}
	if rules == RulesV2 {
		c.Secondary = scan.secondary(c.Category)
	}
	if c.SubTags == nil {
		c.SubTags = []string{}
	}
	return c
}

// SecondaryCategories are an event's categories besides its primary one, strongest first. There are none under
// RulesV1.
func SecondaryCategories(rules Rules, r *Record, primary Category) []Category {
	if rules != RulesV2 {
		return nil
	}
	scan := ScanText(rules, r)
	return scan.secondary(primary)
}

// ranking returns the row with the highest score, ties to the earlier, and the second highest score.
func (s *Scan) ranking() (best int, second int16) {
	for row := 1; row < categoryCount; row++ {
		switch score := s.scores[row]; {
		case score > s.scores[best]:
			best, second = row, s.scores[best]
		case score > second:
			second = score
		}
	}
	return best, second
}

func confidence(score, second int) float64 {
	c := min(maxConfidence, 0.5+0.08*float64(score)+0.05*float64(score-second))
	return math.Round(c*100) / 100
}

// secondary lists the categories besides the primary one with at least one typical word and half of the highest score.
func (s *Scan) secondary(primary Category) []Category {
	var highest int16
	for _, score := range s.scores {
		highest = max(highest, score)
	}
	least := max(typical, (highest+1)/2)
	if highest < least {
		return nil
	}
	var rows []int
	for row, score := range s.scores {
		if score >= least && categories[row].Category != primary {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return int(s.scores[b]) - int(s.scores[a]) })
	var secondary []Category
	for _, row := range rows[:min(len(rows), maxSecondary)] {
		secondary = append(secondary, categories[row].Category)
	}
	return secondary
}
