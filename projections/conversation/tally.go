package conversation

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// What an event's category weighs in the vote of its session and thread. What agents say to each other decides; work on tasks and
// sub-agents counts a little; an event in whose text nothing was found counts nothing.
const (
	weightConversation = 1.0
	weightOther        = 0.2
	weightManual       = 3.0 // the producer named the category
)

// maxTags bounds the tags that are shown, and those that are counted for each category.
const (
	maxTags        = 5
	maxTalliedTags = 12
)

// secondaryShare is the part of the winner's weight that makes another category a secondary one; at most maxSecondary are.
const (
	secondaryShare = 0.35
	maxSecondary   = 3
)

// tally is a weighted vote on a category. The first event's fallback stands until somebody votes.
type tally struct {
	Fallback coordination.Category `json:"f,omitempty"`
	Votes    []vote                `json:"v,omitempty"`
}

type vote struct {
	Category coordination.Category `json:"c"`
	Weight   float64               `json:"w"`
	Tags     []tagCount            `json:"t,omitempty"`
}

type tagCount struct {
	Tag string `json:"t"`
	N   int    `json:"n"`
}

// add counts the category of one event. Slices are replaced, not changed: a tally may be copied.
func (t *tally) add(c *coordination.Class) {
	if t.Fallback == "" {
		t.Fallback = c.Category
	}
	if c.Source == coordination.SourceFallback {
		return
	}
	weight := weightOther
	if c.Role == coordination.RoleConversation {
		weight = weightConversation
	}
	if c.Source == coordination.SourceManual {
		weight = weightManual
	}
	t.Votes = slices.Clone(t.Votes)
	i := slices.IndexFunc(t.Votes, func(v vote) bool { return v.Category == c.Category })
	if i < 0 {
		t.Votes = append(t.Votes, vote{Category: c.Category})
		i = len(t.Votes) - 1
	}
	v := &t.Votes[i]
	v.Weight += weight * c.Confidence
	v.Tags = slices.Clone(v.Tags)
	for _, tag := range c.SubTags {
		if j := slices.IndexFunc(v.Tags, func(n tagCount) bool { return n.Tag == tag }); j >= 0 {
			v.Tags[j].N++
		} else if len(v.Tags) < maxTalliedTags {
			v.Tags = append(v.Tags, tagCount{tag, 1})
		}
	}
}

// result is the winner, the secondary categories and the tags that belong to the winner, the most frequent first. Ties go to the
// category that was voted for first.
func (t *tally) result() (primary coordination.Category, secondary []coordination.Category, tags []string) {
	if len(t.Votes) == 0 {
		if t.Fallback == "" {
			return coordination.EngineeringBuild, nil, nil
		}
		return t.Fallback, nil, nil
	}
	ranked := slices.Clone(t.Votes)
	slices.SortStableFunc(ranked, func(a, b vote) int { return cmp.Compare(b.Weight, a.Weight) })
	for _, v := range ranked[1:] {
		if len(secondary) < maxSecondary && v.Weight >= secondaryShare*ranked[0].Weight {
			secondary = append(secondary, v.Category)
		}
	}
	counts := slices.Clone(ranked[0].Tags)
	slices.SortStableFunc(counts, func(a, b tagCount) int { return cmp.Compare(b.N, a.N) })
	for _, c := range counts[:min(len(counts), maxTags)] {
		tags = append(tags, c.Tag)
	}
	return ranked[0].Category, secondary, tags
}

// MarshalJSON keeps the stored form apart from the methods.
func (t *tally) MarshalJSON() ([]byte, error) {
	type plain tally
	return json.Marshal((*plain)(t))
}
