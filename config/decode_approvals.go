package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Limits of CallApprovals, which bound the work per call.
const (
	maxCallRules    = 100
	maxCallNames    = 50  // tools or agents of a rule
	maxArguments    = 8   // patterns of a rule
	maxPattern      = 500 // bytes
	maxArgumentName = 100 // bytes

	usualCallWait = 3600           // seconds
	maxCallWait   = 20 * 24 * 3600 // seconds: the timers of OpenClaw's clients hold little more
)

// decodeCallApprovals reads which calls of tools wait for people. A rule that cannot be read makes the configuration unusable: without
// it, calls would be made that were not meant to be.
func decodeCallApprovals(f *fields) (a CallApprovals) {
	a.Timeout = time.Duration(f.count("timeoutSeconds", usualCallWait, 1, maxCallWait)) * time.Second
	f.each("rules", func(f *fields) { a.Rules = append(a.Rules, decodeCallRule(f)) })
	f.atMost("rules", "rules", len(a.Rules), maxCallRules)
	f.done()
	return a
}

func decodeCallRule(f *fields) CallRule {
	r := CallRule{Tools: f.callNames("tools"), Agents: f.callNames("agents"), Arguments: f.argumentPatterns("arguments"),
		Decision: f.choice("decision", "", CallAllow, CallAsk, CallDeny)}
	f.needs("decision")
	f.strict()
	f.done()
	return r
}

// strict makes unknown keys failures: a misspelled condition would have a rule match more than it was meant to.
func (f *fields) strict() {
	if f.object == nil {
		return
	}
	for _, m := range f.object.members {
		if !slices.Contains(f.known, m.key) {
			f.knows(m.key)
			f.report.add(failure(CodeUnknownKey, m.at, f.at.member(m.key), "this is no condition of a rule", "use tools, agents, arguments and decision"))
		}
	}
}

// callNames reads names with patterns. An empty list is refused: it would match nothing, or everything.
func (f *fields) callNames(key string) []string {
	names := f.texts(key)
	v := f.object.get(key)
	if v != nil && v.kind == list && len(v.items) == 0 {
		f.report.add(failure(CodeValue, v.at, f.at.member(key), "the list is empty", "leave it out to match all"))
	}
	f.atMost(key, "names", len(names), maxCallNames)
	for i, name := range names {
		names[i] = coordination.TrimJS(name)
		if names[i] == "" || len(name) > maxPattern {
			f.invalid(v.items[i], f.at.member(key).item(i), "is blank or too long", fmt.Sprintf("write a name of at most %d bytes", maxPattern))
		}
	}
	return names
}

// argumentPatterns reads the conditions on arguments, by their names.
func (f *fields) argumentPatterns(key string) (all []ArgumentPattern) {
	f.schema.member(key).each("string")
	within := f.below(f.get(key), f.at.member(key))
	if within.object == nil {
		return nil
	}
	f.atMost(key, "patterns", len(within.object.members), maxArguments)
	for _, m := range within.object.members {
		at := within.at.named(m.key)
		switch {
		case m.value.kind != text:
			f.wrong(m.value, at, text.String())
		case m.value.text == "", len(m.value.text) > maxPattern, m.key == "", len(m.key) > maxArgumentName:
			f.invalid(m.value, at, "is not a pattern of an argument",
				fmt.Sprintf("write 1 to %d bytes, in which * matches any part, under a name of 1 to %d bytes", maxPattern, maxArgumentName))
		default:
			all = append(all, ArgumentPattern{m.key, m.value.text})
		}
	}
	return all
}

// atMost reports a list that is too long.
func (f *fields) atMost(key, what string, n, most int) {
	if v := f.object.get(key); v != nil && n > most {
		f.report.add(failure(CodeValue, v.at, f.at.member(key), fmt.Sprintf("there are %d %s", n, what), fmt.Sprintf("write at most %d", most)))
	}
}
