package attach_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/coordination/work"
)

// What a message says about its files is bounded, and the work has the key of the session that waits for it.
func TestOrdersAreBounded(t *testing.T) {
	t.Parallel()
	o := attach.Order{Channel: "slack", AccountID: "a", AgentID: "eden", MessageID: "m"}
	for range attach.MaxFiles + 3 {
		o.Files = append(o.Files, attach.File{Name: strings.Repeat("가", 1000) + "\n\x00", Type: "a\xff b", Size: -1, Ref: strings.Repeat("r", 3000)})
	}
	what, err := o.Work("run 1", "agent:eden:main")
	if err == nil {
		err = work.Check(&what)
	}
	if err != nil || what.Key != "agent:eden:main" || what.Owner != "eden" {
		t.Fatalf("%+v, %v", what, err)
	}
	if runID, is := attach.RunOf(what.EffectID); !is || runID != "run 1" {
		t.Errorf("the effect %q is for run %q", what.EffectID, runID)
	}
	var read attach.Order
	if err := json.Unmarshal(what.Payload, &read); err != nil {
		t.Fatal(err)
	}
	f := read.Files[0]
	if len(read.Files) != attach.MaxFiles || read.More != 3 || len(f.Name) > 200 || strings.ContainsAny(f.Name, "\x00\n") || f.Type != "a b" || f.Size != 0 || f.Ref != "" {
		t.Errorf("%d files and %d more, the first %+v", len(read.Files), read.More, f)
	}
}

func TestHowAPromptNamesFiles(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("a", 64)
	r := attach.Result{More: 2, Files: []attach.Stored{
		{Name: "a].png", Type: "image/png", Size: 7, SHA256: id, Path: "media/inbound/a.png"},
		{Name: "b", Size: 8, SHA256: id},
		{Name: "c.zip", Type: "application/zip", Size: 9, Reason: "it is too large"},
		{Name: "d"},
	}}
	want := `
[attachment: a).png (image/png, 7 bytes): media/inbound/a.png]
[attachment: b (unknown type, 8 bytes): not in the workspace]
[attachment: c.zip (application/zip, 9 bytes): not fetched: it is too large]
[attachment: d (unknown type, 0 bytes): not fetched: it could not be had]
[2 more attachments]`
	if got := r.Text(); got != want {
		t.Errorf("the prompt has %s\nwant %s", got, want)
	}
	var blocks []map[string]any
	if err := json.Unmarshal(r.Content("hello"), &blocks); err != nil || len(blocks) != 3 || blocks[0]["text"] != "hello" || blocks[1]["type"] != attach.BlockType ||
		blocks[1]["sha256"] != id {
		t.Errorf("the blocks are %v, %v, want the text and the two stored files", blocks, err)
	}
	none := attach.Result{Files: r.Files[2:]}
	if got := none.Content("hello"); got != nil {
		t.Errorf("without stored files the blocks are %s", got)
	}
	o := attach.Order{Files: []attach.File{{Name: "x", Type: "t", Size: 1}}, More: 1}
	failed := o.Failed("it is gone")
	if got, want := failed.Files[0].String(), "[attachment: x (t, 1 bytes): not fetched: it is gone]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAddressesNameFiles(t *testing.T) {
	t.Parallel()
	const id = "0a"
	for name, want := range map[string]string{"": "/api/files/0a", "a b&c.csv": "/api/files/0a?name=a+b%26c.csv", strings.Repeat("가", 30): "/api/files/0a"} {
		if got := attach.Address(id, name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestNamesHaveEndings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, mediaType, want string }{
		{"a.bin", "image/png", "a.bin"}, {"", "text/plain; charset=utf-8", "file.txt"}, {"", "", "file"}, {"photo", "image/jpeg", "photo.jpg"},
		{"README", "application/octet-stream", "README"},
	} {
		if got := attach.NameOf(c.name, c.mediaType); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
