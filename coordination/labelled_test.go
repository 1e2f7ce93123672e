package coordination

import (
	"encoding/json"
	"os"
	"testing"
)

// labelled is a message as a member of a team might write it, with the category that people gave it. Messages of one
// group say the same in different languages.
type labelled struct {
	Category Category
	Group    string
	Trap     string
	Message  string
}

func readLabelled(t testing.TB) []labelled {
	t.Helper()
	text, err := os.ReadFile("testdata/labelled.json")
	if err != nil {
		t.Fatal(err)
	}
	var messages []labelled
	if err := json.Unmarshal(text, &messages); err != nil {
		t.Fatal(err)
	}
	return messages
}

func TestLabelledMessages(t *testing.T) {
	t.Parallel()

	messages := readLabelled(t)
	if len(messages) < 120 {
		t.Fatalf("only %d labelled messages", len(messages))
	}
	perCategory := map[Category]int{}
	for _, m := range messages {
		perCategory[m.Category]++
		c := classifyMessage(RulesV2, m.Message)
		if c.Category != m.Category {
			t.Errorf("%q\n\tis %s %v (%s %.2f, also %v), want %s", m.Message, c.Category, c.SubTags, c.Source, c.Confidence, c.Secondary, m.Category)
		}
		if m.Trap != "" && m.Category == EngineeringBuild && c.Source != SourceFallback {
			t.Errorf("%q (%s): found %v", m.Message, m.Trap, c.SubTags)
		}
		if !m.Category.Valid() {
			t.Errorf("%q is labelled %q, which is no category", m.Message, m.Category)
		}
	}
	for _, info := range Categories() {
		if perCategory[info.Category] < 10 {
			t.Errorf("only %d messages labelled %s", perCategory[info.Category], info.Category)
		}
	}
}

func TestSameIntentSamePrimary(t *testing.T) {
	t.Parallel()

	first := map[string]labelled{}
	for _, m := range readLabelled(t) {
		if m.Group == "" {
			continue
		}
		other, seen := first[m.Group]
		if !seen {
			first[m.Group] = m
			continue
		}
		if a, b := classifyMessage(RulesV2, other.Message), classifyMessage(RulesV2, m.Message); a.Category != b.Category {
			t.Errorf("%s: %q is %s, %q is %s", m.Group, other.Message, a.Category, m.Message, b.Category)
		}
	}
	if len(first) < 40 {
		t.Errorf("only %d groups", len(first))
	}
}

func classifyMessage(rules Rules, message string) Class {
	r := Record{Type: TypeA2ASend, AgentID: "eden", Facts: Facts{FromAgent: "eden", ToAgent: "seum", Message: message}}
	return Classify(rules, &r, ScanText(rules, &r), nil)
}
