package session

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// PatchCommand changes settings of a session; null clears one.
type PatchCommand struct {
	Command
	Values map[string]json.RawMessage // by sessions.patch name
	Model  string                     // provider/model of the agent, used if the session sets none; setting it clears the session's
}

// Patch decides a PatchCommand. It creates a missing session; without changes there are no events. holder returns the session with a
// label, "" for none; Patch returns its error.
func Patch(s State, c PatchCommand, holder func(label string) (key string, err error)) ([]Event, error) {
	p := patch{state: s, command: c, settings: maps.Clone(s.Settings), label: s.Label}
	if p.settings == nil {
		p.settings = Settings{}
	}
	for _, f := range fields {
		raw, asked := c.Values[f.name]
		if !asked {
			continue
		}
		if err := p.field(f, raw, holder); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return nil, &Refusal{Reason: CodeInvalidSetting, Field: name, Text: "unexpected property '" + name + "'"}
		}
	}
	if err := p.suitModel(); err != nil {
		return nil, err
	}
	var events []Event
	if !s.Exists() {
		events = append(events, s.create(&c.Command))
		p.state.ID = c.NewID
	}
	if changed, is := p.changed(); is {
		events = append(events, Event{coordination.TypeSessionPatched, changed})
	}
	return events, nil
}

// patch is the session with pending changes.
type patch struct {
	state    State
	command  PatchCommand
	settings Settings
	label    string
}

func (p *patch) field(f field, raw json.RawMessage, holder func(string) (string, error)) error {
	clear := string(raw) == "null"
	switch {
	case f.fixed:
		if err := p.checkFixed(f, raw, clear); err != nil {
			return err
		}
	case f.name == labelField && clear:
		p.label = ""
		return nil
	case f.name == labelField:
		return p.rename(raw, holder)
	}
	if clear {
		delete(p.settings, f.name)
		return nil
	}
	value, refusal := f.read(f.name, raw)
	switch {
	case refusal != nil:
		return refusal
	case value == nil, f.name == "model" && string(value) == string(quote(p.command.Model)):
		delete(p.settings, f.name)
	case f.fixed && p.settings[f.name] != nil && string(p.settings[f.name]) != string(value):
		return &Refusal{Reason: CodeFixedSetting, Field: f.name, Value: string(raw), Text: f.name + " cannot be changed once set"}
	default:
		p.settings[f.name] = value
	}
	return nil
}

// checkFixed refuses settings that only subagents have, or that are already set for good.
func (p *patch) checkFixed(f field, raw json.RawMessage, clear bool) error {
	switch {
	case clear && p.settings[f.name] != nil:
		return &Refusal{Reason: CodeFixedSetting, Field: f.name, Value: "null", Text: f.name + " cannot be cleared once set"}
	case clear:
		return nil
	case p.state.Key.Kind != coordination.KeySubagent:
		if text, isText := textOf(raw); isText && text == "" {
			return &Refusal{Reason: CodeInvalidSetting, Field: f.name, Text: "invalid " + f.name + ": empty"}
		}
		return &Refusal{Reason: CodeInvalidSetting, Field: f.name, Value: string(raw), Text: f.name + " is only supported for subagent:* sessions"}
	}
	return nil
}

const (
	labelField = "label"
	maxLabel   = 64 // characters
)

// rename checks a label and its uniqueness.
func (p *patch) rename(raw json.RawMessage, holder func(string) (string, error)) error {
	label, refusal := parseLabel(raw)
	if refusal != nil {
		return refusal
	}
	has, err := holder(label)
	switch {
	case err != nil:
		return err
	case has != "" && has != p.state.Key.String():
		return &Refusal{Reason: CodeLabelInUse, Field: labelField, Value: label, Text: "label already in use: " + label}
	}
	p.label = label
	return nil
}

func parseLabel(raw json.RawMessage) (string, *Refusal) {
	refuse := func(value, why string) (string, *Refusal) {
		return "", &Refusal{Reason: CodeInvalidLabel, Field: labelField, Value: value, Text: "invalid label: " + why}
	}
	label, ok := textOf(raw)
	if !ok {
		return refuse(string(raw), "must be a string")
	}
	if why := unfit(label, maxLabel); why != "" {
		return refuse(label, why)
	}
	return label, nil
}

// unfit returns why a text cannot be stored, "" if it can.
func unfit(text string, most int) string {
	switch {
	case text == "":
		return "empty"
	case utf8.RuneCountInString(text) > most:
		return "too long (max " + strconv.Itoa(most) + ")"
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }):
		return "control characters"
	}
	return ""
}

// suitModel limits the thinking level to those of the model.
func (p *patch) suitModel() error {
	if p.settings.Text("thinkingLevel") != hardest {
		return nil
	}
	model := p.settings.Text("model")
	if model == "" {
		model = p.command.Model
	}
	if thinksHardest(model) {
		return nil
	}
	if _, asked := p.command.Values["thinkingLevel"]; asked {
		last := len(hardestModels) - 1
		return &Refusal{Reason: CodeInvalidSetting, Field: "thinkingLevel", Value: hardest, Text: `thinkingLevel "` + hardest + `" is only supported for ` +
			strings.Join(hardestModels[:last], ", ") + " or " + hardestModels[last]}
	}
	p.settings["thinkingLevel"] = quote("high")
	return nil
}

// changed returns the difference to the state.
func (p *patch) changed() (data coordination.SessionPatched, is bool) {
	data = coordination.SessionPatched{Context: context(), SessionKey: p.state.Key.String(), SessionID: p.state.ID, By: p.command.By}
	set := Settings{}
	for name, value := range p.settings {
		if string(p.state.Settings[name]) != string(value) {
			set[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.state.Settings)) {
		if p.settings[name] == nil {
			data.Unset = append(data.Unset, name)
		}
	}
	switch {
	case p.label == p.state.Label:
	case p.label == "":
		data.Unset = append(data.Unset, labelField)
	default:
		set[labelField] = quote(p.label)
	}
	if len(set) > 0 {
		data.Set = encode(set)
	}
	return data, len(set) > 0 || len(data.Unset) > 0
}

// encode writes an object of JSON members, sorted by name.
func encode(object Settings) json.RawMessage {
	text := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, quote(name)...), ':')
		text = append(text, object[name]...)
	}
	return append(text, '}')
}

func quote(text string) json.RawMessage {
	quoted, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`) // marshalling a string cannot fail
	}
	return quoted
}

// textOf decodes and trims a JSON string; it may be "".
func textOf(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	text, _ := coordination.StringValue(raw)
	return text, true
}
