package scripted

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// placeOf is where the value of that name is put into a text.
func placeOf(name string) string { return "{{" + name + "}}" }

// ownWords are names of values that groups cannot have.
var ownWords = [...]string{"message", "agent", "model", "turn", "tool", "result"}

// numbered finds where a text asks for a group by its number.
var numbered = regexp.MustCompile(`\{\{(\d+)\}\}`)

// asked is a group that a text of a rule asks for.
type asked struct {
	number string
	offset int
	path   string
}

// expression is a text that is a regular expression; nil if it is none, which is noted.
func (r *reader) expression(n *node, path string) *regexp.Regexp {
	re, err := regexp.Compile(r.name(n, path))
	if err != nil {
		r.mistake(n.offset, path, err.Error(), "write a regular expression of Go; a backslash is two in JSON")
		return nil
	}
	return re
}

// names checks those of groups.
func (r *reader) names(n *node, path string, matches *regexp.Regexp) {
	for _, name := range matches.SubexpNames() {
		switch {
		case slices.Contains(ownWords[:], name):
			r.mistake(n.offset, path, "the name of the group "+name+" means something else", "call it otherwise: "+placeOf(name)+" is taken")
		case name != "" && name[0] <= '9':
			r.mistake(n.offset, path, "the name of the group "+name+" begins with a digit", "begin it with a letter: numbers count groups")
		}
	}
}

// template is a text in which values are put, among them groups.
func (r *reader) template(n *node, path string) string {
	text := r.string(n, path)
	r.asks(text, n.offset, path)
	return text
}

// templates notes what the texts of a value ask for, its keys among them.
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
		r.asked = append(r.asked, asked{found[1], offset, path})
	}
}

// groups checks that matches, nil for none, has all groups that the texts of its rule ask for.
func (r *reader) groups(matches *regexp.Regexp) {
	count := 0
	if matches != nil {
		count = matches.NumSubexp()
	}
	for _, a := range r.asked {
		if n, err := strconv.Atoi(a.number); err == nil && n >= 1 && n <= count && strconv.Itoa(n) == a.number {
			continue
		}
		mend := "remove it, or put what it stands for in brackets in when.matches"
		if count > 0 {
			mend = fmt.Sprintf("groups are {{1}} to {{%d}}", count)
		}
		r.mistake(a.offset, a.path, fmt.Sprintf("there is no group %s: when.matches has %d", placeOf(a.number), count), mend)
	}
}
