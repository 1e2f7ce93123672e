package scripted

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// placeOf is the placeholder of a value.
func placeOf(name string) string { return "{{" + name + "}}" }

// ownWords are the names of values, which groups cannot have.
var ownWords = [...]string{"message", "agent", "model", "turn", "tool", "result"}

// numbered finds placeholders of groups by number.
var numbered = regexp.MustCompile(`\{\{(\d+)\}\}`)

// groupRef is a placeholder of a group in a text of a rule.
type groupRef struct {
	number string
	offset int
	path   string
}

// expression reads a regular expression. An invalid one is a mistake, and nil.
func (r *reader) expression(n *node, path string) *regexp.Regexp {
	re, err := regexp.Compile(r.name(n, path))
	if err != nil {
		r.mistake(n.offset, path, err.Error(), "write a Go regular expression; in JSON, double each backslash")
		return nil
	}
	return re
}

// names checks the names of groups.
func (r *reader) names(n *node, path string, matches *regexp.Regexp) {
	for _, name := range matches.SubexpNames() {
		switch {
		case slices.Contains(ownWords[:], name):
			r.mistake(n.offset, path, "the group name "+name+" is reserved", "rename the group: "+placeOf(name)+" has another meaning")
		case name != "" && name[0] <= '9':
			r.mistake(n.offset, path, "the group name "+name+" begins with a digit", "begin it with a letter: numbers refer to groups by position")
		}
	}
}

// template reads a text with placeholders.
func (r *reader) template(n *node, path string) string {
	text := r.string(n, path)
	r.asks(text, n.offset, path)
	return text
}

// templates notes the placeholders in a value, including its keys.
func (r *reader) templates(n *node, path string) {
	if text, is := n.value.(string); is {
		r.asks(text, n.offset, path)
	}
	for i, item := range n.items {
		r.templates(item, fmt.Sprintf("%s[%d]", path, i))
	}
	for _, m := range n.members {
		at := path + "." + m.key
		r.asks(m.key, m.offset, at)
		r.templates(m.value, at)
	}
}

func (r *reader) asks(text string, offset int, path string) {
	for _, found := range numbered.FindAllStringSubmatch(text, -1) {
		r.asked = append(r.asked, groupRef{found[1], offset, path})
	}
}

// groups checks that matches, which may be nil, has all groups that the texts of its rule refer to.
func (r *reader) groups(matches *regexp.Regexp) {
	count := 0
	if matches != nil {
		count = matches.NumSubexp()
	}
	for _, a := range r.asked {
		if n, err := strconv.Atoi(a.number); err == nil && n >= 1 && n <= count && strconv.Itoa(n) == a.number {
			continue
		}
		hint := "remove it, or add the group in parentheses to when.matches"
		if count > 0 {
			hint = fmt.Sprintf("groups are {{1}} to {{%d}}", count)
		}
		r.mistake(a.offset, a.path, fmt.Sprintf("there is no group %s: when.matches has %d", placeOf(a.number), count), hint)
	}
}
