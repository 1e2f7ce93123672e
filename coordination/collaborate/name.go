package collaborate

import (
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
)

// threadName is the name of a new thread: `[협업] {from} → {to} · {topic}`, the topic being the requested name, or the
// beginning of the message. A name that begins with [ is used unchanged.
func (s *Situation) threadName(r *Request, from, target Agent) string {
	about := topic(r.ThreadName)
	if strings.HasPrefix(about, "[") {
		return coordination.Head(about, MaxThreadName)
	}
	if about == "" {
		about = strings.TrimSpace(coordination.Head(coordination.Preview(r.Message, s.roster(), MaxMessage), MaxTopic))
	}
	name := "[협업] " + line(from.name()) + " → " + line(target.name())
	if about != "" {
		name += " · " + about
	}
	return strings.TrimSpace(coordination.Head(name, MaxThreadName))
}

// topic is a thread's name in one line, without secrets.
func topic(threadName string) string { return line(coordination.Mask(threadName)) }

// line is a text in one line.
func line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// reuseKey is the key under which a thread is kept. It has a direction.
func reuseKey(from, target, about string) string {
	key := from + ":" + target
	if about != "" {
		key += ":" + strings.ToLower(coordination.Head(about, MaxThreadName))
	}
	return key
}
