package coordination

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// KeyKind is the kind of session of a key.
type KeyKind string

const (
	KeyMain     KeyKind = "main"     // agent:<agent>:<id>, id usually "main"
	KeySubagent KeyKind = "subagent" // agent:<agent>:subagent:<id>
	KeyA2A      KeyKind = "a2a"      // agent:<agent>:a2a:<conversation id>
	KeyDirect   KeyKind = "direct"   // agent:<agent>[:<channel>[:<account>]]:direct:<id>
	KeyGroup    KeyKind = "group"    // agent:<agent>:<channel>:group:<id>[:thread:<n>|:topic:<n>]
	KeyChannel  KeyKind = "channel"  // agent:<agent>:<channel>:channel:<id>[:thread:<n>|:topic:<n>]
	KeyCron     KeyKind = "cron"     // agent:<agent>:cron:<id>[:run:<run>]
	KeyACP      KeyKind = "acp"      // agent:<agent>:acp:<anything>
	KeyOther    KeyKind = "other"    // agent:<agent>:<channel>:<id>, of an unknown family; id may hold colons
	KeyAlias    KeyKind = "alias"    // main, global, unknown, cron:…, hook:…, node…, acp:…; no agent
)

// SessionKey is a parsed session key, in lower case.
type SessionKey struct {
	Kind    KeyKind
	Agent   string // "" for aliases only
	ID      string // see the kinds; an alias is its own id
	Channel string // of direct, group and channel sessions; the family of an unknown kind
	Account string // of direct sessions
	Thread  string // within a group or channel
	Topic   string // likewise; never both
	Run     string // of a cron job
}

// SessionKeyError is the error of an invalid session key, which never falls back to a default agent's session.
type SessionKeyError struct {
	Key   string
	Field string // the invalid part: key, agent, id, channel, account, thread, topic, run
	Value string // its value
	Hint  string // what is expected
}

func (e *SessionKeyError) Error() string {
	return fmt.Sprintf("coordination: session key %q: %s %q: %s", e.Key, e.Field, e.Value, e.Hint)
}

// MaxSessionKey limits a session key, in bytes.
const MaxSessionKey = 240

// MaxKeyPart limits one part of a session key, in bytes.
const MaxKeyPart = 128

// maxAgentID limits an agent id, in bytes.
const maxAgentID = 64

// DefaultMainKey is the id of an agent's main session.
const DefaultMainKey = "main"

// MainKey is the key of an agent's main session.
func MainKey(agent string) SessionKey {
	return SessionKey{Kind: KeyMain, Agent: agent, ID: DefaultMainKey}
}

// SubagentKey is the key of a sub-agent's session.
func SubagentKey(agent, id string) SessionKey {
	return SessionKey{Kind: KeySubagent, Agent: agent, ID: id}
}

// A2AKey is the key of an agent's session for a conversation.
func A2AKey(agent, conversationID string) SessionKey {
	return SessionKey{Kind: KeyA2A, Agent: agent, ID: conversationID}
}

// DirectKey is the key of an agent's session with one person. channel and account may be ""; account needs a channel.
func DirectKey(agent, channel, account, peer string) SessionKey {
	return SessionKey{Kind: KeyDirect, Agent: agent, Channel: channel, Account: account, ID: peer}
}

// ChannelKey is the key of an agent's session in a channel of a service such as discord.
func ChannelKey(agent, channel, id string) SessionKey {
	return SessionKey{Kind: KeyChannel, Agent: agent, Channel: channel, ID: id}
}

// GroupKey is the key of an agent's session in a group chat.
func GroupKey(agent, channel, id string) SessionKey {
	return SessionKey{Kind: KeyGroup, Agent: agent, Channel: channel, ID: id}
}

// ParseSessionKey parses a session key, ignoring case and surrounding space. Errors are *SessionKeyError.
func ParseSessionKey(s string) (SessionKey, error) {
	text := strings.ToLower(TrimJS(s))
	p := keyParser{key: s}
	if len(text) > MaxSessionKey {
		p.fault("key", text, "use at most 240 bytes in all")
	}
	if isAlias(text) && p.err == nil {
		return SessionKey{Kind: KeyAlias, ID: text}, nil
	}
	parts := strings.Split(text, ":")
	if parts[0] != "agent" || len(parts) < 3 {
		p.fault("key", text, "write agent:<agent>:<session>, or one of main, global, unknown, cron:…, hook:…, node…, acp:…")
		return SessionKey{}, p.err
	}
	k := SessionKey{Agent: parts[1]}
	p.agent(k.Agent)
	p.rest(&k, parts[2:])
	if p.err != nil {
		return SessionKey{}, p.err
	}
	return k, nil
}

// NormalizeSessionKey returns a key in the form used for comparison; an invalid key is unchanged.
func NormalizeSessionKey(key string) string {
	k, err := ParseSessionKey(key)
	if err != nil {
		return key
	}
	return k.String()
}

// SessionKeyOf resolves a client's name for a session: a key, main for defaultAgent's main session, or a bare name for another session
// of that agent. Errors are *SessionKeyError: an invalid key, and a name with an invalid agent id, resolve to no session.
func SessionKeyOf(s, defaultAgent string) (SessionKey, error) {
	text := strings.ToLower(TrimJS(s))
	switch head, _, _ := strings.Cut(text, ":"); {
	case head == "agent", isAlias(text) && text != DefaultMainKey:
		return ParseSessionKey(s)
	case text == "":
		return SessionKey{}, &SessionKeyError{Key: s, Field: "key", Value: s, Hint: "name a session, e.g. main"}
	}
	p := keyParser{key: s}
	if p.agent(defaultAgent); p.err != nil {
		return SessionKey{}, p.err
	}
	k, err := ParseSessionKey("agent:" + defaultAgent + ":" + text)
	if fault := (*SessionKeyError)(nil); errors.As(err, &fault) {
		fault.Key = s
	}
	return k, err
}

// IsHook reports whether a session is one in which requests to hooks are answered: agent:<agent>:hook:<id>, or the alias hook:<id>.
func (k SessionKey) IsHook() bool {
	return k.Kind == KeyOther && k.Channel == HookSessions || k.Kind == KeyAlias && strings.HasPrefix(k.ID, HookSessions+":")
}

// String formats the key. ParseSessionKey reads a valid one back.
func (k SessionKey) String() string {
	if k.Kind == KeyAlias {
		return k.ID
	}
	parts := []string{"agent", k.Agent}
	switch k.Kind {
	case KeyMain:
		parts = append(parts, k.ID)
	case KeyOther:
		parts = append(parts, k.Channel, k.ID)
	case KeyDirect, KeyGroup, KeyChannel:
		for _, part := range []string{k.Channel, k.Account} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		parts = append(parts, string(k.Kind), k.ID)
	default:
		parts = append(parts, string(k.Kind), k.ID)
	}
	for _, tail := range [][2]string{{"thread", k.Thread}, {"topic", k.Topic}, {"run", k.Run}} {
		if tail[1] != "" {
			parts = append(parts, tail[0], tail[1])
		}
	}
	return strings.Join(parts, ":")
}

// NormalizeAgentID derives an agent id from a name: trimmed, lower-case, characters other than a-z, 0-9, _ and - turned into dashes,
// none of these at the ends, at most 64 bytes. It is "" if nothing is left.
func NormalizeAgentID(s string) string {
	id := strings.Map(func(r rune) rune {
		if isAgentRune(r) {
			return r
		}
		return '-'
	}, strings.ToLower(TrimJS(s)))
	id = strings.TrimLeft(id, "-_")
	return strings.TrimRight(id[:min(len(id), maxAgentID)], "-")
}

func isAgentRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func isAlias(text string) bool {
	switch text {
	case "main", "global", "unknown":
		return true
	}
	for _, family := range [...]string{"cron:", "hook:", "acp:"} {
		if strings.HasPrefix(text, family) && len(text) > len(family) {
			return isPlain(text)
		}
	}
	return strings.HasPrefix(text, "node") && isPlain(text)
}

// isPlain reports whether text has no blanks, control characters or invalid UTF-8.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || isSpaceJS(r) || unicode.IsControl(r) || r == unicode.ReplacementChar
	})
}

// keyParser validates the parts of a key and keeps the first error.
type keyParser struct {
	key string
	err error
}

func (p *keyParser) fault(field, value, hint string) {
	if p.err == nil {
		p.err = &SessionKeyError{Key: p.key, Field: field, Value: value, Hint: hint}
	}
}

func (p *keyParser) agent(id string) {
	switch {
	case id == "":
		p.fault("agent", id, "name the agent")
	case len(id) > maxAgentID:
		p.fault("agent", id, "use at most 64 characters")
	case strings.ContainsFunc(id, func(r rune) bool { return !isAgentRune(r) }), id[0] == '-', id[0] == '_':
		p.fault("agent", id, "use a-z, 0-9, _ and -, with a letter or digit first")
	}
}

func (p *keyParser) part(field, value string) string {
	switch {
	case value == "":
		p.fault(field, value, "must not be empty")
	case len(value) > MaxKeyPart:
		p.fault(field, value, "use at most 128 bytes")
	case !isPlain(value):
		p.fault(field, value, "use no blanks or control characters")
	}
	return value
}

// rest parses the key after the agent.
func (p *keyParser) rest(k *SessionKey, parts []string) {
	switch head := parts[0]; {
	case head == string(KeyACP) && len(parts) > 1:
		k.Kind, k.ID = KeyACP, p.part("id", strings.Join(parts[1:], ":"))
	case head == string(KeyCron) && len(parts) > 1:
		k.Kind, k.ID = KeyCron, p.part("id", parts[1])
		k.Run = p.tail("run", parts[2:])
	case (head == string(KeySubagent) || head == string(KeyA2A) || head == string(KeyDirect)) && len(parts) > 1:
		k.Kind, k.ID = KeyKind(head), p.part("id", parts[1])
		p.end(parts[2:])
	case isReserved(head):
		p.fault("id", "", "add what follows "+head)
	case len(parts) == 1:
		k.Kind, k.ID = KeyMain, p.part("id", head)
	case len(parts) > 2 && (parts[1] == string(KeyGroup) || parts[1] == string(KeyChannel)):
		k.Kind, k.Channel, k.ID = KeyKind(parts[1]), p.part("channel", head), p.part("id", parts[2])
		if tail := parts[3:]; len(tail) > 0 && tail[0] == "topic" {
			k.Topic = p.tail("topic", tail)
		} else {
			k.Thread = p.tail("thread", tail)
		}
	case len(parts) > 2 && parts[1] == string(KeyDirect):
		k.Kind, k.Channel, k.ID = KeyDirect, p.part("channel", head), p.part("id", parts[2])
		p.end(parts[3:])
	case len(parts) > 3 && parts[2] == string(KeyDirect):
		k.Kind, k.Channel, k.Account, k.ID = KeyDirect, p.part("channel", head), p.part("account", parts[1]), p.part("id", parts[3])
		p.end(parts[4:])
	default:
		k.Kind, k.Channel, k.ID = KeyOther, p.part("channel", head), p.part("id", strings.Join(parts[1:], ":"))
		if slices.Contains(parts[1:], "") {
			p.fault("id", strings.Join(parts, ":"), "leave no part empty")
		}
	}
}

// tail parses an optional ":name:value" at the end of a key.
func (p *keyParser) tail(name string, parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	if parts[0] != name || len(parts) < 2 {
		p.fault(name, strings.Join(parts, ":"), "write "+name+":<id> or nothing")
		return ""
	}
	p.end(parts[2:])
	return p.part(name, parts[1])
}

func (p *keyParser) end(parts []string) {
	if len(parts) > 0 {
		p.fault("key", strings.Join(parts, ":"), "end the key before this; ids hold no colon")
	}
}

func isReserved(head string) bool {
	switch KeyKind(head) {
	case KeySubagent, KeyA2A, KeyDirect, KeyGroup, KeyChannel, KeyCron, KeyACP:
		return true
	}
	return false
}
