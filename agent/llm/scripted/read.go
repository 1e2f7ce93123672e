package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// Bounds of values in a script.
const (
	maxRules = 1_000
	maxWait  = time.Hour
	maxCount = 1_000_000
)

// Read reads a script. name is for errors, which are *Error and list all mistakes.
func Read(name string, text []byte) (*Script, error) {
	r := &reader{text: text}
	root, syntax := parse(text)
	if syntax != nil {
		r.mistake(syntax.offset, "", syntax.message, syntax.hint)
		return nil, &Error{name, r.mistakes}
	}
	s := r.script(root)
	if len(r.mistakes) > 0 {
		return nil, &Error{name, r.mistakes}
	}
	return s, nil
}

type reader struct {
	text     []byte
	mistakes []Mistake
	asked    []groupRef // by the current rule
}

func (r *reader) mistake(offset int, path, message, hint string) {
	if len(r.mistakes) == maxMistakes {
		return
	}
	before := r.text[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	r.mistakes = append(r.mistakes, Mistake{line, column, path, message, hint})
}

func (r *reader) wrong(n *node, path, want string) {
	r.mistake(n.offset, path, "must be "+want+", not "+n.kind(), "write "+want)
}

// object visits the members of an object.
func (r *reader) object(n *node, path string, known map[string]func(n *node, path string)) {
	if !n.isObject() {
		r.wrong(n, path, "an object")
		return
	}
	seen := map[string]bool{}
	for _, m := range n.members {
		at := strings.TrimPrefix(path+"."+m.key, ".")
		read := known[m.key]
		switch {
		case seen[m.key]:
			r.mistake(m.offset, at, "duplicate key", "remove one of them")
		case read == nil:
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			r.mistake(m.offset, at, "unknown key", "known keys: "+strings.Join(names, ", "))
		default:
			read(m.value, at)
		}
		seen[m.key] = true
	}
}

func (r *reader) each(n *node, path string, read func(n *node, path string)) {
	if !n.isList() {
		r.wrong(n, path, "a list")
		return
	}
	for i, item := range n.items {
		read(item, fmt.Sprintf("%s[%d]", path, i))
	}
}

func (r *reader) script(root *node) *Script {
	s := &Script{}
	r.object(root, "", map[string]func(*node, string){
		"rules": func(n *node, path string) {
			r.each(n, path, func(n *node, path string) { s.rules = append(s.rules, r.rule(n, path)) })
			if len(n.items) > maxRules {
				r.mistake(n.offset, path, fmt.Sprintf("there are more than %d rules", maxRules), "remove some")
			}
		},
	})
	if len(r.mistakes) == 0 && len(s.rules) == 0 {
		r.mistake(root.offset, "rules", "there are no rules", `write {"rules": [{"answer": {"text": "..."}}]}`)
	}
	return s
}

func (r *reader) rule(n *node, path string) rule {
	one := rule{when: when{after: string(llm.User)}, answer: answer{}}
	answered, sound := false, len(r.mistakes)
	r.asked = nil
	r.object(n, path, map[string]func(*node, string){
		"when": func(n *node, path string) { r.when(n, path, &one.when) },
		"answer": func(n *node, path string) {
			r.answer(n, path, &one.answer)
			answered = true
		},
	})
	if n.isObject() && !answered {
		r.mistake(n.offset, path, "the rule has no answer", `add "answer": {"text": "..."}`)
	}
	if len(r.mistakes) == sound {
		r.groups(one.when.matches)
	}
	return one
}

func (r *reader) when(n *node, path string, w *when) {
	r.object(n, path, map[string]func(*node, string){
		"contains": func(n *node, path string) {
			add := func(n *node, path string) { w.contains = append(w.contains, strings.ToLower(r.name(n, path))) }
			if n.isList() {
				r.each(n, path, add)
			} else {
				add(n, path)
			}
		},
		"matches": func(n *node, path string) {
			w.matches = r.expression(n, path)
			if w.matches != nil {
				r.names(n, path, w.matches)
			}
		},
		"result": func(n *node, path string) { w.result = r.expression(n, path) },
		"agent":  func(n *node, path string) { w.agent = r.name(n, path) },
		"model":  func(n *node, path string) { w.model = r.name(n, path) },
		"offers": func(n *node, path string) { w.offers = r.name(n, path) },
		"tool":   func(n *node, path string) { w.tool = r.name(n, path) },
		"after": func(n *node, path string) {
			w.after = r.choice(n, path, string(llm.User), string(llm.ToolRole), afterAny)
		},
		"turn":    func(n *node, path string) { w.turn = r.count(n, path, 1) },
		"step":    func(n *node, path string) { w.step = r.count(n, path, 1) },
		"attempt": func(n *node, path string) { w.attempt = r.count(n, path, 1) },
	})
}

func (r *reader) answer(n *node, path string, a *answer) {
	r.object(n, path, map[string]func(*node, string){
		"text":  func(n *node, path string) { a.text = r.template(n, path) },
		"chunk": func(n *node, path string) { a.chunk = r.count(n, path, 1) },
		"wait":  func(n *node, path string) { a.wait = r.duration(n, path) },
		"delay": func(n *node, path string) { a.delay = r.duration(n, path) },
		"toolCalls": func(n *node, path string) {
			r.each(n, path, func(n *node, path string) { a.toolCalls = append(a.toolCalls, r.toolCall(n, path)) })
		},
		"stop": func(n *node, path string) {
			a.stop = llm.StopReason(r.choice(n, path, string(llm.Length), string(llm.Filtered)))
		},
		"fault": func(n *node, path string) { a.fault = r.fault(n, path) },
	})
}

func (r *reader) toolCall(n *node, path string) (call toolCall) {
	call.arguments = "{}"
	said := 0
	r.object(n, path, map[string]func(*node, string){
		"name": func(n *node, path string) { call.name = r.name(n, path) },
		"arguments": func(n *node, path string) {
			if said++; !n.isObject() {
				r.wrong(n, path, "an object")
				return
			}
			r.templates(n, path)
			call.arguments = n.json()
		},
		"rawArguments": func(n *node, path string) {
			said++
			call.arguments, call.raw = r.template(n, path), true
		},
	})
	switch {
	case n.isObject() && call.name == "":
		r.mistake(n.offset, path, "the call names no tool", `add "name"`)
	case said > 1:
		r.mistake(n.offset, path, "arguments and rawArguments exclude each other", "remove one of them")
	}
	return call
}

func (r *reader) fault(n *node, path string) *fault {
	f := &fault{}
	r.object(n, path, map[string]func(*node, string){
		"class": func(n *node, path string) {
			var all []string
			for _, class := range llm.Classes() {
				all = append(all, string(class))
			}
			f.class = llm.Class(r.choice(n, path, all...))
		},
		"hang":       func(n *node, path string) { f.hang = r.flag(n, path) },
		"retryAfter": func(n *node, path string) { f.retryAfter = r.duration(n, path) },
		"status":     func(n *node, path string) { f.status = r.count(n, path, 400) },
		"message":    func(n *node, path string) { f.message = r.string(n, path) },
		"after":      func(n *node, path string) { f.after = r.count(n, path, 0) },
	})
	if n.isObject() && (f.class == "") != f.hang {
		r.mistake(n.offset, path, "a fault has a class or hangs", `write either "class" or "hang": true`)
	}
	return f
}

func (r *reader) string(n *node, path string) string {
	s, ok := n.value.(string)
	if !ok {
		r.wrong(n, path, "a text")
	}
	return s
}

// name reads a text that must not be empty.
func (r *reader) name(n *node, path string) string {
	s := r.string(n, path)
	if s == "" && n.value == "" {
		r.mistake(n.offset, path, "must not be empty", "write something, or remove the key")
	}
	return s
}

func (r *reader) flag(n *node, path string) bool {
	b, ok := n.value.(bool)
	if !ok {
		r.wrong(n, path, "true or false")
	}
	return b
}

func (r *reader) count(n *node, path string, least int) int {
	number, _ := n.value.(json.Number)
	i, err := strconv.Atoi(number.String())
	if err != nil || i < least || i > maxCount {
		r.mistake(n.offset, path, fmt.Sprintf("must be a whole number from %d to %d", least, maxCount), "write such a number")
		return least
	}
	return i
}

func (r *reader) duration(n *node, path string) time.Duration {
	s, _ := n.value.(string)
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxWait {
		r.mistake(n.offset, path, "must be a duration of at most an hour", `write it as "250ms", "2s" or "1m"`)
		return 0
	}
	return d
}

func (r *reader) choice(n *node, path string, all ...string) string {
	s, ok := n.value.(string)
	if !ok || !slices.Contains(all, s) {
		r.mistake(n.offset, path, "must be one of "+strings.Join(all, ", "), "write one of them")
	}
	return s
}

// json formats a value as JSON.
func (n *node) json() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	switch {
	case n.isObject():
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoted(m.key) + ":")
			m.value.write(b)
		}
		b.WriteByte('}')
	case n.isList():
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	default:
		switch v := n.value.(type) {
		case string:
			b.WriteString(quoted(v))
		case json.Number:
			b.WriteString(v.String())
		case bool:
			b.WriteString(strconv.FormatBool(v))
		default:
			b.WriteString("null")
		}
	}
}

// quoted formats a text as JSON, without escaping HTML characters.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // cannot fail for a text
	return strings.TrimSuffix(b.String(), "\n")
}
