package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Every key that the decoder asks for is in the schema, and is explained; nothing else is explained.
func TestSchemaHoldsEveryKnownKey(t *testing.T) {
	t.Parallel()
	schema, hints := Schema()
	explained := help()
	isRead := map[string]bool{}
	eachKey(settingsSchema(), "", func(path string, n *schemaNode) {
		isRead[path] = n.isRead
		if n.isRead && explained[path] == "" {
			t.Errorf("%s is read and not explained: add it to help", path)
		}
		if hint, ok := hints[path]; !ok || hint.Label == "" || hint.Help == "" || n.secret && !hint.Sensitive {
			t.Errorf("%s: hint %+v", path, hint)
		}
	})
	for path := range explained {
		if !isRead[path] {
			t.Errorf("%s is explained, but no one reads it", path)
		}
	}
	for _, path := range []string{"gateway.auth.token", "models.providers.*.apiKey", "channels.discord.accounts.*.token", "taskMonitor.writeToken", "ui.viewers[].token"} {
		if !hints[path].Sensitive {
			t.Errorf("%s is not said to be sensitive", path)
		}
	}
	if hints["agents.list[].model.primary"].Sensitive || hints["agents.defaults.contextTokens"].Sensitive {
		t.Error("what is no secret is said to be one")
	}
	if !json.Valid(schema) {
		t.Errorf("no JSON: %s", schema)
	}
}

// eachKey visits the settings of a schema.
func eachKey(n *schemaNode, path string, visit func(string, *schemaNode)) {
	for _, key := range n.keys {
		visit(below(path, key), n.members[key])
		eachKey(n.members[key], below(path, key), visit)
	}
	if n.item != nil {
		eachKey(n.item, path+"[]", visit)
	}
	if n.anyOther != nil {
		eachKey(n.anyOther, below(path, "*"), visit)
	}
}

// What the decoder knows in a configuration, and what it warns of, is what the schema has and has not.
func TestSchemaKnowsWhatTheDecoderKnows(t *testing.T) {
	t.Parallel()
	eachKey(settingsSchema(), "", func(path string, _ *schemaNode) {
		if strings.Contains(path, "conversationSinks[].options") {
			return // whose keys depend on the sink
		}
		for suffix, known := range map[string]bool{"": true, "Zzzzzz": false} {
			_, findings := load("openclaw.json", mainFile{found: true, content: configurationWith(path + suffix)}, func(string) string { return "" })
			warned := slices.ContainsFunc(findings, func(f Finding) bool { return f.Code == CodeUnknownKey })
			open := strings.Count(path, ".") == 1 && (strings.HasPrefix(path, "channels.") || strings.HasPrefix(path, "agents."))
			if !open && warned == known {
				t.Errorf("%s: warned %t", path+suffix, warned)
			}
		}
	})
}

// configurationWith is one in which null stands at a path.
func configurationWith(path string) string {
	open, closing := "", ""
	for i, key := range strings.Split(path, ".") {
		if i > 0 && !strings.HasSuffix(open, "[{") {
			open, closing = open+"{", "}"+closing
		}
		if key == "*" {
			key = "name"
		}
		name, isList := strings.CutSuffix(key, "[]")
		open += `"` + name + `": `
		if isList {
			open, closing = open+"[{", "}]"+closing
		}
	}
	return "{" + open + "null" + closing + "}"
}

// The schema takes what people write, and refuses what the decoder calls an error of kind or value.
func TestSchemaTakesWhatLoads(t *testing.T) {
	t.Parallel()
	text, _ := Schema()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string]bool{
		`{}`: true,
		`{"gateway": {"port": 1, "auth": {"token": "x", "mode": "token"}}, "unknown": [], "agents": {"list": [{"id": "a", "model": "x/y"}], "defaults": {"model": {"primary": "x/y"}}}}`: true,
		`{"channels": {"discord": {"allowBots": "mentions", "mentions": {"1": "x"}, "collaboration": {"threadReuseTTL": "6h"}}, "whatsapp": 7}}`:                                         true,
		`{"gateway": {"port": "x"}}`:                  false,
		`{"gateway": {"port": 70000}}`:                false,
		`{"gateway": {"mode": "nowhere"}}`:            false,
		`{"agents": {"list": [7]}}`:                   false,
		`{"tools": {"agentToAgent": {"allow": [1]}}}`: false,
		`{"tools": {"agentToAgent": {"pairs": [{"from": "a", "to": "*", "allow": false}]}}}`: true,
		`{"tools": {"agentToAgent": {"pairs": [{"from": "a", "to": "*"}]}}}`:                 false,
		`{"tools": {"agentToAgent": {"pairs": [{"from": "", "to": "*", "allow": true}]}}}`:   false,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(config))
		if err != nil {
			t.Fatal(err)
		}
		_, findings := load("openclaw.json", mainFile{found: true, content: config}, func(string) string { return "" })
		if loads := findings.Err() == nil; (schema.Validate(value) == nil) != want || loads != want {
			t.Errorf("%s: the schema says %v, loading %v", config, schema.Validate(value), findings.Err())
		}
	}
}
