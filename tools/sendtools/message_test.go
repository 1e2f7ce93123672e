package sendtools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/media"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/filetools"
	"github.com/pronto-lab/openclawd/tools/sendtools"
	"github.com/pronto-lab/openclawd/tools/webtools"
)

// office is an agent with a workspace, who talks to people in a chat of Telegram.
type office struct {
	*testing.T
	dir    string
	config *config.Config
	db     *sqlite.DB
	files  sendtools.Files
	tool   tools.Tool
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{T: t, dir: filepath.Join(t.TempDir(), "workspace")}
	path := filepath.Join(t.TempDir(), "openclaw.json")
	o.put(path, `{"agents": {"list": [{"id": "eden", "default": true}]}, "channels": {"telegram": {"accounts": {"eden": {"botToken": "1:a"}}, "mediaMaxMb": 1}},
  "bindings": [{"agentId": "eden", "match": {"channel": "telegram", "accountId": "eden"}}]}`)
	o.config, _ = config.Load(path, func(string) string { return "" })
	var err error
	if o.db, err = sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := projections.Start(t.Context(), o.db, []projections.Definition{sessions.Definition(), runs.Definition(), workqueue.Definition()},
		projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(err)
	}
	files := media.Open(filepath.Join(t.TempDir(), "files"), func() int64 { return 1 << 30 })
	inForce := func() *config.Config { return o.config }
	sends := &outbound.Sends{Channel: coordination.Telegram, Log: o.db, Config: inForce, Now: time.Now, NewID: func() string { return "id" },
		Accounts: func() *channel.Registry { return channel.RegistryOf(o.config, coordination.Telegram, channel.Links{}) }}
	posts := 0
	newID := func() string { posts++; return fmt.Sprint("post-", posts) }
	o.files = sendtools.Files{
		Read: filetools.Reader(filetools.Options{Workspace: func(string) string { return o.dir }, Protected: func() []string { return nil }}),
		Keep: func(most int64, fetch func(io.Writer) error) (delivery.File, error) {
			info, err := files.Put(most, fetch)
			if errors.Is(err, media.ErrTooLarge) {
				err = &tool.Error{Code: tool.CodeTooLarge, Text: fmt.Sprintf("the file is larger than %d MiB", most>>20)}
			}
			return delivery.File{Type: info.Type, Size: info.Bytes, SHA256: info.SHA256}, err
		},
		Web: webtools.New(webtools.Options{}).Download,
	}
	o.tool = sendtools.Tool(sendtools.Options{Log: o.db, Send: sends.Send, NewID: newID, Files: o.files})
	return o
}

func (o *office) put(path, text string) {
	o.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		o.Fatal(err)
	}
}

func (o *office) calls(callID, args string) (tool.Output, error) {
	return o.tool.Do(context.Background(), &tools.Call{Config: o.config, Session: coordination.SessionKey{Agent: "eden"}, Args: json.RawMessage(args),
		Caller: tool.Caller{AgentID: "eden", SessionKey: "agent:eden:main", CallID: callID, Channel: "telegram", To: "telegram:-100"}})
}

// scheduled are the posts that the log has.
func (o *office) scheduled() (all []delivery.Delivery) {
	o.Helper()
	events, err := o.db.Read(o.Context(), 0, 1_000)
	if err != nil {
		o.Fatal(err)
	}
	for i := range events {
		if events[i].Type != coordination.TypeWorkScheduled {
			continue
		}
		var what coordination.WorkScheduled
		var d delivery.Delivery
		if err := errors.Join(json.Unmarshal(events[i].Data, &what), json.Unmarshal(what.Payload, &d)); err != nil {
			o.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// A call that is made again, as after a kill, posts nothing more, whatever became of the file meanwhile.
func TestAFileIsPostedOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	const content = "first version"
	report := filepath.Join(o.dir, "out", "report 1.txt")
	o.put(report, content)
	for range 2 {
		out, err := o.calls("1", `{"path": "out/report 1.txt", "message": "Here it is"}`)
		if err != nil || out.Text != "report 1.txt (text/plain, 13 bytes) is on its way." && !strings.Contains(out.Text, "(text/plain, 14 bytes)") {
			t.Fatalf("%+v, %v", out, err)
		}
		o.put(report, "another version"[:14])
	}
	all := o.scheduled()
	if len(all) != 1 {
		t.Fatalf("%d posts are scheduled, want 1", len(all))
	}
	d := all[0]
	if len(d.Files) != 1 || d.Files[0].Name != "report 1.txt" || d.Files[0].Size != int64(len(content)) || d.ChannelID != "telegram:-100" || d.AccountID != "eden" ||
		len(d.Messages) != 1 || d.Messages[0] != "Here it is" {
		t.Errorf("%+v", d)
	}
	if _, err := o.calls("2", `{"media": "out/report 1.txt", "filename": "../a\"b.txt"}`); err != nil {
		t.Fatal(err)
	}
	if all = o.scheduled(); len(all) != 2 || all[1].Files[0].Name != "_a_b.txt" || len(all[1].Messages) != 0 {
		t.Errorf("%+v", all[1:])
	}
	if _, err := o.calls("3", `{"message": "only words"}`); err != nil {
		t.Fatal(err)
	}
	if all = o.scheduled(); len(all) != 3 || len(all[2].Files) != 0 {
		t.Errorf("%+v", all[2:])
	}
}

// What cannot be posted is refused with what to do, and leaves nothing in the log.
func TestWhatCannotBePosted(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.put(filepath.Join(o.dir, "empty"), "")
	o.put(filepath.Join(o.dir, "large"), strings.Repeat("x", 1<<20+1))
	o.put(filepath.Join(filepath.Dir(o.dir), "secret"), "s")
	for args, want := range map[string]string{
		`{}`: "nothing to post", `{"message": " "}`: "nothing to post", `{"path": "empty"}`: "is empty", `{"path": "large"}`: "larger than 1 MiB",
		`{"path": "../secret"}`: "outside of the workspace", `{"path": "gone"}`: "does not exist",
	} {
		_, err := o.calls("1", args)
		var refused *tool.Error
		if !errors.As(err, &refused) || !strings.Contains(refused.Text, want) || refused.Hint == "" {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	if all := o.scheduled(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	for _, c := range []tool.Caller{{}, {Channel: "webchat", To: "x"}, {Channel: "telegram"}} {
		if !o.tool.Who.Unless(&tools.Call{Caller: c}) {
			t.Errorf("the tool is offered to %+v", c)
		}
	}
}

// A call without an id, as by POST /tools/invoke without an idempotency key, is never a repetition of another.
func TestCallsWithoutAnIDPostEachTime(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for range 2 {
		if _, err := o.calls("", `{"message": "the same words"}`); err != nil {
			t.Fatal(err)
		}
	}
	if all := o.scheduled(); len(all) != 2 {
		t.Errorf("%d posts are scheduled, want 2", len(all))
	}
}

// A file may be as large as the configuration and the channel allow, and the refusal says which of them does not.
func TestHowLargeAFileMayBe(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.put(filepath.Join(o.dir, "nine"), strings.Repeat("x", 9<<20))
	for limit, want := range map[int64]string{1: "channels.telegram.mediaMaxMb", 20: "", 100: ""} {
		o.config.Telegram.MaxMedia = limit << 20
		_, err := o.calls(fmt.Sprint(limit), `{"path": "nine"}`)
		refused, is := errors.AsType[*tool.Error](err)
		if is != (want != "") || is && (refused.Code != tool.CodeTooLarge || !strings.Contains(refused.Hint, want)) || !is && err != nil {
			t.Errorf("with %d MB: %v, want %q", limit, err, want)
		}
	}
	o.config.Telegram.MaxMedia = 100 << 20
	o.put(filepath.Join(o.dir, "most"), strings.Repeat("x", 50<<20+1))
	_, err := o.calls("most", `{"path": "most"}`)
	if refused, is := errors.AsType[*tool.Error](err); !is || !strings.Contains(refused.Text, "larger than 50 MiB") || !strings.Contains(refused.Hint, "Telegram") {
		t.Errorf("more than the channel takes: %v", err)
	}
}

// A source is an address of the web, or a path of the workspace.
func TestSourcesOfFiles(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.put(filepath.Join(o.dir, "a.txt"), "in the workspace")
	o.put(filepath.Join(o.dir, "https:", "b"), "a folder")
	o.put(filepath.Join(filepath.Dir(o.dir), "secret"), "s")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/picture":
			_, _ = io.WriteString(w, "\x89PNG\r\n\x1a\n")
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20+1))
		case "/empty":
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	call := &tools.Call{Config: o.config, Caller: tool.Caller{AgentID: "eden", Channel: "telegram", AccountID: "eden"}}
	if _, err := o.files.Of(t.Context(), call, site.URL+"/picture"); codeOf(err) != tool.CodeAddress {
		t.Errorf("of this machine: %v, want it refused", err)
	}
	o.config.Tools.Web.Fetch.AllowHosts = []string{"127.0.0.1"}
	for _, c := range []struct{ source, want string }{
		{"a.txt", "a.txt text/plain 16"}, {"./a.txt", "a.txt text/plain 16"}, {filepath.Join(o.dir, "a.txt"), "a.txt text/plain 16"},
		{"file://" + filepath.Join(o.dir, "a.txt"), "a.txt text/plain 16"}, {"FILE://a.txt", "a.txt text/plain 16"},
		{site.URL + "/picture", "picture.png image/png 8"},
		{"../secret", tool.CodeOutside}, {"file://" + filepath.Join(filepath.Dir(o.dir), "secret"), tool.CodeOutside}, {"~/secret", tool.CodeOutside},
		{"/etc/passwd", tool.CodeOutside}, {"gone.txt", tool.CodeNoFile}, {"ftp://x/a", tool.CodeAddress}, {"data:text/plain,a", tool.CodeAddress},
		{"https:b", tool.CodeAddress}, {site.URL + "/large", tool.CodeTooLarge}, {site.URL + "/empty", tool.CodeTooLarge}, {site.URL + "/gone", tool.CodeUnavailable},
	} {
		f, err := o.files.Of(t.Context(), call, c.source)
		got := fmt.Sprintf("%s %s %d", f.Name, f.Type, f.Size)
		if err != nil {
			got = codeOf(err)
		}
		if got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.source, got, err, c.want)
		}
	}
}

func codeOf(err error) string {
	if refused, is := errors.AsType[*tool.Error](err); is {
		return refused.Code
	}
	return fmt.Sprint(err)
}
