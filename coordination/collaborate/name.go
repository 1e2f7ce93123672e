package collaborate

import (
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
)

// threadName is the name of a new thread: `[협업] {from} → {to} · {topic}`, the topic being the requested name, or the
// beginning of the message. A name that begins with [ is used unchanged.
func (s *Situation) threadName(r *Request, from, target Agent) string {
	about, own := topic(r.ThreadName), s.traits()
	if strings.HasPrefix(about, "[") {
		return fitted(about, &own)
	}
	if about == "" {
		about = strings.TrimSpace(coordination.Head(coordination.Preview(r.Message, s.roster(), MaxMessage), MaxTopic))
	}
	name := "[협업] " + line(from.name()) + " → " + line(target.name())
	if about != "" {
		name += " · " + about
	}
	return strings.TrimSpace(fitted(name, &own))
}

// fitted cuts the name of a thread to what the channel allows, counted as the channel does.
func fitted(name string, own *coordination.Channel) string {
	for limit := own.MaxThreadName; ; limit-- {
		if cut := coordination.Head(name, limit); own.Length(cut) <= own.MaxThreadName {
			return cut
		}
	}
}

// topic is a thread's name in one line, without secrets.
func topic(threadName string) string { return line(coordination.Mask(threadName)) }

// line is a text in one line.
func line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// reuseKey is the key under which a thread is kept. It has a direction. Another channel than Discord is named by it after a
// blank, with which no topic begins.
func (s *Situation) reuseKey(from, target, about string) string {
	key := from + ":" + target
	if own := s.traits(); own.Name != coordination.Discord {
		key += ": " + own.Name
	}
	if about != "" {
		key += ":" + strings.ToLower(coordination.Head(about, MaxThreadName))
	}
	return key
}
