package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/hook"
)

// Hooks says which requests of other programs wake agents or give them work.
type Hooks struct {
	Enabled      bool
	Path         string // below which they are, such as /hooks
	Token        Secret // is not that of the gateway
	MaxBodyBytes int
	MaxPerMinute int // requests
	Policy       hook.Policy
	Mappings     []hook.Mapping
}

// Bounds and defaults of Hooks.
const (
	usualHooksPath  = "/hooks"
	usualHookBody   = 256 << 10
	mostHookBody    = 8 << 20
	usualHookRate   = 600
	mostHookMapping = 200
)

func (c *Config) decodeHooks(f *fields) {
	h := &c.Hooks
	h.Enabled, h.Token = f.flag("enabled", false), f.secret("token")
	h.Path = f.hooksPath("path")
	h.MaxBodyBytes, h.MaxPerMinute = f.count("maxBodyBytes", usualHookBody, 1, mostHookBody), f.count("maxPerMinute", usualHookRate, 1, maxCount)
	h.Policy = hook.Policy{DefaultSessionKey: strings.TrimSpace(f.text("defaultSessionKey", "")), RequestSessionKeys: f.flag("allowRequestSessionKey", false)}
	if ids := f.texts("allowedAgentIds"); f.object.get("allowedAgentIds") != nil {
		h.Policy.Agents = append([]string{}, ids...) // an empty list allows none
	}
	for _, prefix := range f.texts("allowedSessionKeyPrefixes") {
		if prefix = strings.ToLower(strings.TrimSpace(prefix)); prefix != "" {
			h.Policy.SessionKeyPrefixes = append(h.Policy.SessionKeyPrefixes, prefix)
		}
	}
	f.each("mappings", func(f *fields) { h.decodeMapping(f) })
	c.checkHooks(f)
	f.others("presets", "gmail", "internal")
	f.aside("transformsDir")
	f.done()
}

// hooksPath reads the path below which hooks are.
func (f *fields) hooksPath(key string) string {
	written := strings.TrimSpace(f.text(key, usualHooksPath))
	clean := "/" + hook.PathOf(written)
	if u, err := url.Parse(clean); clean == "/" || err != nil || u.Path != clean || u.JoinPath().Path != clean {
		f.invalid(f.object.get(key), f.at.member(key), "is not a path of their own", "write one such as "+usualHooksPath)
		return usualHooksPath
	}
	return clean
}

func (h *Hooks) decodeMapping(f *fields) {
	match := f.within("match")
	m := hook.Mapping{ID: f.text("id", ""), Path: hook.PathOf(match.text("path", "")), Source: strings.TrimSpace(match.text("source", "")),
		Action: f.choice("action", hook.ActionAgent, hook.ActionWake), Name: f.text("name", ""), AgentID: strings.TrimSpace(f.text("agentId", "")),
		SessionKey: strings.TrimSpace(f.text("sessionKey", "")), SessionMode: f.choice("sessionMode", hook.Isolated, hook.Persistent),
		Deliver: f.flag("deliver", true), Channel: strings.ToLower(strings.TrimSpace(f.text("channel", hook.ChannelLast))), To: f.text("to", ""),
		Model: f.text("model", ""), Thinking: f.text("thinking", ""), TimeoutSeconds: int64(f.count("timeoutSeconds", 0, 0, maxCount))}
	match.done()
	m.Text = f.text("messageTemplate", "")
	if text := f.text("textTemplate", ""); m.Action == hook.ActionWake && text != "" {
		m.Text = text
	}
	f.choice("wakeMode", "now", "next-heartbeat")
	f.others("allowUnsafeExternalContent", "forEach")
	f.knows("transform")
	f.done()
	if f.schema != nil {
		return
	}
	if m.ID == "" {
		m.ID = fmt.Sprintf("mapping-%d", len(h.Mappings)+1)
	}
	fault, hint := "", ""
	switch {
	case f.object.get("transform") != nil:
		fault, hint = "openclawd runs no transforms", "write a messageTemplate instead"
	case m.Text == "":
		fault, hint = "the mapping has no message", "write messageTemplate"
	case m.Path == hook.ActionAgent, m.Path == hook.ActionWake:
		fault, hint = "requests to "+m.Path+" are not mapped", "use another match.path"
	case len(h.Mappings) == mostHookMapping:
		fault, hint = fmt.Sprintf("it is one mapping too many: at most %d", mostHookMapping), "remove some"
	}
	if fault != "" {
		f.report.add(warning(CodeValue, f.object.at, f.at, fault+": it has no effect", hint))
		return
	}
	h.Mappings = append(h.Mappings, m)
}

// checkHooks switches hooks off that would be open to others than those who are given their token.
func (c *Config) checkHooks(f *fields) {
	h := &c.Hooks
	if !h.Enabled || f.schema != nil {
		return
	}
	off := func(key, why, hint string) {
		h.Enabled = false
		at := f.object.at
		if v := f.object.get(key); v != nil {
			at = v.at
		}
		f.report.add(warning(CodeValue, at, f.at.member(key), why+": hooks are off", hint))
	}
	const hint = "set it to a long random text, such as one that openssl rand -hex 32 prints"
	switch p := &h.Policy; {
	case h.Token == "":
		off("token", "hooks need a token", hint)
	case slices.Contains([]Secret{c.Gateway.Auth.Token, c.Gateway.Auth.Password}, h.Token):
		off("token", "the token of hooks is also that of the gateway", hint)
	case p.DefaultSessionKey != "" && !startsWithOne(p.DefaultSessionKey, p.SessionKeyPrefixes):
		off("defaultSessionKey", "it begins with none of hooks.allowedSessionKeyPrefixes", "change one of them")
	case p.DefaultSessionKey == "" && !startsWithOne("hook:", p.SessionKeyPrefixes):
		off("allowedSessionKeyPrefixes", "sessions of hooks begin with hook:, which is not allowed", "add hook:, or set hooks.defaultSessionKey")
	}
}

func startsWithOne(text string, prefixes []string) bool {
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(strings.ToLower(text), prefix) })
}
