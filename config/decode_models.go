package config

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

func (c *Config) decodeModels(f *fields) {
	f.choice("mode", "merge", "replace")
	f.named("providers", func(id string, f *fields) { c.Models.Providers = append(c.Models.Providers, decodeProvider(id, f)) })
	scripted := f.within("scripted")
	c.Models.Script = scripted.script("script")
	scripted.done()
	f.others("bedrockDiscovery")
	f.aside("pricing", "catalogRefresh")
	f.done()
}

func decodeProvider(id string, f *fields) ModelProvider {
	p := ModelProvider{ID: id, BaseURL: f.text("baseUrl", ""), API: f.text("api", ""), APIKey: f.secret("apiKey"), Headers: f.headers("headers")}
	if timeout := f.seconds("timeoutSeconds"); timeout != nil {
		p.Timeout = *timeout
	}
	f.each("models", func(f *fields) {
		if m := decodeModel(f); m.ID != "" {
			p.Models = append(p.Models, m)
		}
	})
	f.others("auth", "authHeader", "injectNumCtxForOpenAICompat", "request", "maxTokens", "contextWindow", "contextTokens", "region",
		"params", "agentRuntime", "localService", "apiKeyEnv")
	f.aside("name")
	f.done()
	return p
}

func decodeModel(f *fields) Model {
	m := Model{
		ID:            f.text("id", ""),
		Name:          f.text("name", ""),
		Reasoning:     f.flag("reasoning", false),
		Input:         f.texts("input"),
		ContextWindow: f.tokens("contextWindow"),
		MaxTokens:     f.tokens("maxTokens"),
	}
	m.Name = cmp.Or(m.Name, m.ID)
	if m.Input == nil {
		m.Input = []string{"text"}
	}
	f.others("api", "baseUrl", "headers", "compat", "contextTokens", "params", "agentRuntime", "thinkingLevelMap", "mediaInput")
	f.aside("cost", "metadataSource", "status", "tags")
	f.done()
	return m
}

// tokens reads a number of tokens, 0 if not set.
func (f *fields) tokens(key string) int {
	const usual, most = 128_000, 1_000_000_000
	f.schema.member(key).is("integer").bounds(1, most)
	if f.get(key) == nil {
		return 0
	}
	return f.count(key, usual, 1, most)
}

// seconds reads a duration in seconds, nil if not set.
func (f *fields) seconds(key string) *time.Duration {
	const usual = 600
	f.schema.member(key).is("integer").bounds(0, maxCount)
	if f.get(key) == nil {
		return nil
	}
	d := time.Duration(f.count(key, usual, 0, maxCount)) * time.Second
	return &d
}

// headers reads HTTP headers, sorted by name. Each value is a secret.
func (f *fields) headers(key string) (all []Header) {
	f.schema.member(key).each("string", "object")
	h := f.below(f.get(key), f.at.member(key))
	if h.object == nil {
		return nil
	}
	for _, m := range h.object.members {
		value := h.secret(m.key)
		problem := ""
		switch {
		case !isHeaderName(m.key):
			problem = "this is not an HTTP header name"
		case strings.ContainsFunc(value.Reveal(), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			problem = "an HTTP header value must be a single line"
		case value != "":
			all = append(all, Header{m.key, value})
		}
		if problem != "" {
			f.report.add(failure(CodeValue, m.at, h.at.member(m.key), problem, "write it as in the provider's documentation, such as X-Title: openclawd"))
		}
	}
	slices.SortFunc(all, func(a, b Header) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// isHeaderName reports whether a text is a valid HTTP header name.
func isHeaderName(name string) bool {
	return name != "" && len(name) <= maxHeaderName && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

const maxHeaderName = 256

// modelChoice reads a model's name, or an object with primary and fallbacks.
func (f *fields) modelChoice(key string) ModelChoice {
	v := f.get(key)
	n := f.schema.member(key).is("string", "object")
	if n != nil {
		v = newObject(position{})
	}
	if v == nil {
		return ModelChoice{}
	}
	if v.kind == text {
		return ModelChoice{Primary: strings.TrimSpace(v.text)}
	}
	if v.kind != object {
		f.wrong(v, f.at.member(key), "a text or an object")
		return ModelChoice{}
	}
	o := f.below(v, f.at.member(key)).listing(n)
	choice := ModelChoice{Primary: strings.TrimSpace(o.text("primary", "")), Fallbacks: o.texts("fallbacks")}
	o.others("timeoutMs")
	o.done()
	return choice
}

// mainKey reads session.mainKey, which OpenClaw accepts and ignores: an agent's main session key ends in
// main.
func (f *fields) mainKey() {
	v := f.get("mainKey")
	f.schema.member("mainKey").is("string")
	switch {
	case v == nil:
	case v.kind != text:
		f.wrong(v, f.at.member("mainKey"), text.String())
	case strings.TrimSpace(v.text) != "main" && strings.TrimSpace(v.text) != "":
		one := warning(CodeValue, v.at, f.at.member("mainKey"), v.shown()+" has no effect: the main session is always called main", "remove this setting")
		one.Value = v.shown()
		f.report.add(one)
	}
}

// pageOrigins reads origins of pages. "*" is any; an invalid one is only a warning, since no page has it.
func (f *fields) pageOrigins(key string) (all []string) {
	f.schema.member(key).of("string")
	for i, item := range f.items(key) {
		at := f.at.member(key).item(i)
		switch {
		case item.kind != text:
			f.wrong(item, at, text.String())
		case item.text != "*" && !isOrigin(item.text):
			one := warning(CodeValue, item.at, at, item.shown()+" is not an origin and matches no page",
				"write scheme, host and port, such as https://hub.example or http://10.0.0.5:3102")
			one.Value = item.shown()
			f.report.add(one)
		default:
			all = append(all, item.text)
		}
	}
	return all
}
