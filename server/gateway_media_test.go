package server

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// allowingLoopback is a configuration whose web may be the test's.
func allowingLoopback(text string) string {
	return strings.Replace(text, "tools: {", `tools: { web: { fetch: { allowHosts: ["127.0.0.1"] } },`, 1)
}

// downloads is a web site with a picture at /chart, and what it was asked for.
func newDownloads(t *testing.T) (url string, asked chan string) {
	t.Helper()
	asked = make(chan string, 100)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		if r.URL.Path != "/chart" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "\x89PNG\r\n\x1a\nchart")
	}))
	t.Cleanup(site.Close)
	return site.URL, asked
}

// deposit writes a file into an agent's workspace.
func (r *reloading) deposit(t *testing.T, agent, name, text string) {
	t.Helper()
	dir := r.workspaceOf(agent)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sendsFiles has a client post a text, a file of eden's workspace and one of the web; shown is what the place shows then. It is posted once,
// whatever is asked for with the same key, also after a restart.
func sendsFiles(t *testing.T, r *reloading, open func() *client.Client, to string, restart func(), shown func() string) {
	t.Helper()
	web, asked := newDownloads(t)
	r.deposit(t, "eden", "numbers 1.csv", "a,b\n1,2\n")
	ask := params("to", to, "message", "the numbers\nMEDIA: ./numbers 1.csv", "mediaUrl", web+"/chart", "agentId", "eden", "idempotencyKey", "f/1")
	first := calls[sentAnswer](t, open(), "send", ask)
	const wanted = "the numbers|chart.png: \x89PNG\r\n\x1a\nchart|numbers 1.csv: a,b\n1,2\n"
	if got := shown(); first.Status != "sent" || len(first.MessageIDs) != 3 || got != wanted {
		t.Fatalf("%+v, and there is %q, want %q", first, got, wanted)
	}
	ask["mediaUrl"] = web + "/other"
	if again := calls[sentAnswer](t, open(), "send", ask); again.MessageID != first.MessageID {
		t.Errorf("the same key is answered with %+v, want %+v", again, first)
	}
	restart()
	if again := calls[sentAnswer](t, open(), "send", ask); again.MessageID != first.MessageID || shown() != wanted {
		t.Errorf("after a restart the key is answered with %+v, and there is %q", again, shown())
	}
	if n := len(asked); n != 1 {
		t.Errorf("the web was asked for %d files, want one", n)
	}
	for _, c := range []struct{ media, code string }{
		{"../openclaw.json", "outside_workspace"}, {"file:///etc/passwd", "outside_workspace"}, {"http://localhost:1/x", "address_refused"},
		{"http://169.254.169.254/latest", "address_refused"}, {"gone.csv", "file_not_found"}, {web + "/gone", "tool_unavailable"},
	} {
		refused := refusalBy(t, open(), "send", params("to", to, "mediaUrl", c.media, "agentId", "eden", "idempotencyKey", "f/2"))
		if details, _ := refused.Details.(map[string]any); details["code"] != c.code || details["field"] != "mediaUrl" || details["hint"] == "" ||
			(refused.Code == protocol.CodeUnavailable) != (c.code == "tool_unavailable") {
			t.Errorf("%s: %+v, want %s", c.media, refused, c.code)
		}
	}
	if shown() != wanted {
		t.Errorf("then there is %q", shown())
	}
}

func TestAClientSendsFilesToTelegram(t *testing.T) {
	t.Parallel()
	team := newTelegramTeam(t, hasHeard)
	team.reloading = startReloading(t, map[string]string{settings.FileName: allowingLoopback(team.text)}, withGateway, team.options)
	open := func() *client.Client { return connect(t, gatewayURL(team.gatewayAddress())) }
	sendsFiles(t, team.reloading, open, fmt.Sprint("telegram:", team.forum.ID), func() { team.restart(t, nil) }, func() string {
		var all []string
		for _, m := range team.forum.Messages() {
			switch {
			case m.Document != nil:
				all = append(all, m.Document.FileName+": "+string(team.telegram.FileOf(m.Document.FileID)))
			case len(m.Photo) > 0:
				all = append(all, "chart.png: "+string(team.telegram.FileOf(m.Photo[0].FileID)))
			case m.Text != "":
				all = append(all, m.Text)
			}
		}
		return strings.Join(all, "|")
	})
}

func TestAClientSendsFilesToSlack(t *testing.T) {
	t.Parallel()
	team := startSlackTeam(t, hasHeard, func(_ *slackTeam, text string) string { return allowingLoopback(text) })
	open := func() *client.Client { return connect(t, gatewayURL(team.gatewayAddress())) }
	sendsFiles(t, team.reloading, open, team.channel.ID, func() { team.restart(t, nil) }, func() string {
		var all []string
		for _, m := range team.slack.Messages(team.channel.ID) {
			for _, f := range m.Files {
				all = append(all, f.Name+": "+string(team.slack.FileOf(f.ID)))
			}
			if m.Text != "" && len(m.Files) == 0 {
				all = append(all, m.Text)
			}
		}
		return strings.Join(all, "|")
	})
}

func TestAClientSendsFilesToDiscord(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{config: allowingLoopback})
	open := func() *client.Client { return team.client() }
	sendsFiles(t, team.reloading, open, team.ops.ID, func() { team.again() }, func() string {
		var all []string
		for _, m := range team.written(team.ops.ID) {
			for _, f := range m.Attachments {
				all = append(all, f.Filename+": "+string(team.discord.FileOf(f)))
			}
			if m.Content != "" {
				all = append(all, m.Content)
			}
		}
		return strings.Join(all, "|")
	})
}

// Telegram tells no bot what another posts: who is called gets the file from beside the log.
func TestSiblingsGetFilesInTelegram(t *testing.T) {
	t.Parallel()
	told := make(chan string, 10)
	team := startTelegramTeam(t, func(a a2atest.Asked) a2atest.Answer {
		if a.Agent == "eden" {
			told <- a.Last().Text
		}
		return a2atest.Say("seen")
	})
	const content = "a,b\n1,2\n"
	team.deposit(t, "ruda", "numbers.csv", content)
	ask := params("to", fmt.Sprint("telegram:", team.forum.ID), "message", "@이든 look\nMEDIA:numbers.csv", "agentId", "ruda", "idempotencyKey", "f/1")
	calls[sentAnswer](t, connect(t, gatewayURL(team.gatewayAddress())), "send", ask)
	team.shows(team.forum, "seen")
	prompt := <-told
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	_, path, _ := strings.Cut(prompt, "[attachment: numbers.csv (text/plain, 8 bytes): ")
	path, _, found := strings.Cut(path, "]")
	copied, err := os.ReadFile(filepath.Join(team.workspaceOf("eden"), path))
	if !found || string(copied) != content || err != nil {
		t.Errorf("eden is told %q, %v, want a copy of the file", prompt, err)
	}
	if status, body := team.answers(t, http.MethodGet, "/api/files/"+sum); status != http.StatusOK || body != content {
		t.Errorf("the API has %d %q", status, body)
	}
}
