package server

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/media"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// An agent writes a file and posts it where it was asked, before its answer.
func TestAgentsPostFiles(t *testing.T) {
	t.Parallel()
	team := newTelegramTeam(t, func(a a2atest.Asked) a2atest.Answer {
		switch {
		case a.AfterTool() && strings.Contains(a.Last().Text, "is on its way"):
			return a2atest.Say("done: " + a.Last().Text)
		case a.AfterTool():
			return a2atest.Use(a2atest.Call{Name: "message", Args: map[string]any{"action": "send", "path": "report.csv", "message": "the numbers"}})
		}
		return a2atest.Use(a2atest.Call{Name: "write", Args: map[string]any{"path": "report.csv", "content": "a,b\n1,2\n"}})
	})
	team.reloading = startReloading(t, map[string]string{settings.FileName: team.text}, withGateway, team.options)
	private := team.bora.Private(team.ruda)
	team.write(private, telegramtest.Draft{Text: "the report, please"})
	team.shows(private, "done: report.csv (text/plain, 8 bytes) is on its way.")
	var texts []string
	for _, m := range private.Messages() {
		switch {
		case m.Document != nil:
			texts = append(texts, m.Document.FileName+": "+string(team.telegram.FileOf(m.Document.FileID)))
		case m.From.ID == team.ruda.ID:
			texts = append(texts, m.Text)
		}
	}
	if got, want := strings.Join(texts, "|"), "the numbers|report.csv: a,b\n1,2\n|done: report.csv (text/plain, 8 bytes) is on its way."; got != want {
		t.Errorf("the chat shows %q, want %q", got, want)
	}
}

// An agent whose file has no room is told so.
func TestAgentsAreToldThatFilesHaveNoRoom(t *testing.T) {
	t.Parallel()
	p := &Program{files: media.Open(filepath.Join(t.TempDir(), "files"), func() int64 { return 1 })}
	_, err := p.keepPosted(maxPosted, func(w io.Writer) error { _, err := io.WriteString(w, "two"); return err })
	if refused, is := errors.AsType[*tool.Error](err); !is || !strings.Contains(refused.Text, "media.maxTotalMb") || refused.Hint == "" {
		t.Errorf("the error is %v, want one for the agent", err)
	}
}

// Lines MEDIA: of an answer name files: these are posted after the text, once; what
// may not be posted is named with the reason, and clients see the answer without the lines.
func TestAnswersNameFiles(t *testing.T) {
	t.Parallel()
	web, asked := newDownloads(t)
	team := newTelegramTeam(t, func(a2atest.Asked) a2atest.Answer {
		return a2atest.Say("the numbers\nMEDIA: ./numbers 1.csv\nMEDIA:" + web + "/chart\nMEDIA:../openclaw.json\nMEDIA:http://169.254.169.254/latest\nMEDIA:./numbers 1.csv")
	})
	team.reloading = startReloading(t, map[string]string{settings.FileName: allowingLoopback(team.text)}, withGateway, team.options)
	team.deposit(t, "ruda", "numbers 1.csv", "a,b\n1,2\n")
	private := team.bora.Private(team.ruda)
	count := func(file string) (n int) {
		for _, m := range private.Messages() {
			if m.Document != nil && m.Document.FileName == file || len(m.Photo) > 0 && file == "chart.png" {
				n++
			}
		}
		return n
	}
	team.await("the answer to /start with its files", func() bool { return count("numbers 1.csv") == 1 && count("chart.png") == 1 })
	for _, m := range private.Messages() {
		if m.From.ID != team.ruda.ID || m.Text == "" {
			continue
		}
		if !strings.HasPrefix(m.Text, "the numbers\n(openclaw.json ") || !strings.Contains(m.Text, "(latest ") || strings.Contains(m.Text, "MEDIA") || strings.Count(m.Text, "\n") != 2 {
			t.Errorf("%q is posted", m.Text)
		}
	}
	team.restart(t, nil)
	c := connect(t, gatewayURL(team.gatewayAddress()))
	told := calls[history](t, c, "chat.history", map[string]string{"sessionKey": "agent:ruda:main"})
	if texts := told.texts(); len(texts) == 0 || strings.Contains(texts[len(texts)-1], "MEDIA") || !strings.HasSuffix(texts[len(texts)-1], "numbers 1.csv") {
		t.Errorf("the history is %q", texts)
	}
	if len(asked) != 1 || count("numbers 1.csv") != 1 || count("chart.png") != 1 {
		t.Errorf("the web was asked for %d files, and %d and %d were posted, want each once", len(asked), count("numbers 1.csv"), count("chart.png"))
	}
}
