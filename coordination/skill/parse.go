package skill

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
)

// Bounds of what is kept of a file.
const (
	maxName        = 64  // characters
	maxDescription = 500 // characters
	maxNeeds       = 32  // of each kind
)

// Parse reads the front matter at the beginning of a SKILL.md in a folder. fault says why it is no skill; what could be read is returned
// nevertheless.
func Parse(folder, text string) (s Skill, fault string) {
	s = Skill{Name: line(folder, maxName), Path: Folder + "/" + folder + "/" + FileName}
	s.Key = s.Name
	head, found := frontMatter(text)
	if !found {
		return s, "no front matter between two lines ---"
	}
	members := membersOf(head)
	s.Name = cmp.Or(line(members["name"], maxName), s.Name)
	s.Key = s.Name
	s.Description, s.Homepage = line(members["description"], maxDescription), line(members["homepage"], maxDescription)
	s.Hidden = isTrue(members["disable-model-invocation"])
	if raw := members["metadata"]; raw != "" && !s.apply(raw) {
		return s, "its metadata is not JSON"
	}
	if s.Description == "" {
		return s, "no description: agents would not know when to use it"
	}
	return s, ""
}

// frontMatter returns what is between the first line, ---, and the next such line.
func frontMatter(text string) (head string, found bool) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", false
	}
	head, _, found = strings.Cut("\n"+rest, "\n---")
	return head, found
}

// membersOf returns the members of a mapping in YAML, as far as OpenClaw's files use it: plain and quoted texts, folded and literal ones,
// and lists and mappings as JSON. Lists and mappings in lines of their own stay text.
func membersOf(head string) map[string]string {
	members := map[string]string{}
	key := ""
	var value []string
	keep := func() {
		if _, twice := members[key]; key != "" && !twice {
			members[key] = valueOf(value)
		}
	}
	for text := range strings.SplitSeq(head, "\n") {
		indented := strings.TrimLeft(text, " \t") != text
		name, rest, is := strings.Cut(text, ":")
		switch {
		case strings.TrimSpace(text) == "" || indented || !is && key != "":
			value = append(value, text)
		case strings.HasPrefix(text, "#"):
		case is && (rest == "" || rest[0] == ' ' || rest[0] == '\t'):
			keep()
			key, value = strings.TrimSpace(name), []string{rest}
		}
	}
	keep()
	return members
}

// valueOf returns a value that begins on its key's line and goes on in further ones.
func valueOf(lines []string) string {
	first := strings.TrimSpace(lines[0])
	if first != "" && strings.ContainsRune("|>", rune(first[0])) {
		return joined(lines[1:], map[byte]string{'|': "\n", '>': " "}[first[0]])
	}
	text := strings.TrimSpace(joined(lines, " "))
	switch {
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return text
	case len(text) > 1 && text[0] == '"':
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			text, _ = strconv.Unquote(quoted) // it is quoted
		}
		return text
	case len(text) > 1 && text[0] == '\'':
		if end := strings.LastIndexByte(text, '\''); end > 0 {
			return strings.ReplaceAll(text[1:end], "''", "'")
		}
	}
	if strings.HasPrefix(text, "#") {
		return ""
	}
	text, _, _ = strings.Cut(text, " #")
	return strings.TrimSpace(text)
}

func joined(lines []string, with string) string {
	var all []string
	for _, text := range lines {
		all = append(all, strings.TrimSpace(text))
	}
	return strings.Trim(strings.Join(all, with), with+" ")
}

// apply reads metadata.openclaw, or as it was called before. ok is false for what is not JSON with at most commas too many.
func (s *Skill) apply(raw string) (ok bool) {
	type own struct {
		SkillKey, Emoji, Homepage, PrimaryEnv string
		Always                                bool
		OS                                    []string
		Requires                              struct{ Bins, AnyBins, Env, Config []string }
	}
	var metadata struct{ OpenClaw, Clawdbot *own }
	if !strings.HasPrefix(raw, "{") {
		return true // in lines of its own: not read
	}
	if json.Unmarshal([]byte(withoutLastCommas(raw)), &metadata) != nil {
		return false
	}
	m := cmp.Or(metadata.OpenClaw, metadata.Clawdbot)
	if m == nil {
		return true
	}
	s.Key, s.Homepage = cmp.Or(line(m.SkillKey, maxName), s.Key), cmp.Or(s.Homepage, line(m.Homepage, maxDescription))
	s.Emoji, s.PrimaryEnv, s.Always = line(m.Emoji, maxName), line(m.PrimaryEnv, maxName), m.Always
	s.Needs = Needs{Bins: bounded(m.Requires.Bins), AnyBins: bounded(m.Requires.AnyBins), Env: bounded(m.Requires.Env), Config: bounded(m.Requires.Config), OS: bounded(m.OS)}
	return true
}

// withoutLastCommas removes commas before a closing bracket, which YAML allows.
func withoutLastCommas(text string) string {
	var b strings.Builder
	comma, quoted := -1, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\' && i+1 < len(text):
			b.WriteByte(c)
			i++
			c = text[i]
		case c == '"':
			quoted = !quoted
		}
		switch {
		case quoted || !strings.ContainsRune(" \t\n,}]", rune(c)):
			comma = -1
		case c == ',':
			comma = b.Len()
		case (c == '}' || c == ']') && comma >= 0:
			kept := b.String()
			b.Reset()
			b.WriteString(kept[:comma] + kept[comma+1:])
			comma = -1
		}
		b.WriteByte(c)
	}
	return b.String()
}

func bounded(names []string) (all []string) {
	for _, name := range names[:min(len(names), maxNeeds)] {
		if name = line(name, maxName); name != "" {
			all = append(all, name)
		}
	}
	return all
}

func isTrue(text string) bool {
	return strings.EqualFold(text, "true") || strings.EqualFold(text, "yes")
}

// line is a text as one line of at most so many characters.
func line(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return coordination.Head(strings.Join(strings.Fields(text), " "), most)
}
