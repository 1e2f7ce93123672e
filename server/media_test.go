package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// A picture and a text that a person sends reach the model: the picture itself, and the text by the tool read. The API gives both, and a
// redaction of the message removes the files with all copies.
func TestFilesOfMessagesReachAgents(t *testing.T) {
	t.Parallel()
	const secret = "the launch code is 0000-1111-2222"
	picture := []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("pixels", 100))
	pathOf := func(text string) string {
		_, after, _ := strings.Cut(text, "notes.txt (text/plain, ")
		_, after, _ = strings.Cut(after, "): ")
		path, _, _ := strings.Cut(after, "]")
		return path
	}
	team := newTelegramTeam(t, func(a a2atest.Asked) a2atest.Answer {
		switch {
		case a.AfterTool():
			return a2atest.Say("it says: " + a.Last().Text)
		case strings.Contains(a.Message(), "notes.txt"):
			return a2atest.Use(a2atest.Call{Name: "read", Args: map[string]any{"path": pathOf(a.Message())}})
		case a.Last().Pictures == 1:
			return a2atest.Say("a nice picture")
		}
		return a2atest.Say("hello")
	})
	text := strings.Replace(team.text, `{ id: "ruda" }`, `{ id: "ruda", input: ["text", "image"] }`, 1)
	team.reloading = startReloading(t, map[string]string{settings.FileName: text}, withGateway, team.options)
	private := team.bora.Private(team.ruda)
	team.shows(private, "hello")
	team.write(private, telegramtest.Draft{Text: "look at this picture", Photo: picture})
	team.shows(private, "a nice picture")
	team.write(private, telegramtest.Draft{Text: "and keep this private, please", Document: []byte(secret), FileName: "notes.txt", FileType: "text/plain"})
	team.shows(private, "it says: "+secret)

	dir := database.MediaDir(team.opts.DB)
	for _, content := range [][]byte{picture, []byte(secret)} {
		sum := sha256.Sum256(content)
		id := hex.EncodeToString(sum[:])
		if stored, err := os.ReadFile(filepath.Join(dir, id)); err != nil || string(stored) != string(content) {
			t.Errorf("beside the log lie %d bytes, %v", len(stored), err)
		}
		response, err := http.Get(team.url + "/api/files/" + id) //nolint:noctx
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || response.ContentLength != int64(len(content)) {
			t.Errorf("GET /api/files: %s with %d bytes", response.Status, response.ContentLength)
		}
	}
	var answer order
	for _, text := range []string{"keep this private", secret} {
		if status := team.asks(t, "/api/redactions", map[string]any{"text": text, "by": "민수"}, &answer); status != http.StatusOK {
			t.Fatalf("%d %+v", status, answer)
		}
		team.forgotten(t, answer.Redaction.ID)
	}
	if err := team.stop(); err != nil {
		t.Fatal(err)
	}
	holds := func(text string) (found []string) {
		err := filepath.WalkDir(team.opts.StateDir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), text) {
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := holds(secret); len(found) > 0 {
		t.Errorf("the redacted file is left in %q", found)
	}
	if found := holds(strings.Repeat("pixels", 100)); len(found) != 2 {
		t.Errorf("the picture, whose message was not redacted, is in %q, want it beside the log and in the workspace", found)
	}
}
