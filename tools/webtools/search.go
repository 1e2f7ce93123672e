package webtools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

const (
	usualResults = 5
	braveAddress = "https://api.search.brave.com/res/v1/web/search"
)

type searchArguments struct {
	Query, Country, Language, Freshness string
	Count                               int
}

// result is one found page.
type result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

func (w *Web) search(ctx context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[searchArguments](call)
	if err != nil {
		return tool.Output{}, err
	}
	if args.Count == 0 {
		args.Count = usualResults
	}
	conf := call.Config.Tools.Web
	ctx, stop := context.WithTimeout(ctx, conf.Fetch.Timeout)
	defer stop()
	address, err := searchAddress(conf.Search.Provider, conf.Search.BaseURL, &args)
	if err != nil {
		return tool.Output{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return tool.Output{}, err
	}
	r.Header.Set("Accept", "application/json")
	if key := conf.Search.APIKey.Reveal(); key != "" && conf.Search.Provider == config.SearchBrave { // whose key it is
		r.Header.Set("X-Subscription-Token", key)
	}
	var allowed []string
	if base, err := url.Parse(conf.Search.BaseURL); err == nil && base.Host != "" { // the operator has named it
		allowed = []string{base.Host, base.Hostname()}
	}
	client := w.client(allowed)
	defer client.CloseIdleConnections()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the key is for this address only
	answer, err := client.Do(r)
	if err != nil {
		return tool.Output{}, failed(ctx, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err != nil {
		return tool.Output{}, failed(ctx, err)
	}
	if answer.StatusCode != http.StatusOK {
		return tool.Output{}, &tool.Error{Code: tool.CodeUnavailable, Text: fmt.Sprintf("the search provider answers with status %d", answer.StatusCode),
			Hint: "tell the operator to check tools.web.search"}
	}
	return results(ctx, args.Query, body, args.Count)
}

// searchAddress is the request to a provider: Brave, or an instance of SearXNG.
func searchAddress(provider, base string, args *searchArguments) (string, error) {
	q := url.Values{"q": {args.Query}}
	set := func(key, value string) {
		if value != "" {
			q.Set(key, value)
		}
	}
	switch {
	case provider == config.SearchSearXNG && base != "":
		q.Set("format", "json")
		set("language", args.Language)
		set("time_range", args.Freshness)
		return strings.TrimRight(base, "/") + "/search?" + q.Encode(), nil
	case provider != config.SearchBrave:
		return "", &tool.Error{Code: tool.CodeUnavailable, Text: "no search provider is set up", Hint: "tell the operator to check tools.web.search"}
	}
	q.Set("count", strconv.Itoa(args.Count))
	set("country", args.Country)
	set("search_lang", args.Language)
	set("freshness", map[string]string{"day": "pd", "week": "pw", "month": "pm", "year": "py"}[args.Freshness])
	if base == "" {
		base = braveAddress
	}
	return base + "?" + q.Encode(), nil
}

// results reads the answer of a provider.
func results(ctx context.Context, query string, body []byte, most int) (tool.Output, error) {
	type found struct {
		Title, URL, Description, Content string
	}
	var said struct {
		Web     struct{ Results []found }
		Results []found
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return tool.Output{}, &tool.Error{Code: tool.CodeUnavailable, Text: "the search provider's answer cannot be read", Hint: "tell the operator to check tools.web.search"}
	}
	all := append(said.Web.Results, said.Results...)
	list := make([]result, 0, most)
	for _, f := range all[:min(len(all), most)] {
		_, snippet, err := fromHTML(ctx, f.Description+f.Content, false)
		if err != nil {
			return tool.Output{}, failed(ctx, err)
		}
		_, title, err := fromHTML(ctx, f.Title, false)
		if err != nil {
			return tool.Output{}, failed(ctx, err)
		}
		list = append(list, result{title, f.URL, snippet})
	}
	return tools.Answer(map[string]any{"query": query, "count": len(list), "results": list})
}
