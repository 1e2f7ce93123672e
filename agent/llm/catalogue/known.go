package catalogue

import (
	"net/netip"
	"net/url"
	"strings"
)

// provider is a provider that needs no configured address.
type provider struct {
	baseURL string   // of its OpenAI-compatible endpoint
	keys    []string // environment variables, first set one wins; none if it needs no key
}

// known are the built-in providers.
func known(id string) provider {
	switch id {
	case "openai":
		return provider{"https://api.openai.com/v1", []string{"OPENAI_API_KEY"}}
	case "anthropic":
		return provider{"https://api.anthropic.com/v1", []string{"ANTHROPIC_API_KEY"}}
	case "google":
		return provider{"https://generativelanguage.googleapis.com/v1beta/openai", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}}
	case "openrouter":
		return provider{"https://openrouter.ai/api/v1", []string{"OPENROUTER_API_KEY"}}
	case "groq":
		return provider{"https://api.groq.com/openai/v1", []string{"GROQ_API_KEY"}}
	case "mistral":
		return provider{"https://api.mistral.ai/v1", []string{"MISTRAL_API_KEY"}}
	case "deepseek":
		return provider{"https://api.deepseek.com/v1", []string{"DEEPSEEK_API_KEY"}}
	case "xai":
		return provider{"https://api.x.ai/v1", []string{"XAI_API_KEY"}}
	case "ollama":
		return provider{"http://127.0.0.1:11434/v1", nil}
	case "lmstudio":
		return provider{"http://127.0.0.1:1234/v1", nil}
	case "vllm":
		return provider{"http://127.0.0.1:8000/v1", nil}
	}
	return provider{}
}

// withKeys are the built-in providers that need a key.
var withKeys = []string{"anthropic", "openai", "google", "openrouter", "groq", "mistral", "deepseek", "xai"}

// KeySet returns the first built-in provider whose key is in the environment, and that variable; "" for none.
func KeySet(getenv func(string) string) (provider, variable string) {
	for _, id := range withKeys {
		for _, key := range known(id).keys {
			if getenv(key) != "" {
				return id, key
			}
		}
	}
	return "", ""
}

// compatible returns a provider's OpenAI-compatible endpoint if it is configured with another API, where one is known.
func compatible(api, baseURL string) (compatible string, ok bool) {
	at, err := url.Parse(baseURL)
	if err != nil {
		return "", false
	}
	host := at.Hostname()
	switch api {
	case "", "openai-completions":
		return baseURL, true
	case "openai-responses":
		return baseURL, baseURL == "" || host == "api.openai.com"
	case "anthropic-messages":
		return known("anthropic").baseURL, baseURL == "" || host == "api.anthropic.com"
	case "google-generative-ai":
		return known("google").baseURL, baseURL == "" || host == "generativelanguage.googleapis.com"
	case "ollama":
		base := strings.TrimRight(baseURL, "/")
		if base == "" {
			return known("ollama").baseURL, true
		}
		return strings.TrimSuffix(base, "/v1") + "/v1", true
	}
	return "", false
}

// isNear reports whether a URL is on this machine or a private network, where servers often need no key.
func isNear(baseURL string) bool {
	at, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := at.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return host == "localhost" || !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}

// variableOf is the environment variable for the key of an unknown provider.
func variableOf(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, id) + "_API_KEY"
}
