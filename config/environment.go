package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Limits of variables, over all files. Values are not expanded again.
const (
	maxReferences    = 10_000
	maxExpandedBytes = maxFileBytes // bytes of expanded texts
)

// environment expands variables in texts: ${NAME}, with a name of capitals, digits and _. $${NAME} stands for ${NAME}
// itself; any other dollar is literal.
type environment struct {
	getenv func(string) string
	own    map[string]string // from the configuration's env section; the process's environment takes precedence
	report *report

	references int // so far
	bytes      int // of texts so far
	full       bool
}

func newEnvironment(getenv func(string) string, root *value, r *report) *environment {
	e := &environment{getenv: getenv, own: map[string]string{}, report: r}
	section := root.get("env")
	e.define(section)
	e.define(section.get("vars"))
	return e
}

func (e *environment) define(vars *value) {
	if vars == nil || vars.kind != object {
		return
	}
	for _, m := range vars.members {
		if m.value.kind == text && !strings.Contains(m.value.text, "${") {
			e.own[m.key] = m.value.text
		}
	}
}

// apply expands all texts at and below v.
func (e *environment) apply(v *value, at *path) {
	switch v.kind {
	case text:
		if strings.Contains(v.text, "${") {
			e.expand(v, at)
		}
	case list:
		for i, item := range v.items {
			e.apply(item, at.item(i))
		}
	case object:
		for _, m := range v.members {
			e.apply(m.value, at.member(m.key))
		}
	}
}

// reference matches a variable, escaped or not.
var reference = regexp.MustCompile(`\$?\$\{([A-Z_][A-Z0-9_]*)\}`)

func (e *environment) expand(v *value, at *path) {
	e.bytes += len(v.text)
	text := reference.ReplaceAllStringFunc(v.text, func(found string) string {
		if e.full {
			return ""
		}
		if escaped, ok := strings.CutPrefix(found, "$$"); ok {
			return "$" + escaped
		}
		if e.references++; e.references > maxReferences {
			e.stop(v, at, fmt.Sprintf("there are more than %d references to variables", maxReferences))
			return ""
		}
		name := found[len("${") : len(found)-len("}")]
		s := e.getenv(name)
		if s == "" {
			s = e.own[name]
		}
		if s == "" {
			e.report.add(failure(CodeEnvironment, v.at, at, fmt.Sprintf("the environment variable %s is not set", name),
				fmt.Sprintf("set %s in the environment of openclawd; for the literal text write $%s", name, found)))
			v.unset = true
			return found
		}
		v.secret = v.secret || namesSecret(name)
		if e.bytes += len(s) - len(found); e.bytes > maxExpandedBytes {
			e.stop(v, at, "the values of variables make the configuration larger than 4 MiB")
			return ""
		}
		return s
	})
	if e.full {
		v.unset = true // so that no part of it is taken for the whole
		return
	}
	v.text = text
}

// stop ends the expansion: later references have no value.
func (e *environment) stop(v *value, at *path, message string) {
	e.full = true
	e.report.add(failure(CodeSize, v.at, at, message, "write constant parts into the file itself"))
}
