package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
)

func TestParseTeam(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []coordination.ConfigAgent
	}{
		{"list", `{"agents":{"defaults":{"model":"x"},"list":[{"id":"eden","name":"이든"},{"id":"seum","identity":{"name":"세움"}}]}}`,
			[]coordination.ConfigAgent{{ID: "eden", Name: "이든"}, {ID: "seum", Name: "세움"}}},
		{"utility", `{"agents":{"list":[{"id":"explorer","kind":"utility"},{"id":"quick","utility":true}]}}`,
			[]coordination.ConfigAgent{{ID: "explorer", Kind: coordination.KindUtility}, {ID: "quick", Utility: true}}},
		{"older map, by key", `{"agents":{"seum":{"model":"x"},"eden":{"id":"Eden"},"defaults":{"model":"x"},"empty":{},"version":2}}`,
			[]coordination.ConfigAgent{{ID: "Eden"}, {ID: "seum"}}},
		{"without an id", `{"agents":{"list":[{"name":"nobody"},{"id":"eden"}]}}`, []coordination.ConfigAgent{{ID: "eden"}}},
		{"nobody", `{"session":{}}`, []coordination.ConfigAgent{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseTeam([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseTeamRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{`, `[]`, `{"agents":[]}`, `{"agents":{"list":{}}}`, `{"agents":{"list":[1]}}`, `{"agents":{"eden":{"id":7}}}`} {
		if got, err := parseTeam([]byte(text)); err == nil {
			t.Errorf("%s: read as %v", text, got)
		}
	}
}
