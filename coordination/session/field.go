package session

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// field is a session setting.
type field struct {
	name  string
	fixed bool // subagents only, set once
	// read validates a value and returns its stored form, nil for none.
	read func(name string, raw json.RawMessage) (json.RawMessage, *Refusal)
}

// fields are the settings, in validation order.
var fields = []field{
	{"spawnedBy", true, readKey},
	{"spawnDepth", true, readDepth},
	{labelField, false, nil},
	{"thinkingLevel", false, oneOf("off|minimal|low|medium|high", map[string]string{
		"off": "off", "on": "low", "enable": "low", "enabled": "low", "think": "minimal", "min": "minimal", "minimal": "minimal",
		"low": "low", "thinkhard": "low", "think-hard": "low", "think_hard": "low",
		"mid": "medium", "med": "medium", "medium": "medium", "thinkharder": "medium", "think-harder": "medium", "harder": "medium",
		"high": "high", "ultra": "high", "ultrathink": "high", "thinkhardest": "high", "highest": "high", "max": "high",
		"xhigh": hardest, "x-high": hardest, "x_high": hardest, "x high": hardest,
		"extrahigh": hardest, "extra-high": hardest, "extra_high": hardest, "extra high": hardest,
	})},
	{"verboseLevel", false, oneOf(`"on"|"off"`, with(onOff, map[string]string{
		"minimal": "on", "full": "full", "all": "full", "everything": "full",
	}))},
	{"reasoningLevel", false, oneOf(`"on"|"off"|"stream"`, with(onOff, map[string]string{
		"hide": "off", "hidden": "off", "disable": "off", "disabled": "off", "show": "on", "visible": "on", "enable": "on", "enabled": "on",
		"stream": "stream", "streaming": "stream", "draft": "stream", "live": "stream",
	}))},
	{"responseUsage", false, oneOf(`"off"|"tokens"|"full"`, map[string]string{
		"off": "", "false": "", "no": "", "0": "", "disable": "", "disabled": "",
		"on": "tokens", "true": "tokens", "yes": "tokens", "1": "tokens", "enable": "tokens", "enabled": "tokens",
		"tokens": "tokens", "token": "tokens", "tok": "tokens", "minimal": "tokens", "min": "tokens", "full": "full", "session": "full",
	})},
	{"elevatedLevel", false, oneOf(`"on"|"off"|"ask"|"full"`, with(onOff, map[string]string{
		"full": "full", "auto": "full", "auto-approve": "full", "autoapprove": "full",
		"ask": "ask", "prompt": "ask", "approval": "ask", "approve": "ask",
	}))},
	{"execHost", false, oneOf(`"sandbox"|"gateway"|"node"`, same("sandbox", "gateway", "node"))},
	{"execSecurity", false, oneOf(`"deny"|"allowlist"|"full"`, same("deny", "allowlist", "full"))},
	{"execAsk", false, oneOf(`"off"|"on-miss"|"always"`, same("off", "on-miss", "always"))},
	{"execNode", false, readText},
	{"model", false, readText},
	{"sendPolicy", false, oneOf(`"allow"|"deny"`, same("allow", "deny"))},
	{"groupActivation", false, oneOf(`"mention"|"always"`, same("mention", "always"))},
}

// Settable lists the settings of sessions.patch.
func Settable() []string {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

// hardest is a thinking level that few models support.
const hardest = "xhigh"

// hardestModels lists them.
var hardestModels = []string{
	"openai/gpt-5.2", "openai-codex/gpt-5.3-codex", "openai-codex/gpt-5.3-codex-spark", "openai-codex/gpt-5.2-codex",
	"openai-codex/gpt-5.1-codex", "github-copilot/gpt-5.2-codex", "github-copilot/gpt-5.2",
}

// thinksHardest reports whether a model has the hardest level. A model without a provider matches any provider's.
func thinksHardest(model string) bool {
	model = strings.ToLower(model)
	return slices.ContainsFunc(hardestModels, func(m string) bool {
		_, bare, _ := strings.Cut(m, "/")
		return m == model || bare == model
	})
}

var onOff = map[string]string{
	"on": "on", "true": "on", "yes": "on", "1": "on", "off": "off", "false": "off", "no": "off", "0": "off",
}

func with(base, more map[string]string) map[string]string {
	all := make(map[string]string, len(base)+len(more))
	for _, words := range []map[string]string{base, more} {
		for word, value := range words {
			all[word] = value
		}
	}
	return all
}

func same(words ...string) map[string]string {
	all := make(map[string]string, len(words))
	for _, word := range words {
		all[word] = word
	}
	return all
}

// oneOf accepts one of these values, ignoring case; "" stands for none. use lists them in error messages.
func oneOf(use string, values map[string]string) func(string, json.RawMessage) (json.RawMessage, *Refusal) {
	return func(name string, raw json.RawMessage) (json.RawMessage, *Refusal) {
		text, _ := textOf(raw)
		value, known := values[strings.ToLower(text)]
		switch {
		case !known:
			return nil, &Refusal{Reason: CodeInvalidSetting, Field: name, Value: text, Text: "invalid " + name + " (use " + use + ")"}
		case value == "":
			return nil, nil
		}
		return quote(value), nil
	}
}

// maxText limits a free-text setting, in characters.
const maxText = 256

// readText accepts any single line that is not blank.
func readText(name string, raw json.RawMessage) (json.RawMessage, *Refusal) {
	text, _ := textOf(raw)
	if why := unfit(text, maxText); why != "" {
		return nil, &Refusal{Reason: CodeInvalidSetting, Field: name, Value: text, Text: "invalid " + name + ": " + why}
	}
	return quote(text), nil
}

// readKey accepts a full session key.
func readKey(name string, raw json.RawMessage) (json.RawMessage, *Refusal) {
	value, refusal := readText(name, raw)
	if refusal != nil {
		return nil, refusal
	}
	text, _ := textOf(raw)
	key, err := coordination.ParseSessionKey(text)
	if err != nil {
		return nil, &Refusal{Reason: CodeInvalidSetting, Field: name, Value: text, Text: "invalid " + name + ": malformed session key " + string(value)}
	}
	return quote(key.String()), nil
}

// readDepth reads how many sessions spawned each other before this one.
func readDepth(name string, raw json.RawMessage) (json.RawMessage, *Refusal) {
	depth, ok := coordination.NumberValue(raw)
	if !ok || depth < 0 || depth != float64(int32(depth)) {
		return nil, &Refusal{Reason: CodeInvalidSetting, Field: name, Value: string(raw), Text: "invalid spawnDepth (use an integer >= 0)"}
	}
	return strconv.AppendInt(nil, int64(depth), 10), nil
}
