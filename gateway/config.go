package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// configMethods show the configuration and change its file.
func (s *Server) configMethods() map[string]answer {
	w := &configWriter{configuration: s.opts.Configuration, limit: newWriteLimit(s.opts.Now)}
	return map[string]answer{
		"config.get":    s.answerConfig,
		"config.schema": s.answerConfigSchema,

		"config.schema.lookup": s.lookUpConfigSchema,
		"config.patch":         w.patch,
		"config.set":           w.set,
		"config.apply":         w.apply,
	}
}

// configAnswer answers config.get. Raw is null if there is no file or its secrets cannot be identified.
type configAnswer struct {
	Path         string          `json:"path"`
	Exists       bool            `json:"exists"`
	Raw          *string         `json:"raw"`
	Parsed       json.RawMessage `json:"parsed"`
	Resolved     json.RawMessage `json:"resolved"`
	Valid        bool            `json:"valid"`
	Config       json.RawMessage `json:"config"`
	Hash         string          `json:"hash"`
	Issues       []config.Issue  `json:"issues"`
	Warnings     []config.Issue  `json:"warnings"`
	LegacyIssues []config.Issue  `json:"legacyIssues"`
}

func (s *Server) answerConfig(context.Context, *wire.Call) (any, error) {
	d, err := s.opts.Configuration.Document()
	if err != nil {
		return nil, err
	}
	a := configAnswer{
		Path: d.Path(), Exists: d.Exists(), Parsed: d.Parsed(), Resolved: d.Resolved(), Valid: d.Findings().Err() == nil, Hash: d.Hash(),
		Issues: d.Issues(config.Error), Warnings: d.Issues(config.Warning), LegacyIssues: []config.Issue{},
	}
	a.Config = a.Resolved
	if raw, ok := d.Raw(); ok {
		a.Raw = &raw
	}
	return a, nil
}

type schemaAnswer struct {
	Schema      json.RawMessage        `json:"schema"`
	Hints       map[string]config.Hint `json:"uiHints"`
	Version     string                 `json:"version"`
	GeneratedAt string                 `json:"generatedAt"`
}

func (s *Server) answerConfigSchema(context.Context, *wire.Call) (any, error) {
	schema, hints := config.Schema()
	return schemaAnswer{schema, hints, s.opts.Version, s.opts.Now().UTC().Format(time.RFC3339)}, nil
}

// configSchemaAt is the schema of a configuration path; empty if unknown.
func configSchemaAt(place []string) map[string]any {
	text, _ := config.Schema()
	var at map[string]any
	if json.Unmarshal(text, &at) != nil {
		return map[string]any{}
	}
	for _, name := range place {
		members, _ := at["properties"].(map[string]any)
		next, is := members[name].(map[string]any)
		if !is {
			if next, is = at["items"].(map[string]any); !is {
				next, is = at["additionalProperties"].(map[string]any)
			}
		}
		if !is {
			return map[string]any{}
		}
		at = next
	}
	return at
}

func sortedNames(members map[string]any) []string { return slices.Sorted(maps.Keys(members)) }
