package webtools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/webtools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a server on this machine, and how often it was asked.
type site struct {
	*httptest.Server
	asked atomic.Int64
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<html><head><title>A &amp; B</title><script>bad()</script></head><body><h2>Head</h2><p>Text <a href="/x">link</a></p><ul><li>one<li>two</ul></body></html>`)
	})
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "User-agent: *\nDisallow: /private\nAllow: /private/open\n\nUser-agent: other\nDisallow: /\n")
	})
	mux.HandleFunc("/private/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "private") })
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) {
		for range 6000 {
			fmt.Fprint(w, strings.Repeat("x", 1000))
		}
	})
	mux.HandleFunc("/missing", http.NotFound)
	mux.HandleFunc("/image", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "image/png") })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("u"))
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/named", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename*=UTF-8''r%C3%A9sum%C3%A9.txt`)
		fmt.Fprint(w, "named")
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "half")
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/search", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"results":[{"title":"<b>T</b>","url":"https://a.example","content":%q},{"title":"U","url":"https://b.example"}]}`, r.URL.Query().Get("q"))
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) port() string {
	u, _ := url.Parse(s.URL)
	return u.Port()
}

func call(t *testing.T, w *webtools.Web, conf *config.Config, name string, args any) (tool.Output, error) {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range w.Tools() {
		if one.Name == name {
			return one.Do(t.Context(), &tools.Call{Config: conf, Args: text})
		}
	}
	return tool.Output{}, errors.New("no such tool")
}

func codeOf(err error) string {
	var e *tool.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

type object = map[string]any

func TestPagesAreRead(t *testing.T) {
	t.Parallel()
	s, conf, w := newSite(t), config.Default(), webtools.New(webtools.Options{})
	conf.Tools.Web.Fetch.AllowHosts = []string{"127.0.0.1"}
	for _, c := range []struct {
		path, mode, want string
		code             string
	}{
		{"/page", "markdown", "## Head\n\nText [link](/x)\n\n- one\n- two", ""}, {"/page", "text", "Head\n\nText link\n\nonetwo", ""},
		{"/to?u=/page", "text", "Head\n\nText link\n\nonetwo", ""}, {"/private/a", "text", "", tool.CodeAddress}, {"/private/open", "text", "private", ""},
		{"/to?u=/private/a", "text", "", tool.CodeAddress}, {"/to?u=/to%3Fu=/private/open", "text", "private", ""},
		{"/image", "text", "", tool.CodeUnavailable}, {"/loop", "text", "", tool.CodeAddress},
	} {
		out, err := call(t, w, conf, "web_fetch", object{"url": s.URL + c.path, "extractMode": c.mode})
		_, text, _ := strings.Cut(out.Text, "\n\n")
		if c.code != "" && codeOf(err) != c.code || c.code == "" && (err != nil || text != c.want) {
			t.Errorf("%s: %q, %v, want %q %s", c.path, text, err, c.want, c.code)
		}
	}
	if out, err := call(t, w, conf, "web_fetch", object{"url": s.URL + "/missing"}); err != nil || !out.IsError || !strings.Contains(out.Text, `"status":404`) {
		t.Errorf("%+v, %v", out, err)
	}
	out, err := call(t, w, conf, "web_fetch", object{"url": s.URL + "/long", "maxChars": 1000})
	if err != nil || len(out.Text) > 1300 || !strings.Contains(out.Text, `"truncated":true`) {
		t.Errorf("%d bytes, %v", len(out.Text), err)
	}
}

// Pages are read in the encoding that their server, a mark or they themselves name.
func TestEncodingsOfPages(t *testing.T) {
	t.Parallel()
	const korean, japanese = "\xB0\xA1\xB3\xAA\xB4\xD9 \x8C\x63", "\x93\xFA\x96\x7B\x8C\xEA" // 가나다 똠 in CP949, 日本語 in Shift_JIS
	pages := map[string][2]string{
		"/header":  {"text/html; charset=EUC-KR", "<p>" + korean},
		"/meta":    {"text/html", `<head><meta charset="ks_c_5601-1987"></head><p>` + korean},
		"/equiv":   {"text/html", `<meta http-equiv="Content-Type" content="text/html; charset=euc-kr"><p>` + korean},
		"/xml":     {"application/xhtml+xml", `<?xml version="1.0" encoding="CP949"?><p>` + korean},
		"/japan":   {"text/plain; charset=Shift_JIS", japanese},
		"/eucjp":   {"text/plain; charset=euc-jp", "\xC6\xFC\xCB\xDC\xB8\xEC"},
		"/utf16":   {"text/plain", "\xFF\xFE\x00\xAC"},
		"/mark":    {"text/plain; charset=euc-kr", "\xEF\xBB\xBF가"},
		"/western": {"text/plain; charset=ISO-8859-1", "caf\xE9 \x80"},
		"/unknown": {"text/plain; charset=gb18030", "ab\xC4\xE3"},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, found := pages[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", page[0])
		fmt.Fprint(w, page[1])
	}))
	t.Cleanup(s.Close)
	conf, w := config.Default(), webtools.New(webtools.Options{})
	conf.Tools.Web.Fetch.AllowHosts = []string{"127.0.0.1"}
	for path, want := range map[string]string{"/header": "가나다 똠", "/meta": "가나다 똠", "/equiv": "가나다 똠", "/xml": "가나다 똠", "/japan": "日本語", "/eucjp": "日本語", "/utf16": "가", "/mark": "가",
		"/western": "café €", "/unknown": "ab\uFFFD"} {
		out, err := call(t, w, conf, "web_fetch", object{"url": s.URL + path, "extractMode": "text"})
		about, text, _ := strings.Cut(out.Text, "\n\n")
		if err != nil || text != want || strings.Contains(about, `"note":"the page has the encoding \"gb18030\"`) != (path == "/unknown") {
			t.Errorf("%s: %s: %q, %v, want %q", path, about, text, err, want)
		}
	}
}

// Only public addresses are connected to, however they are written and whatever name servers and redirects say.
func TestOnlyPublicAddressesAreReached(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	hosts := []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "0x7f.1", "127.0.0.1.", "0", "0.0.0.0", "localhost",
		"LOCALHOST", "127.255.255.254", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::7f00:1]",
		"[64:ff9b::a00:1]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[fe80::1]", "[fe80::1%25lo]", "[fc00::1]", "[fd12::1]", "[ff02::1]", "[fec0::1]", "[2001:db8::1]",
		"[2001::1]", "[2607:f8b0::5efe:7f00:1]", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254", "192.168.1.1", "169.254.169.254", "169.254.0.1",
		"100.64.0.1", "100.127.255.254", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "0.1.2.3",
		"2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "１２７.0.0.1", "127。0。0。1", "rebinding.example", "mixed.example", "loop.example", "metadata.example", "none.example",
	}
	asked := 0
	w := webtools.New(webtools.Options{Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
		loopback, public := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("93.184.216.34")
		switch host {
		case "rebinding.example": // the answer changes with every question
			if asked++; asked%2 == 0 {
				return []netip.Addr{public}, nil
			}
			return []netip.Addr{loopback}, nil
		case "mixed.example":
			return []netip.Addr{public, loopback}, nil
		case "metadata.example":
			return []netip.Addr{netip.MustParseAddr("::ffff:169.254.169.254")}, nil
		case "none.example":
			return nil, nil
		}
		return []netip.Addr{loopback}, nil
	}})
	conf := config.Default()
	conf.Tools.Web.Fetch.Robots = false
	for _, host := range hosts {
		for _, scheme := range []string{"http", "https"} {
			address := scheme + "://" + host + ":" + s.port() + "/page"
			if out, err := call(t, w, conf, "web_fetch", object{"url": address}); codeOf(err) != tool.CodeAddress && (host != "rebinding.example" || codeOf(err) != tool.CodeUnavailable) {
				t.Errorf("%s: %.100q, %v", address, out.Text, err)
			}
		}
	}
	for _, address := range []string{"ftp://example.com/", "file:///etc/passwd", "gopher://127.0.0.1/", "//127.0.0.1/", "http://", "http://user:pw@example.com/", "data:text/plain,x",
		"http://127.0.0.1\\@example.com/", "javascript:alert(1)", "http:127.0.0.1", "unix:///run/docker.sock"} {
		if out, err := call(t, w, conf, "web_fetch", object{"url": address}); codeOf(err) != tool.CodeAddress {
			t.Errorf("%s: %.100q, %v", address, out.Text, err)
		}
	}
	if n := s.asked.Load(); n > 0 {
		t.Errorf("a server of this machine was asked %d times", n)
	}
	// A redirect from an allowed host leads to no other address of this machine.
	conf.Tools.Web.Fetch.AllowHosts = []string{"127.0.0.1:" + s.port()}
	for _, to := range []string{"http://localhost:" + s.port() + "/page", "http://[::1]:" + s.port() + "/page", "http://127.0.0.1:1/", "file:///etc/passwd", "http://2130706433:" + s.port() + "/page",
		"http://loop.example:" + s.port() + "/page"} {
		if out, err := call(t, w, conf, "web_fetch", object{"url": s.URL + "/to?u=" + url.QueryEscape(to)}); codeOf(err) != tool.CodeAddress && codeOf(err) != tool.CodeUnavailable {
			t.Errorf("redirected to %s: %.100q, %v", to, out.Text, err)
		}
	}
	t.Logf("%d hosts, twice each", len(hosts))
}

// A page whose comments and elements have no end is read in a time that grows with its size.
func TestHiddenPartsAreLeftOut(t *testing.T) {
	t.Parallel()
	var page string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) }))
	defer s.Close()
	conf, w := config.Default(), webtools.New(webtools.Options{})
	conf.Tools.Web.Fetch.AllowHosts, conf.Tools.Web.Fetch.Robots = []string{"127.0.0.1"}, false
	for begin, want := range map[string]string{
		"<!DOCTYPE html>a<!-- <script> -->b<SCRIPT x='y'>if (a</scripts>) <!-- </Script >c<style></style >d": "a b c d",
		"<html><header>a</header><head><script>x</script>y</head>b<svg>c":                                    "a\n\nbc",
		"<html>" + strings.Repeat("<script><!-- -->", 100_000):                                               "",
		"<html>" + strings.Repeat("<style><!--<svg", 100_000):                                                "<!--<svg",
	} {
		page = begin
		out, err := call(t, w, conf, "web_fetch", object{"url": s.URL})
		if _, text, _ := strings.Cut(out.Text, "\n\n"); err != nil || text != want {
			t.Errorf("%.80q: %.80q, %v, want %q", begin, text, err, want)
		}
	}
}

// A public address of this machine leads to what listens for its neighbors only.
func TestOwnAddressesAreNotReached(t *testing.T) {
	t.Parallel()
	own := netip.MustParseAddr("93.184.216.34")
	w := webtools.New(webtools.Options{Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{own}, nil },
		Own: func() ([]net.Addr, error) {
			return []net.Addr{&net.IPNet{IP: own.AsSlice(), Mask: net.CIDRMask(24, 32)}}, nil
		}})
	for _, host := range []string{"own.example", own.String(), "[::ffff:" + own.String() + "]"} {
		if out, err := call(t, w, config.Default(), "web_fetch", object{"url": "http://" + host}); codeOf(err) != tool.CodeAddress || !strings.Contains(err.Error(), "own") {
			t.Errorf("%s: %q, %v", host, out.Text, err)
		}
	}
}

// The key is Brave's, and only Brave gets it.
func TestKeyIsSentToItsProviderOnly(t *testing.T) {
	t.Parallel()
	var key atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key.Store(r.Header.Get("X-Subscription-Token"))
		fmt.Fprint(w, "{}")
	}))
	defer s.Close()
	for provider, want := range map[string]any{config.SearchBrave: "k", config.SearchSearXNG: "", "other": nil} {
		conf, w := config.Default(), webtools.New(webtools.Options{})
		key = atomic.Value{}
		conf.Tools.Web.Search = config.WebSearch{Provider: provider, BaseURL: s.URL, APIKey: "k"}
		if _, err := call(t, w, conf, "web_search", object{"query": "x"}); (err == nil) != (want != nil) || key.Load() != want {
			t.Errorf("%s: key %v, %v, want %v", provider, key.Load(), err, want)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s, conf, w := newSite(t), config.Default(), webtools.New(webtools.Options{})
	conf.Tools.Web.Search = config.WebSearch{Provider: "searxng", BaseURL: s.URL}
	out, err := call(t, w, conf, "web_search", object{"query": "검색 & co", "count": 1})
	if want := `{"count":1,"query":"검색 & co","results":[{"title":"T","url":"https://a.example","snippet":"검색 & co"}]}`; err != nil || out.Text != want {
		t.Errorf("%s, %v, want %s", out.Text, err, want)
	}
	conf.Tools.Web.Search.BaseURL = s.URL + "/missing"
	if out, err := call(t, w, conf, "web_search", object{"query": "x"}); codeOf(err) != tool.CodeUnavailable {
		t.Errorf("%+v, %v", out, err)
	}
}

// downloads fetches a file of the site.
func (s *site) downloads(conf *config.Config, path string, to io.Writer) (string, error) {
	return webtools.New(webtools.Options{}).Download(context.Background(), conf, s.URL+path, to)
}

func TestFilesAreDownloaded(t *testing.T) {
	t.Parallel()
	s, conf := newSite(t), config.Default()
	conf.Tools.Web.Fetch.AllowHosts = []string{"127.0.0.1"}
	for _, c := range []struct{ path, name, content, code string }{
		{"/private/a", "a", "private", ""}, {"/to?u=/named", "résumé.txt", "named", ""}, {"/to?u=/private/b.txt", "b.txt", "private", ""},
		{"/missing", "", "", tool.CodeUnavailable}, {"/loop", "", "", tool.CodeAddress}, {"/cut", "", "", tool.CodeUnavailable},
	} {
		var got strings.Builder
		name, err := s.downloads(conf, c.path, &got)
		if c.code != "" && codeOf(err) != c.code || c.code == "" && (err != nil || name != c.name || got.String() != c.content) {
			t.Errorf("%s: %q with %q, %v, want %+v", c.path, name, got.String(), err, c)
		}
	}
	full := errors.New("full")
	if _, err := s.downloads(conf, "/private/a", refusing{full}); !errors.Is(err, full) {
		t.Errorf("the error is %v, want the writer's", err)
	}
	conf.Tools.Web.Fetch.Timeout = 1
	if _, err := s.downloads(conf, "/private/a", io.Discard); codeOf(err) != tool.CodeUnavailable {
		t.Errorf("without time: %v", err)
	}
}

type refusing struct{ error }

func (r refusing) Write([]byte) (int, error) { return 0, r.error }

// A file is fetched from the same addresses as a page.
func TestFilesOfOwnNetworksAreNotDownloaded(t *testing.T) {
	t.Parallel()
	s, conf, w := newSite(t), config.Default(), webtools.New(webtools.Options{})
	for _, address := range []string{s.URL + "/private/a", "http://localhost:" + s.port() + "/private/a", "http://0x7f000001:" + s.port() + "/", "ftp://x/a", "data:,a",
		"http://a:b@example.com/", "http://[::1]:" + s.port() + "/", "http://169.254.169.254/latest", "https:///a", "javascript:x", "http://10.0.0.1/"} {
		if _, err := w.Download(t.Context(), conf, address, io.Discard); codeOf(err) != tool.CodeAddress {
			t.Errorf("%s: %v, want it refused", address, err)
		}
	}
	conf.Tools.Web.Fetch.AllowHosts = []string{"127.0.0.1"}
	if _, err := s.downloads(conf, "/to?u=http://[::1]/", io.Discard); codeOf(err) != tool.CodeAddress {
		t.Errorf("a redirect inwards: %v, want it refused", err)
	}
	if n := s.asked.Load(); n != 1 {
		t.Errorf("the site was asked %d times, want once", n)
	}
}
