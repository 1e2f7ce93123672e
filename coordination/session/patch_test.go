package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
)

var (
	main     = coordination.MainKey("eden")
	subagent = coordination.SubagentKey("eden", "u1")
	command  = session.Command{By: "cli", NewID: "new"}
)

// state is that of a session of that key, with settings written as JSON.
func state(key coordination.SessionKey, label, settings string) session.State {
	s := session.State{Key: key, ID: "t1", Label: label, Version: 3}
	if err := json.Unmarshal([]byte(settings), &s.Settings); err != nil {
		panic(err)
	}
	return s
}

// patch decides a patch where the label "taken" is another session's and "mine" that of agent eden's main one.
func patch(s session.State, values, model string) (string, error) {
	c := session.PatchCommand{Command: command, Model: model}
	if err := json.Unmarshal([]byte(values), &c.Values); err != nil {
		panic(err)
	}
	events, err := session.Patch(s, c, func(label string) (string, error) {
		return map[string]string{"taken": "agent:seum:main", "mine": main.String()}[label], nil
	})
	return show(events), err
}

// show writes events down without what all of them have.
func show(events []session.Event) string {
	var b strings.Builder
	for _, e := range events {
		text, err := json.Marshal(e.Data)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "%s %s\n", e.Type, strings.Replace(string(text), `"eventRole":"system.observability",`, "", 1))
	}
	return b.String()
}

func TestPatch(t *testing.T) {
	t.Parallel()
	absent := session.State{Key: main}
	const created = `session.created {"sessionKey":"agent:eden:main","sessionId":"new","by":"cli"}` + "\n"
	patched := func(rest string) string {
		return `session.patched {"sessionKey":"agent:eden:main","sessionId":"t1",` + rest + `,"by":"cli"}` + "\n"
	}
	for name, c := range map[string]struct {
		state  session.State
		values string
		want   string
	}{
		"nothing of nothing": {absent, `{}`, created},
		"of nothing":         {absent, `{"label":"one"}`, created + `session.patched {"sessionKey":"agent:eden:main","sessionId":"new","set":{"label":"one"},"by":"cli"}` + "\n"},
		"null of nothing":    {absent, `{"label":null,"model":null}`, created},
		"nothing":            {state(main, "", `{}`), `{}`, ""},
		"as it is":           {state(main, "mine", `{"thinkingLevel":"low","execNode":"n"}`), `{"label":" mine ","thinkingLevel":"ON","execNode":"n "}`, ""},
		"a label":            {state(main, "", `{}`), `{"label":"  spaced  label "}`, patched(`"set":{"label":"spaced  label"}`)},
		"another label":      {state(main, "old", `{}`), `{"label":"배포"}`, patched(`"set":{"label":"배포"}`)},
		"no label":           {state(main, "old", `{}`), `{"label":null}`, patched(`"unset":["label"]`)},
		"its own label":      {state(main, "old", `{}`), `{"label":"mine"}`, patched(`"set":{"label":"mine"}`)},
		"64 characters":      {state(main, "", `{}`), `{"label":"` + strings.Repeat("가", 64) + `"}`, patched(`"set":{"label":"` + strings.Repeat("가", 64) + `"}`)},
		"everything": {
			state(main, "", `{}`),
			`{"execNode":" n1 ","thinkingLevel":"HIGH","verboseLevel":"full","reasoningLevel":"stream","responseUsage":"on","elevatedLevel":"ask","execHost":"Gateway",
			  "execSecurity":"full","execAsk":"on-miss","sendPolicy":"deny","groupActivation":"always","model":" zzz/nothing "}`,
			patched(`"set":{"elevatedLevel":"ask","execAsk":"on-miss","execHost":"gateway","execNode":"n1","execSecurity":"full","groupActivation":"always",` +
				`"model":"zzz/nothing","reasoningLevel":"stream","responseUsage":"tokens","sendPolicy":"deny","thinkingLevel":"high","verboseLevel":"full"}`),
		},
		"off is a level":         {state(main, "", `{}`), `{"thinkingLevel":"off","verboseLevel":"off"}`, patched(`"set":{"thinkingLevel":"off","verboseLevel":"off"}`)},
		"off is none":            {state(main, "", `{"responseUsage":"full"}`), `{"responseUsage":"off"}`, patched(`"unset":["responseUsage"]`)},
		"null is none":           {state(main, "x", `{"execNode":"n","model":"m"}`), `{"execNode":null,"label":null,"model":null}`, patched(`"unset":["execNode","model","label"]`)},
		"the model of its agent": {state(main, "", `{"model":"zzz/nothing"}`), `{"model":"fake/echo-1"}`, patched(`"unset":["model"]`)},
		"a spawner": {
			state(subagent, "", `{}`), `{"spawnedBy":" agent:main:main ","spawnDepth":1}`,
			`session.patched {"sessionKey":"agent:eden:subagent:u1","sessionId":"t1","set":{"spawnDepth":1,"spawnedBy":"agent:main:main"},"by":"cli"}` + "\n",
		},
		"the same spawner": {state(subagent, "", `{"spawnedBy":"agent:main:main","spawnDepth":1}`), `{"spawnedBy":"agent:main:main","spawnDepth":1.0}`, ""},
		"no spawner":       {state(main, "", `{}`), `{"spawnedBy":null,"spawnDepth":null}`, ""},
		"xhigh where the model has it": {
			state(main, "", `{}`), `{"thinkingLevel":"x-high","model":"openai/gpt-5.2"}`, patched(`"set":{"model":"openai/gpt-5.2","thinkingLevel":"xhigh"}`),
		},
		"less where the next model has not": {
			state(main, "", `{"model":"openai/gpt-5.2","thinkingLevel":"xhigh"}`), `{"model":"fake/echo-2"}`, patched(`"set":{"model":"fake/echo-2","thinkingLevel":"high"}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := patch(c.state, c.values, "fake/echo-1"); got != c.want || err != nil {
				t.Errorf("%v\n got %s\nwant %s", err, got, c.want)
			}
		})
	}
}

func TestPatchRefuses(t *testing.T) {
	t.Parallel()
	const xhigh = `thinkingLevel "xhigh" is only supported for openai/gpt-5.2, openai-codex/gpt-5.3-codex, openai-codex/gpt-5.3-codex-spark, ` +
		`openai-codex/gpt-5.2-codex, openai-codex/gpt-5.1-codex, github-copilot/gpt-5.2-codex or github-copilot/gpt-5.2`
	of, spawned := state(main, "", `{}`), state(subagent, "", `{"spawnedBy":"agent:main:main","spawnDepth":1}`)
	for _, c := range []struct {
		state              session.State
		values, code, text string
	}{
		{of, `{"label":" "}`, session.CodeInvalidLabel, "invalid label: empty"},
		{of, `{"label":7}`, session.CodeInvalidLabel, "invalid label: must be a string"},
		{of, `{"label":"` + strings.Repeat("x", 65) + `"}`, session.CodeInvalidLabel, "invalid label: too long (max 64)"},
		{of, `{"label":"a\u0007b"}`, session.CodeInvalidLabel, "invalid label: control characters"},
		{of, `{"label":" taken "}`, session.CodeLabelInUse, "label already in use: taken"},
		{session.State{Key: main}, `{"label":"taken"}`, session.CodeLabelInUse, "label already in use: taken"},
		{of, `{"thinkingLevel":"bogus"}`, session.CodeInvalidSetting, "invalid thinkingLevel (use off|minimal|low|medium|high)"},
		{of, `{"thinkingLevel":" "}`, session.CodeInvalidSetting, "invalid thinkingLevel (use off|minimal|low|medium|high)"},
		{of, `{"thinkingLevel":true}`, session.CodeInvalidSetting, "invalid thinkingLevel (use off|minimal|low|medium|high)"},
		{of, `{"thinkingLevel":"xhigh"}`, session.CodeInvalidSetting, xhigh},
		{of, `{"verboseLevel":"bogus"}`, session.CodeInvalidSetting, `invalid verboseLevel (use "on"|"off")`},
		{of, `{"reasoningLevel":"bogus"}`, session.CodeInvalidSetting, `invalid reasoningLevel (use "on"|"off"|"stream")`},
		{of, `{"elevatedLevel":"bogus"}`, session.CodeInvalidSetting, `invalid elevatedLevel (use "on"|"off"|"ask"|"full")`},
		{of, `{"responseUsage":"bogus"}`, session.CodeInvalidSetting, `invalid responseUsage (use "off"|"tokens"|"full")`},
		{of, `{"execHost":"bogus"}`, session.CodeInvalidSetting, `invalid execHost (use "sandbox"|"gateway"|"node")`},
		{of, `{"execSecurity":"bogus"}`, session.CodeInvalidSetting, `invalid execSecurity (use "deny"|"allowlist"|"full")`},
		{of, `{"execAsk":"bogus"}`, session.CodeInvalidSetting, `invalid execAsk (use "off"|"on-miss"|"always")`},
		{of, `{"execNode":" "}`, session.CodeInvalidSetting, "invalid execNode: empty"},
		{of, `{"model":" "}`, session.CodeInvalidSetting, "invalid model: empty"},
		{of, `{"sendPolicy":"maybe"}`, session.CodeInvalidSetting, `invalid sendPolicy (use "allow"|"deny")`},
		{of, `{"groupActivation":"x"}`, session.CodeInvalidSetting, `invalid groupActivation (use "mention"|"always")`},
		{of, `{"spawnedBy":" "}`, session.CodeInvalidSetting, "invalid spawnedBy: empty"},
		{of, `{"spawnedBy":"bogus"}`, session.CodeInvalidSetting, "spawnedBy is only supported for subagent:* sessions"},
		{of, `{"spawnDepth":1}`, session.CodeInvalidSetting, "spawnDepth is only supported for subagent:* sessions"},
		{spawned, `{"spawnDepth":-1}`, session.CodeInvalidSetting, "invalid spawnDepth (use an integer >= 0)"},
		{spawned, `{"spawnDepth":1.5}`, session.CodeInvalidSetting, "invalid spawnDepth (use an integer >= 0)"},
		{spawned, `{"spawnedBy":"agent:main:other"}`, session.CodeFixedSetting, "spawnedBy cannot be changed once set"},
		{spawned, `{"spawnedBy":null}`, session.CodeFixedSetting, "spawnedBy cannot be cleared once set"},
		{spawned, `{"spawnDepth":2}`, session.CodeFixedSetting, "spawnDepth cannot be changed once set"},
		{spawned, `{"spawnDepth":null}`, session.CodeFixedSetting, "spawnDepth cannot be cleared once set"},
		{of, `{"colour":"red"}`, session.CodeInvalidSetting, "unexpected property 'colour'"},
		{of, `{"label":"fine","execAsk":"bogus"}`, session.CodeInvalidSetting, `invalid execAsk (use "off"|"on-miss"|"always")`},
	} {
		got, err := patch(c.state, c.values, "fake/echo-1")
		var refusal *session.Refusal
		if got != "" || !errors.As(err, &refusal) || refusal.Reason != c.code || refusal.Text != c.text || refusal.Field == "" {
			t.Errorf("%s: %#v, %s\nwant %s %s", c.values, err, got, c.code, c.text)
		}
	}
	fault := errors.New("unreadable")
	c := session.PatchCommand{Values: map[string]json.RawMessage{"label": json.RawMessage(`"x"`)}}
	if _, err := session.Patch(of, c, func(string) (string, error) { return "", fault }); !errors.Is(err, fault) {
		t.Errorf("%v, want what the holder could not say", err)
	}
}

// What a level is called by people is kept as what it is.
func TestPatchKnowsOtherWordsForLevels(t *testing.T) {
	t.Parallel()
	for field, words := range map[string]map[string]string{
		"thinkingLevel": {"enabled": "low", "think": "minimal", "Min": "minimal", "think-hard": "low", "med": "medium", "harder": "medium", "ultrathink": "high", "max": "high", "off": "off"},
		"verboseLevel":  {"yes": "on", "minimal": "on", "0": "off", "everything": "full"},
		"reasoningLevel": {
			"show": "on", "hidden": "off", "live": "stream", "TRUE": "on",
		},
		"responseUsage": {"tok": "tokens", "session": "full", "enable": "tokens"},
		"elevatedLevel": {"auto-approve": "full", "prompt": "ask", "1": "on", "no": "off"},
	} {
		for word, want := range words {
			got, err := patch(state(main, "", `{}`), fmt.Sprintf(`{%q:%q}`, field, word), "")
			if err != nil || !strings.Contains(got, fmt.Sprintf(`"set":{%q:%q}`, field, want)) {
				t.Errorf("%s %s: %s, %v", field, word, got, err)
			}
		}
	}
}

// Deciding twice is deciding once: after its own events a patch changes nothing, and what the state held is not touched.
func TestPatchIsIdempotent(t *testing.T) {
	t.Parallel()
	before := state(main, "", `{"execNode":"n"}`)
	if _, err := patch(before, `{"execNode":null,"thinkingLevel":"low"}`, ""); err != nil || string(before.Settings["execNode"]) != `"n"` || len(before.Settings) != 1 {
		t.Errorf("the state became %v, %v", before.Settings, err)
	}
	if got, err := patch(state(main, "", `{"thinkingLevel":"low"}`), `{"execNode":null,"thinkingLevel":"low"}`, ""); got != "" || err != nil {
		t.Errorf("again: %s, %v", got, err)
	}
}
